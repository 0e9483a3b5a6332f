//! The one place that knows which source the command line opens: the embedded store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{CallContext, ClassKind, ErrorKind, Source, Table};
use ostrakon_graph::register_graph_iterators;
use ostrakon_store::{Components, Store, StoreOptions};

use crate::failure::{Failure, Result, nearest};

/// What to do when the directory holds no store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absent {
    /// Make one.
    Create,
    /// Say so.
    Refuse,
}

/// How the store is reached, as the command line says.
#[derive(Debug, Clone)]
pub(super) struct Access {
    pub(super) data: Option<PathBuf>,
    pub(super) memory: Option<u64>,
    pub(super) read_only: bool,
    /// Reads what is left of a store with a damaged log.
    pub(super) allow_damage: bool,
    /// How long to wait for a store that is in use.
    pub(super) wait: Duration,
    /// The command only reads: the store is opened so that others may read it meanwhile, and nothing
    /// is changed on the disk.
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
        // A variable that is set to nothing names no directory.
        let named = self.data.as_deref();
        named
            .filter(|name| !name.as_os_str().is_empty())
            .ok_or_else(|| {
                Failure::usage("which store?").next(
                "say --data DIR, or set OSTRAKON_DATA; `ostrakon --data ./store table create NAME` \
                 makes a new one",
            )
            })
    }

    /// Opens the store, does the work, and closes it whatever became of the work.
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
                failure.next("leave out --read-only")
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
                "--allow-damage goes with commands that read: nothing is written to a store with a gap in its log",
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
                "{}; these tables end where the log is damaged",
                damage.to_text()
            );
        }
        Ok(store)
    }

    /// What to do about a store that does not open.
    fn next_step(&self, failure: &Failure) -> Option<&'static str> {
        if failure.is_kind(ErrorKind::NotFound) {
            return Some("`ostrakon table create NAME` makes a store in a new directory");
        }
        let there = self.directory().is_ok_and(Path::exists);
        if failure.is_kind(ErrorKind::ReadOnly) && !self.is_read_only() && there {
            return Some("--read-only reads a store that you may not write");
        }
        if failure.is_kind(ErrorKind::Corruption) {
            // Nothing is found without the catalog; without a piece of the log, all the rest is.
            let in_catalog = failure.names("file", |file| {
                file.ends_with("catalog") || file.ends_with("catalog.mirror")
            });
            return Some(match (in_catalog, self.allow_damage) {
                (true, _) => {
                    "no sound copy of the catalog is left, and without one a store has no names: a checkpoint is the way back"
                }
                (false, false) => {
                    "`ostrakon check` names every damaged file; scan and export read what is left with --allow-damage"
                }
                (false, true) => return None,
            });
        }
        None
    }
}

/// Opens the store in `directory`; memory and the like as `access` says.
pub(super) fn open_directory(
    directory: &Path,
    create: bool,
    access: &Access,
) -> ostrakon_cell::Result<Arc<Store>> {
    Store::open_with(components(), directory, access.options(create))
}

/// The parts of every store that is opened here: tables that were made elsewhere may carry iterators
/// of the graph algorithms, and nothing reads them where those are missing.
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

/// Adds a class of a similar name to a failure that says there is none; the message has them all.
fn suggest_class(failure: Failure) -> Failure {
    if !failure.is_kind(ErrorKind::ClassNotFound) {
        return failure;
    }
    let Some(wanted) = failure.named("class") else {
        return failure;
    };
    // People write a package or leave it out.
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

/// The same, with calls that may take no longer than `timeout` together.
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

/// The classes of iterators or constraints that stores are opened with here, by their short names.
pub(super) fn classes(kind: ClassKind) -> Vec<String> {
    let components = components();
    let names = match kind {
        ClassKind::Iterator => components.iterators.short_names(),
        ClassKind::Constraint => components.constraints.short_names(),
    };
    names.into_iter().map(str::to_owned).collect()
}

/// Puts a table of a similar name in a failure that says there is none, unless the source did.
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
