//! An open store.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use ostrakon_cell::Source;
use ostrakon_store::metrics::MetricsSnapshot;

use crate::builder::StoreBuilder;
use crate::table::Table;
use crate::table_builder::TableBuilder;
use crate::{Durability, Error, ErrorKind, Result};

/// An open store: a directory of tables. A clone is another handle to the same store, which is closed
/// when the last handle to it or to one of its tables is dropped.
///
/// ```
/// use ostrakon::Store;
///
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// # let path = directory.path().join("graph.db");
/// let store = Store::open(&path)?;
/// let edges = store.open_or_create_table("edges")?;
/// edges.put("alice", ("knows", "bob"), "1").commit()?;
/// assert_eq!(store.tables()?, ["edges"]);
/// store.close()?;
///
/// let store = Store::builder().create(false).read_only(true).open(&path)?;
/// assert_eq!(store.table("edges")?.scan().into_iter().count(), 1);
/// # Ok::<(), ostrakon::Error>(())
/// ```
#[derive(Clone)]
pub struct Store {
    /// Shared by all handles; taken out by `close`, so that no handle keeps the directory locked then.
    inner: Arc<RwLock<Option<Arc<ostrakon_store::Store>>>>,
    durability: Option<Durability>,
}

impl Store {
    /// Opens the store in `directory`, and makes it one first if the directory is empty or absent.
    ///
    /// # Errors
    /// As [`StoreBuilder::open`].
    pub fn open(directory: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(directory)
    }

    /// Opens a new store without a directory, which is gone when its last handle is dropped.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn in_memory() -> Result<Self> {
        Self::builder().in_memory()
    }

    /// Settings of a store that is to be opened.
    pub fn builder() -> StoreBuilder {
        StoreBuilder::new()
    }

    pub(crate) fn new(inner: Arc<ostrakon_store::Store>, durability: Option<Durability>) -> Self {
        Self {
            inner: Arc::new(RwLock::new(Some(inner))),
            durability,
        }
    }

    fn inner(&self) -> Result<Arc<ostrakon_store::Store>> {
        // Nothing panics while it holds the lock.
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        inner
            .clone()
            .ok_or_else(|| Error::new(ErrorKind::Closed, "the store is closed: open it again"))
    }

    /// The table of that name.
    ///
    /// # Errors
    /// [`TableNotFound`](ErrorKind::TableNotFound).
    pub fn table(&self, name: &str) -> Result<Table> {
        let table = self.inner()?.table(name)?;
        Ok(Table::new(self.clone(), table))
    }

    /// Creates a table with the default settings: one tablet, the newest version of each column.
    ///
    /// # Errors
    /// [`AlreadyExists`](ErrorKind::AlreadyExists), or the name is malformed.
    pub fn create_table(&self, name: &str) -> Result<Table> {
        self.table_builder(name).create()
    }

    /// The table of that name, created with the default settings if there is none.
    ///
    /// # Errors
    /// The name is malformed; the store is read-only and has no such table.
    pub fn open_or_create_table(&self, name: &str) -> Result<Table> {
        self.table_builder(name).open_or_create()
    }

    /// Settings of a table that is to be created.
    pub fn table_builder(&self, name: &str) -> TableBuilder {
        TableBuilder::new(self.clone(), name)
    }

    /// The names of all tables, sorted.
    ///
    /// # Errors
    /// [`Closed`](ErrorKind::Closed).
    pub fn tables(&self) -> Result<Vec<String>> {
        let tables = self.inner()?.tables()?;
        Ok(tables.into_iter().map(|table| table.name).collect())
    }

    /// Deletes a table and everything in it.
    ///
    /// # Errors
    /// [`TableNotFound`](ErrorKind::TableNotFound).
    pub fn drop_table(&self, name: &str) -> Result<()> {
        self.inner()?.delete_table(name)
    }

    /// Writes a copy of the whole store to a new directory while it is used. Files are shared through hard links where
    /// the file system can.
    ///
    /// # Errors
    /// The directory exists, or the disk refuses.
    pub fn checkpoint(&self, directory: impl AsRef<Path>) -> Result<()> {
        self.inner()?.checkpoint(directory.as_ref())
    }

    /// Closes the store for all handles, lets go of its directory, and says whether that succeeded. Dropping the last
    /// handle closes it too, but can only log an error.
    ///
    /// # Errors
    /// The log could not be synced, or a table not be flushed; what is in the log is safe.
    pub fn close(self) -> Result<()> {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        match inner.take() {
            Some(store) => store.close(),
            None => Ok(()),
        }
    }

    /// What the store counted since it was opened.
    ///
    /// # Errors
    /// [`Closed`](ErrorKind::Closed).
    pub fn metrics(&self) -> Result<MetricsSnapshot> {
        Ok(self.inner()?.metrics())
    }

    /// The store as the source contract shows it: namespaces, properties of all levels, checks, clones. It keeps the
    /// directory locked while it is held.
    ///
    /// # Errors
    /// [`Closed`](ErrorKind::Closed).
    pub fn source(&self) -> Result<Arc<dyn Source>> {
        Ok(self.inner()?)
    }

    /// Durability of writes, if it is not that of the tables.
    pub(crate) fn durability(&self) -> Option<Durability> {
        self.durability
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.inner() {
            Ok(store) => std::fmt::Debug::fmt(&store, f),
            Err(_) => f.write_str("Store, closed"),
        }
    }
}
