//! Settings of a store, before it is opened.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{Constraint, IteratorClass};
use ostrakon_store::{Components, StoreOptions};

use crate::classes::ClosureClass;
use crate::store::Store;
use crate::{Durability, EntryRef, Error, Result};

/// Whether memory that is freed goes back to the system soon, so that write-buffer memory may be lent to caches.
#[cfg(feature = "jemalloc")]
const ALLOCATOR_GIVES_BACK: bool = ostrakon_allocator::GIVES_BACK;
#[cfg(not(feature = "jemalloc"))]
const ALLOCATOR_GIVES_BACK: bool = false;

/// Opens a store with settings of the caller's choice; made by [`Store::builder`].
///
/// ```
/// use ostrakon::{Durability, Store};
///
/// let store = Store::builder()
///     .memory_budget(128 << 20)
///     .durability(Durability::Flush)
///     .in_memory()?;
/// assert!(store.tables()?.is_empty());
/// # Ok::<(), ostrakon::Error>(())
/// ```
#[must_use = "a builder opens nothing until `open` or `in_memory` is called"]
#[derive(Clone)]
pub struct StoreBuilder {
    options: StoreOptions,
    components: Components,
    durability: Option<Durability>,
    /// The first class that could not be added.
    error: Option<Error>,
}

impl StoreBuilder {
    pub(crate) fn new() -> Self {
        Self {
            options: StoreOptions {
                lend_unused: ALLOCATOR_GIVES_BACK,
                ..StoreOptions::default()
            },
            components: Components::default(),
            durability: None,
            error: None,
        }
    }

    /// Bytes of memory that the store may hold. Default: a quarter of the machine's, at least 64 MiB and at most 4 GiB.
    /// More means fewer and larger files, and less compaction.
    pub fn memory_budget(mut self, bytes: u64) -> Self {
        self.options.memory_budget_bytes = bytes;
        self
    }

    /// Accepts no writes and changes nothing on the disk. Any number of processes may have a store open like this, as
    /// long as none has it open for writing. Default: no.
    pub fn read_only(mut self, yes: bool) -> Self {
        self.options.read_only = yes;
        self
    }

    /// Makes a store of a directory that is empty or absent. Default: yes.
    pub fn create(mut self, yes: bool) -> Self {
        self.options.create = yes;
        self
    }

    /// How long to wait for a store that another process has open, before [`Locked`](crate::ErrorKind::Locked) is
    /// returned. Default: not at all.
    pub fn lock_wait(mut self, longest: Duration) -> Self {
        self.options.lock_wait = longest;
        self
    }

    /// Durability of writes through this store and its tables, in place of that of the tables (`table.durability`, by
    /// default [`Durability::Sync`]). A batch writer may have its own.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = Some(durability);
        self
    }

    /// Adds a class of iterators that keep the entries for which `keep` returns `true`. Tables and scans use it by its
    /// name, at any scope; see [`Table::attach_iterator`](crate::Table::attach_iterator). Delete markers, which
    /// compactions see, always pass.
    ///
    /// ```
    /// use ostrakon::{IteratorScope, IteratorSetting, Store};
    ///
    /// let store = Store::builder()
    ///     .filter_class("NotEmpty", |entry| !entry.value.is_empty())
    ///     .in_memory()?;
    /// let table = store.open_or_create_table("t")?;
    /// let setting = IteratorSetting::new(30, "not-empty", "NotEmpty");
    /// table.attach_iterator(&setting, &IteratorScope::ALL)?;
    ///
    /// table.put("a", ("f", "q"), "").put(("f", "r"), "kept").commit()?;
    /// assert_eq!(table.scan().into_iter().count(), 1);
    /// # Ok::<(), ostrakon::Error>(())
    /// ```
    pub fn filter_class(
        self,
        name: &'static str,
        keep: impl Fn(EntryRef<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.iterator_class(ClosureClass::filter(name, keep))
    }

    /// Adds a class of iterators that replace the value of each entry by what `change` returns; see
    /// [`filter_class`](Self::filter_class).
    pub fn map_class(
        self,
        name: &'static str,
        change: impl Fn(EntryRef<'_>) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        self.iterator_class(ClosureClass::map(name, change))
    }

    /// Adds a class of iterators. A name that a stock class or an earlier one has makes opening fail.
    pub fn iterator_class(mut self, class: impl IteratorClass + 'static) -> Self {
        let class = Arc::new(class);
        if !self.components.iterators.register(class.clone()) {
            self.fail("there is an iterator class of that name", class.names());
        }
        self
    }

    /// Adds a class of constraints. A name that a stock class or an earlier one has makes opening fail.
    pub fn constraint_class(mut self, class: impl Constraint + 'static) -> Self {
        let class = Arc::new(class);
        if !self.components.constraints.register(class.clone()) {
            self.fail("there is a constraint class of that name", class.names());
        }
        self
    }

    /// Changes settings that have no method here.
    pub fn options(mut self, change: impl FnOnce(&mut StoreOptions)) -> Self {
        change(&mut self.options);
        self
    }

    /// Opens the store in `directory`.
    ///
    /// # Errors
    /// [`Locked`](crate::ErrorKind::Locked) naming the process that has it open,
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a directory of something else or a class whose name
    /// is taken, [`NotFound`](crate::ErrorKind::NotFound) where no store may be made,
    /// [`NewerFormat`](crate::ErrorKind::NewerFormat), [`Corruption`](crate::ErrorKind::Corruption) naming the file.
    pub fn open(self, directory: impl AsRef<Path>) -> Result<Store> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let store = ostrakon_store::Store::open_with(self.components, directory, self.options)?;
        Ok(Store::new(store, self.durability))
    }

    /// Opens a new store without a directory, which is gone when its last handle is dropped.
    ///
    /// # Errors
    /// A class whose name is taken, or a thread that cannot be started.
    pub fn in_memory(self) -> Result<Store> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let store = ostrakon_store::Store::in_memory_with(self.components, self.options)?;
        Ok(Store::new(store, self.durability))
    }

    fn fail(&mut self, message: &'static str, names: &[&str]) {
        let error = Error::invalid(message).with("class", names.join(", "));
        self.error.get_or_insert(error);
    }
}

impl std::fmt::Debug for StoreBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreBuilder")
            .field("options", &self.options)
            .field("iterators", &self.components.iterators)
            .field("constraints", &self.components.constraints)
            .field("durability", &self.durability)
            .finish_non_exhaustive()
    }
}
