//! Opens the source that commands work on: the embedded store. Other commands do not know its type.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ostrakon_cell::{CallContext, ClassKind, ErrorKind, Source, Table};
use ostrakon_events::{check_entries_not_of_events, register_event_iterators};
use ostrakon_graph::register_graph_iterators;
use ostrakon_store::{Components, Store, StoreOptions};

use super::activity::Activity;
use crate::failure::{Failure, Result, nearest};
use crate::files::is_store;
use crate::output::bytes;

/// The property with the schema of a table of records.
pub(super) const RECORD_SCHEMA: &str = "table.custom.ostrakon.schema";

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
    /// Opens a store with a damaged log for writing, without the rest of the log.
    pub(super) accept_log_loss: bool,
    /// How long to wait for a store that is in use.
    pub(super) wait: Duration,
    /// The command only reads. Other processes may then read the store at the same time, and nothing
    /// on the disk changes.
    pub(super) reads: bool,
    /// The command shows what its authorizations let it read. What the store does meanwhile is not
    /// logged, because its counts include hidden entries.
    pub(super) restricted: bool,
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
            accept_log_loss: self.accept_log_loss,
            lock_wait: self.wait,
            lend_unused: ostrakon_allocator::GIVES_BACK,
            ..StoreOptions::default()
        };
        if let Some(memory) = self.memory {
            options.memory_budget_bytes = memory;
        }
        options
    }

    pub(super) fn is_read_only(&self) -> bool {
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
        let activity = self.activity(&store);
        let outcome = work(Arc::<Store>::clone(&store));
        let closed = close(&store, activity).map_err(after_the_work);
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

    /// Whether the directory has a store, as far as the names in it tell.
    pub(super) fn has_store(&self) -> Result<bool> {
        Ok(is_store(self.directory()?))
    }

    /// Creates something, in a new store if there is none. A new store is created only if `create`
    /// succeeds on one in memory, so that a wrong name or property leaves nothing behind.
    pub(super) fn create(&self, create: impl Fn(&dyn Source) -> Result<()>) -> Result<()> {
        self.rehearse(&create)?;
        self.with_store(Absent::Create, |source| create(&*source))
    }

    /// Tries `create` in memory if there is no store yet.
    pub(super) fn rehearse(&self, create: impl Fn(&dyn Source) -> Result<()>) -> Result<()> {
        self.rehearse_shared(|source| create(&*source))
    }

    /// [`rehearse`](Self::rehearse) for work that shares the source.
    pub(super) fn rehearse_shared(
        &self,
        create: impl Fn(Arc<dyn Source>) -> Result<()>,
    ) -> Result<()> {
        if self.is_read_only() || self.has_store()? {
            return Ok(());
        }
        let memory = Store::in_memory_with(components(), self.options(true))?;
        let created = create(Arc::<Store>::clone(&memory));
        memory.close()?;
        created.map_err(suggest_class)
    }

    /// Does work that calls for a store only when it has something to write into it. With `Create`, a
    /// store that is not there yet is created by that call.
    pub(super) fn with_store_on_demand<T>(
        &self,
        absent: Absent,
        work: impl FnOnce(&mut dyn FnMut() -> Result<Arc<dyn Source>>) -> Result<T>,
    ) -> Result<T> {
        let mut opened: Option<(Arc<Store>, Activity)> = None;
        let outcome = work(&mut || {
            let store = match &opened {
                Some((store, _)) => Arc::clone(store),
                None => {
                    let store = self.open(absent)?;
                    let activity = self.activity(&store);
                    Arc::clone(&opened.insert((store, activity)).0)
                }
            };
            Ok(store)
        });
        let closed = opened.map_or(Ok(()), |(store, activity)| close(&store, activity));
        let closed = closed.map_err(after_the_work);
        let outcome = outcome.map_err(suggest_class)?;
        closed?;
        Ok(outcome)
    }

    fn activity(&self, store: &Arc<Store>) -> Activity {
        match self.restricted {
            true => Activity::none(),
            false => Activity::start(store),
        }
    }

    /// Opens the store.
    pub(super) fn open(&self, absent: Absent) -> Result<Arc<Store>> {
        let directory = self.directory()?;
        if self.allow_damage && !self.is_read_only() {
            return Err(Failure::usage(
                "--allow-damage works only with commands that read: a store with a gap in its log is not written to",
            )
            .next("run `ostrakon repair-log` to continue without what is lost"));
        }
        if directory.is_symlink() && !directory.exists() {
            let target = std::fs::read_link(directory).unwrap_or_default();
            return Err(Failure::outcome(
                "the directory of the store is a symbolic link to nothing",
            )
            .with("directory", directory.display().to_string())
            .with("target", target.display().to_string())
            .next("create the directory to which the link leads, or remove the link"));
        }
        if directory.exists() && !directory.is_dir() {
            return Err(
                Failure::outcome("a store is a directory, and this is not one")
                    .with("directory", directory.display().to_string())
                    .next("check --data and OSTRAKON_DATA"),
            );
        }
        let create = absent == Absent::Create && !self.is_read_only();
        let begun = Instant::now();
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
        tracing::info!(
            directory = %directory.display(),
            read_only = self.is_read_only(),
            memory = bytes(self.options(create).memory_budget_bytes),
            elapsed_ms = milliseconds(begun),
            "opened the store"
        );
        // The command that accepts a loss lists it.
        let unlisted = store.damages().iter().filter(|_| !self.accept_log_loss);
        for damage in unlisted {
            Failure::warning(format!(
                "{}; in these tables, writes after the damaged place are missing",
                damage.to_text()
            ))
            .with("file", damage.path.display().to_string())
            .with("tables", damage.tables.join(", "))
            .next("export what is left, or run `ostrakon repair-log` to continue without the rest")
            .warn();
        }
        Ok(store)
    }

    /// What to do about a store that cannot be opened.
    fn next_step(&self, failure: &Failure) -> Option<&'static str> {
        // Not a file of a store that is there.
        if failure.is_kind(ErrorKind::NotFound) && failure.named("directory").is_some() {
            return Some(
                "check --data and OSTRAKON_DATA, or run `ostrakon table create NAME` to create a store in a new directory",
            );
        }
        let there = self.directory().is_ok_and(Path::exists);
        if failure.is_kind(ErrorKind::ReadOnly) && !self.is_read_only() && there {
            return Some(
                "make the directory writable for what writes, or copy the store; with --read-only, what only reads works",
            );
        }
        // The message says all: nothing of a store without a catalog can be read.
        let is_lost = failure.named("holds").is_some();
        if failure.is_kind(ErrorKind::Corruption) && !is_lost {
            // Without the catalog nothing can be read; without a part of the log, everything else can.
            let in_catalog = failure.names("file", |file| {
                file.ends_with("catalog") || file.ends_with("catalog.mirror")
            });
            return Some(match (in_catalog, self.allow_damage) {
                (true, _) if failure.named("its mirror").is_none() => {
                    "do what the error says, and run the command again"
                }
                (true, _) => {
                    "both copies of the catalog are damaged or missing, so the tables cannot be found: use a checkpoint"
                }
                (false, false) => {
                    "run `ostrakon check` to list every damaged file; scan and export read what is left with --allow-damage, and \
                     `ostrakon repair-log` continues without the rest"
                }
                (false, true) => return None,
            });
        }
        None
    }
}

/// Closes the store, and logs how long that took and what the store did since.
fn close(store: &Store, activity: Activity) -> ostrakon_cell::Result<()> {
    let begun = Instant::now();
    let closed = store.close();
    activity.finish();
    tracing::info!(elapsed_ms = milliseconds(begun), "closed the store");
    closed
}

/// The failure of closing a store after a command that succeeded: running it again would do its work twice.
fn after_the_work(error: ostrakon_cell::Error) -> Failure {
    Failure::from(error).next(
        "the command has done its work, and only closing the store failed: do not run it again; `ostrakon check` shows \
         whether the store is sound",
    )
}

fn milliseconds(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Opens the store in `directory`, with the options of `access`.
pub(super) fn open_directory(
    directory: &Path,
    create: bool,
    access: &Access,
) -> ostrakon_cell::Result<Arc<Store>> {
    Store::open_with(components(), directory, access.options(create))
}

/// The components of every store that is opened here. They include the iterators of graphs and events: a
/// table that was created by another program may use them, and could not be read without them.
pub(super) fn components() -> Components {
    let mut components = Components::default();
    register_graph_iterators(&mut components.iterators);
    register_event_iterators(&mut components.iterators);
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

/// Rejects plain values for a table of records: values without the encoding of their column could not be
/// read as records any more.
pub(super) fn refuse_records(table: &dyn Table, next: &str) -> Result<()> {
    if !table.properties()?.contains_key(RECORD_SCHEMA) {
        return Ok(());
    }
    Err(
        Failure::usage("the table has a schema, whose columns encode their values")
            .with("table", table.name())
            .next(next),
    )
}

/// Rejects a table of an event type: its entries are changed by the commands of events alone, which keep index and
/// counts in agreement with the events.
pub(super) fn refuse_events(source: &dyn Source, table: &str) -> Result<()> {
    check_entries_not_of_events(source, table).map_err(|error| {
        let is_ours = error.kind() == ErrorKind::InvalidArgument;
        let failure = Failure::from(error);
        match failure.named("type").map(str::to_owned) {
            _ if !is_ours => failure,
            Some(name) => failure.next(format!(
                "add events with `ostrakon events ingest {name} FILE`, delete them with `ostrakon events delete {name} \
                 EXPRESSION`, `events age-off` or `events drop`, and correct index and counts with `ostrakon events \
                 repair {name}`"
            )),
            None => failure.next(
                "change a type with `ostrakon events edit`, and delete one with `ostrakon events drop`",
            ),
        }
    })
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
