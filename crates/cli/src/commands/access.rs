//! Opens the source that commands work on: the embedded store. Other commands do not know its type.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{CallContext, ClassKind, ErrorKind, Source, Table};
use ostrakon_graph::register_graph_iterators;
use ostrakon_store::{Components, Store, StoreOptions};

use crate::failure::{Failure, Result, nearest};

/// What to do if the directory does not hold a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absent {
    /// Create one.
    Create,
    /// Fail.
    Refuse,
}

/// How to open the store, according to the command line.
#[derive(Debug, Clone)]
pub(super) struct Access {
    pub(super) data: Option<PathBuf>,
    pub(super) memory: Option<u64>,
    pub(super) read_only: bool,
    /// Reads what is left of a store with a damaged log.
    pub(super) allow_damage: bool,
    /// How long to wait for a store that is in use.
    pub(super) wait: Duration,
    /// The command only reads. Other processes may then read the store at the same time, and nothing
    /// on the disk changes.
    pub(super) reads: bool,
}

impl Access {
    /// The same for a command that only reads.
    pub(super) fn for_reading(&self) -> Self {
        Self {
            reads: true,
            ..self.clone()
        }
    }

    /// How the store is opened.
    pub(super) fn options(&self, create: bool) -> StoreOptions {
        let mut options = StoreOptions {
            create: create && !self.is_read_only(),
            read_only: self.is_read_only(),
            allow_damage: self.allow_damage,
            lock_wait: self.wait,
            lend_unused: ostrakon_allocator::GIVES_BACK,
            ..StoreOptions::default()
        };
        if let Some(memory) = self.memory {
            options.memory_budget_bytes = memory;
        }
        options
    }

    fn is_read_only(&self) -> bool {
        self.read_only || self.reads
    }

    /// The directory of the store.
    pub(super) fn directory(&self) -> Result<&Path> {
        // An empty OSTRAKON_DATA counts as unset.
        let named = self.data.as_deref();
        named
            .filter(|name| !name.as_os_str().is_empty())
            .ok_or_else(|| {
                Failure::usage("no store is given").next(
                "use --data DIR, or set OSTRAKON_DATA; `ostrakon --data ./store table create NAME` \
                 creates a new store",
            )
            })
    }

    /// Opens the store, does the work, and closes the store whether the work succeeded or not.
    pub(super) fn with_store<T>(
        &self,
        absent: Absent,
        work: impl FnOnce(Arc<dyn Source>) -> Result<T>,
    ) -> Result<T> {
        let store = self.open(absent)?;
        let outcome = work(Arc::<Store>::clone(&store));
        let closed = store.close();
        let outcome = outcome.map_err(suggest_class).map_err(|failure| {
            if self.read_only && failure.is_kind(ErrorKind::ReadOnly) {
                failure.next("run the command without --read-only")
            } else {
                failure
            }
        })?;
        closed?;
        Ok(outcome)
    }

    /// Opens the store.
    pub(super) fn open(&self, absent: Absent) -> Result<Arc<Store>> {
        let directory = self.directory()?;
        if self.allow_damage && !self.is_read_only() {
            return Err(Failure::usage(
                "--allow-damage works only with commands that read: a store with a gap in its log is not written to",
            ));
        }
        let create = absent == Absent::Create && !self.is_read_only();
        let store = open_directory(directory, create, self);
        let store = store.map_err(|error| {
            let failure = Failure::from(error);
            match self.next_step(&failure) {
                Some(step) if !create || !failure.is_kind(ErrorKind::NotFound) => {
                    failure.next(step)
                }
                _ => failure,
            }
        })?;
        for damage in store.damages() {
            tracing::warn!(
                file = %damage.path.display(),
                tables = damage.tables.join(", "),
                "{}; in these tables, writes after the damaged place are missing",
                damage.to_text()
            );
        }
        Ok(store)
    }

    /// What to do about a store that cannot be opened.
    fn next_step(&self, failure: &Failure) -> Option<&'static str> {
        if failure.is_kind(ErrorKind::NotFound) {
            return Some("run `ostrakon table create NAME` to create a store in a new directory");
        }
        let there = self.directory().is_ok_and(Path::exists);
        if failure.is_kind(ErrorKind::ReadOnly) && !self.is_read_only() && there {
            return Some("use --read-only to read a store that you cannot write to");
        }
        if failure.is_kind(ErrorKind::Corruption) {
            // Without the catalog nothing can be read; without a part of the log, everything else can.
            let in_catalog = failure.names("file", |file| {
                file.ends_with("catalog") || file.ends_with("catalog.mirror")
            });
            return Some(match (in_catalog, self.allow_damage) {
                (true, _) => {
                    "both copies of the catalog are damaged, so the tables cannot be found: use a checkpoint"
                }
                (false, false) => {
                    "run `ostrakon check` to list every damaged file; scan and export read what is left with --allow-damage"
                }
                (false, true) => return None,
            });
        }
        None
    }
}

/// Opens the store in `directory`, with the options of `access`.
pub(super) fn open_directory(
    directory: &Path,
    create: bool,
    access: &Access,
) -> ostrakon_cell::Result<Arc<Store>> {
    Store::open_with(components(), directory, access.options(create))
}

/// The components of every store that is opened here. They include the graph iterators: a table that
/// was created by another program may use them, and could not be read without them.
pub(super) fn components() -> Components {
    let mut components = Components::default();
    register_graph_iterators(&mut components.iterators);
    components
}

/// The table of that name, or a failure that suggests one.
pub(super) fn find_table(source: &dyn Source, name: &str) -> Result<Arc<dyn Table>> {
    source
        .table(name)
        .map_err(|error| suggest_table(source, name, error.into()))
}

/// Suggests a class with a similar name if a class was not found.
fn suggest_class(failure: Failure) -> Failure {
    if !failure.is_kind(ErrorKind::ClassNotFound) {
        return failure;
    }
    let Some(wanted) = failure.named("class") else {
        return failure;
    };
    // The package is optional.
    let wanted = wanted.rsplit('.').next().unwrap_or_default();
    let Components {
        iterators,
        constraints,
        ..
    } = components();
    let known = match failure.message().contains("constraint") {
        true => constraints.short_names(),
        false => iterators.short_names(),
    };
    match nearest(wanted, known.into_iter()).map(|near| format!("did you mean `{near}`?")) {
        Some(step) => failure.next(step),
        None => failure,
    }
}

/// Like [`find_table`]; all calls together may take no longer than `timeout`.
pub(super) fn find_table_within(
    source: &dyn Source,
    name: &str,
    timeout: Option<Duration>,
) -> Result<Arc<dyn Table>> {
    let table = find_table(source, name)?;
    if timeout.is_none() {
        return Ok(table);
    }
    Ok(table.within(&CallContext {
        timeout,
        ..CallContext::default()
    })?)
}

/// The short names of the iterator or constraint classes of a store that is opened here.
pub(super) fn classes(kind: ClassKind) -> Vec<String> {
    let components = components();
    let names = match kind {
        ClassKind::Iterator => components.iterators.short_names(),
        ClassKind::Constraint => components.constraints.short_names(),
    };
    names.into_iter().map(str::to_owned).collect()
}

/// Suggests a table with a similar name if a table was not found, unless the source did so.
pub(super) fn suggest_table(source: &dyn Source, name: &str, failure: Failure) -> Failure {
    if !failure.is_kind(ErrorKind::TableNotFound) || failure.suggests() {
        return failure;
    }
    let Ok(tables) = source.tables() else {
        return failure;
    };
    match nearest(name, tables.iter().map(|table| table.name.as_str())) {
        Some(near) => failure.next(format!("did you mean `{near}`?")),
        None => failure,
    }
}
