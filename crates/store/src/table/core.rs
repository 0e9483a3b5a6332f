//! A table's state.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use ostrakon_cell::{Interrupt, Properties};
use parking_lot::{Condvar, Mutex, RwLock};

use super::bounded::Unattended;
use super::compacting::{Pressing, RewritePlan};
use super::context::StoreContext;
use super::flush_turn::FlushTurn;
use super::labels::MalformedLabels;
use super::time::TableTime;
use crate::catalog::{
    CatalogTransaction, Fence, FileId, NamespaceId, TableId, TableRecord, TableState,
};
use crate::compaction::{Cancel, Failures};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::memtable::{Memtable, RowPrefix, Run};
use crate::properties::TableConfig;
use crate::read::Snapshot;
use crate::sorted_file::KnownLabels;
use crate::tablet::{IteratorStackBuilder, TableVersion};

/// Stripes of row locks for conditional writes.
const ROW_LOCKS: usize = 256;

/// One table of an open store.
///
/// Lock order, first to last: `flushing`, `structure`, `busy`, `status`, `data`. The catalog's own
/// lock comes after `structure`.
pub(crate) struct TableCore {
    pub(super) context: Arc<StoreContext>,
    pub(super) id: TableId,
    /// The id as text, for iterators.
    id_text: Arc<str>,
    pub(super) status: RwLock<TableStatus>,
    /// Whether the table is on-line; `false` also once the store is closed. Derived from `status`,
    /// for frequent checks.
    pub(super) readable: AtomicBool,
    pub(super) data: RwLock<TableData>,
    /// Batches between the check whether the table is on-line and their publication.
    pub(super) submitted: AtomicU64,
    /// Whether a flush of everything in memory was requested without waiting.
    pub(super) flush_wanted: AtomicBool,
    pub(super) time: TableTime,
    /// Grows whenever a new scan would return something else.
    pub(super) epoch: AtomicU64,
    /// One flush at a time.
    pub(super) flushing: FlushTurn,
    /// One change of the tablets at a time: catalog first, then `data`.
    pub(super) structure: Mutex<()>,
    pub(super) busy: Mutex<Busy>,
    pub(super) idle: Condvar,
    pub(super) row_locks: [Mutex<()>; ROW_LOCKS],
    /// The recorded failures of this table.
    pub(super) failures: Failures,
    /// Tablets worth compacting, collected by a pass over all of them.
    pub(super) pressing: Mutex<Pressing>,
    /// Tablets worth rewriting for their garbage, or because they are idle.
    pub(super) rewrites: Mutex<RewritePlan>,
    /// Whether the content of memory cannot be written to files even without iterators.
    pub(super) unwritable: AtomicBool,
    /// The largest number of files of a tablet, as last seen by a compaction thread.
    pub(super) most_files: AtomicUsize,
    /// Whether the table is listed as one with unflushed data.
    pub(super) listed: AtomicBool,
    /// Selects the stripe of a row.
    pub(super) row_hasher: BuildHasherDefault<DefaultHasher>,
    pub(super) labels: KnownLabels,
    /// Malformed labels that scans met.
    pub(super) malformed: MalformedLabels,
    /// Requests that go on without their callers.
    pub(super) unattended: Unattended,
}

/// The content of the catalog's record of the table.
#[derive(Clone)]
pub(crate) struct TableStatus {
    /// The name.
    pub(crate) name: Arc<str>,
    /// Whether it is on-line.
    pub(crate) state: TableState,
    /// Whether it was deleted.
    pub(crate) deleted: bool,
    /// The namespace.
    pub(crate) namespace: NamespaceId,
    /// The properties set for this table.
    pub(crate) properties: Arc<Properties>,
    /// The number of their changes.
    pub(crate) properties_version: u64,
    /// All properties set for it at any level, parsed.
    pub(crate) config: Arc<TableConfig>,
}

/// The state that a scan reads.
pub(super) struct TableData {
    pub(super) version: Arc<TableVersion>,
    /// Grows whenever the rows of a tablet change.
    pub(super) layout_version: u64,
    pub(super) active: Arc<Memtable>,
    /// Oldest first.
    pub(super) frozen: Vec<Arc<Memtable>>,
    /// Whether the table was deleted: then nothing more is added to memory.
    pub(super) deleted: bool,
}

/// Tablets claimed by compactions, by end row, and how to stop those a user requested.
#[derive(Default)]
pub(super) struct Busy {
    pub(super) tablets: HashSet<Option<Vec<u8>>>,
    /// The rows that users want compacted, once per request; background work avoids them.
    pub(super) wanted: Vec<Fence>,
    /// Compactions chosen by the background.
    pub(super) chosen: Vec<(Fence, Cancel)>,
    pub(super) cancels: Vec<Cancel>,
}

impl TableCore {
    /// Builds a table from the catalog's record.
    pub(crate) fn new(
        context: Arc<StoreContext>,
        record: &TableRecord,
        config: TableConfig,
        version: TableVersion,
    ) -> Arc<Self> {
        // Above the ages of all files, which were loaded before.
        let age = context.log.next_sequence();
        let table = Arc::new(Self {
            failures: Failures::new(u64::from(record.id.0)),
            pressing: Mutex::default(),
            rewrites: Mutex::default(),
            unwritable: AtomicBool::new(false),
            most_files: AtomicUsize::new(0),
            listed: AtomicBool::new(false),
            context,
            id: record.id,
            id_text: record.id.to_string().into(),
            status: RwLock::new(TableStatus {
                name: record.name.as_str().into(),
                state: record.state,
                deleted: false,
                namespace: record.namespace,
                properties: Arc::new(record.own.properties.clone()),
                properties_version: record.own.version,
                config: Arc::new(config),
            }),
            readable: AtomicBool::new(record.state == TableState::Online),
            data: RwLock::new(TableData {
                version: Arc::new(version),
                layout_version: 1,
                active: Arc::new(Memtable::new(age)),
                frozen: Vec::new(),
                deleted: false,
            }),
            submitted: AtomicU64::new(0),
            flush_wanted: AtomicBool::new(false),
            time: TableTime::new(record.time_type, record.flushed_time),
            epoch: AtomicU64::new(0),
            flushing: FlushTurn::default(),
            structure: Mutex::new(()),
            busy: Mutex::new(Busy::default()),
            idle: Condvar::new(),
            row_locks: std::array::from_fn(|_| Mutex::new(())),
            row_hasher: BuildHasherDefault::default(),
            labels: KnownLabels::default(),
            malformed: MalformedLabels::default(),
            unattended: Unattended::default(),
        });
        table.context.attention.add(record.id, &table);
        table
    }

    /// The id.
    #[must_use]
    pub(crate) fn id(&self) -> TableId {
        self.id
    }

    /// The table's clock.
    #[must_use]
    pub(crate) fn time(&self) -> &TableTime {
        &self.time
    }

    /// Name, state and properties.
    #[must_use]
    pub(crate) fn status(&self) -> TableStatus {
        self.status.read().clone()
    }

    /// Replaces name, state and properties, after the catalog was changed.
    pub(crate) fn set_status(&self, change: impl FnOnce(&mut TableStatus)) {
        {
            let mut status = self.status.write();
            change(&mut status);
            let readable =
                status.check_online().is_ok() && self.context.health.check_open().is_ok();
            self.readable.store(readable, Ordering::Relaxed);
        }
        self.touch();
    }

    /// The parsed properties.
    #[must_use]
    pub(crate) fn config(&self) -> Arc<TableConfig> {
        self.status.read().config.clone()
    }

    /// Returns an error unless the store is open, the table exists and is on-line.
    pub(crate) fn check_online(&self) -> StoreResult<()> {
        self.context.health.check_open()?;
        self.status.read().check_online()
    }

    /// Returns an error unless the table exists. It may be off-line, and its store closed.
    pub(crate) fn check_exists(&self) -> StoreResult<()> {
        self.status.read().check_exists()
    }

    /// Returns an error unless the store is open and the table exists.
    pub(crate) fn check_open(&self) -> StoreResult<()> {
        self.context.health.check_open()?;
        self.check_exists()
    }

    /// Makes scans that restart take a new snapshot.
    pub(super) fn touch(&self) {
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// The present tablets.
    #[must_use]
    pub(crate) fn version(&self) -> Arc<TableVersion> {
        self.data.read().version.clone()
    }

    /// Unflushed data, in active and frozen memtables: its bytes, and the oldest log segment that
    /// still holds some of it.
    #[must_use]
    pub(crate) fn unflushed(&self) -> (u64, Option<u64>) {
        let data = self.data.read();
        let tables = data.frozen.iter().chain([&data.active]);
        tables.fold((0, None), |(memory, oldest), table| {
            let segment = match (oldest, table.first_segment()) {
                (Some(a), Some(b)) => Some(u64::min(a, b)),
                (one, other) => one.or(other),
            };
            (memory + table.memory() as u64, segment)
        })
    }

    /// Whether there is unflushed data.
    #[must_use]
    pub(super) fn has_memory(&self) -> bool {
        let data = self.data.read();
        !data.frozen.is_empty() || !data.active.is_empty()
    }

    /// Number of unflushed entries.
    #[must_use]
    pub(crate) fn unflushed_entries(&self) -> u64 {
        let data = self.data.read();
        data.frozen
            .iter()
            .chain([&data.active])
            .map(|memtable| memtable.len() as u64)
            .sum()
    }

    /// Whether some data in memory is in no log.
    #[must_use]
    pub(crate) fn has_unlogged(&self) -> bool {
        let data = self.data.read();
        data.frozen
            .iter()
            .chain([&data.active])
            .any(|memtable| memtable.has_unlogged())
    }

    /// Whether another thread is flushing the table and does not give way.
    #[must_use]
    pub(crate) fn is_being_flushed(&self) -> bool {
        self.flushing.is_taken() && !self.flushing.is_yielding()
    }

    /// Bytes that wait to be flushed (everything in memory, or `u64::MAX` if some of it is frozen);
    /// and bytes that do not wait because a compaction includes them, until writers need the
    /// memory.
    #[must_use]
    pub(crate) fn waiting_to_flush(&self) -> (u64, u64) {
        let context = &self.context;
        let is_taken_along = self.flushing.is_yielding() && !context.pressure.is_waited_for();
        let data = self.data.read();
        let active = data.active.memory() as u64;
        if is_taken_along && !self.flush_wanted.load(Ordering::Acquire) {
            let is_large = active >= context.options.flush_bytes();
            let frozen = data.frozen.iter().map(|memtable| memtable.memory() as u64);
            return (if is_large { active } else { 0 }, frozen.sum());
        }
        let is_wanted = active > 0 && self.flush_wanted.load(Ordering::Acquire);
        let is_due = is_wanted || !data.frozen.is_empty();
        (if is_due { u64::MAX } else { active }, 0)
    }

    /// Deletes the table in the catalog by `change`, and from memory. `hide` removes it from the
    /// store's tables once the catalog has changed; its result is kept until the table is marked as
    /// deleted. Returns the files that are no longer referenced.
    pub(crate) fn delete<G>(
        &self,
        change: impl FnOnce(&mut CatalogTransaction<'_>) -> StoreResult<()>,
        hide: impl FnOnce() -> G,
    ) -> StoreResult<Vec<FileId>> {
        let committed = {
            let _structure = self.structure.lock();
            let committed = self.context.catalog.transaction(change)?;
            let _hidden = hide();
            self.set_status(|status| status.deleted = true);
            committed
        };
        // Their results are useless now; a compaction that includes memtables would keep the
        // memory, which is no longer counted.
        self.stop_work();
        let mut data = self.data.write();
        // Readers keep their snapshots; the files are deleted when the last of them is done.
        data.version = Arc::new(TableVersion::default());
        data.deleted = true;
        drop(data);
        self.drop_memtables();
        self.context.attention.forget(self.id);
        Ok(committed.unreferenced)
    }

    /// Calls `work` with the catalog's record of the table while nothing can change it.
    pub(crate) fn with_status<T>(
        &self,
        work: impl FnOnce(&TableStatus) -> StoreResult<T>,
    ) -> StoreResult<T> {
        let _structure = self.structure.lock();
        let status = self.status();
        status.check_exists()?;
        work(&status)
    }

    /// Takes the table off-line or on-line in the catalog, then, while the result of `publish` is
    /// held, in memory. Returns whether that changed anything.
    pub(crate) fn set_state<G>(
        &self,
        state: TableState,
        publish: impl FnOnce() -> G,
    ) -> StoreResult<bool> {
        let _structure = self.structure.lock();
        self.check_exists()?;
        if self.status.read().state == state {
            return Ok(false);
        }
        let _ = self
            .context
            .catalog
            .transaction(|change| change.update_table(self.id, |record| record.state = state))?;
        let _published = publish();
        self.set_status(|status| status.state = state);
        Ok(true)
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        // Read before the data: a change in between makes the snapshot look older than it is, which
        // costs a restart and is never wrong.
        let epoch = self.epoch.load(Ordering::Acquire);
        let data = self.data.read();
        let mut memtables = vec![data.active.snapshot()];
        memtables.extend(data.frozen.iter().rev().map(|memtable| memtable.snapshot()));
        memtables.retain(|memtable| !memtable.is_empty());
        Snapshot {
            version: data.version.clone(),
            memtables,
            epoch,
        }
    }

    /// Which bytes of a row are in the marks of the active memtable.
    pub(crate) fn row_prefix(&self, batch: &ostrakon_cell::MutationBatch) -> RowPrefix {
        self.data.read().active.prefix_for(batch)
    }

    /// Makes a committed batch visible. Called in order of sequence by one thread.
    ///
    /// # Errors
    /// The table was deleted: its memory was freed, and nothing more is added to it.
    pub(crate) fn publish(
        &self,
        run: Arc<Run>,
        sequence: u64,
        segment: Option<u64>,
    ) -> StoreResult<()> {
        // The lock is held while inserting, so that nothing is added to a frozen memtable or a
        // deleted table.
        let data = self.data.read();
        if data.deleted {
            drop(data);
            return Err(deleted(&self.status.read().name));
        }
        data.active.insert(run, sequence, segment)?;
        self.touch();
        if data.active.wants_merge() {
            self.context.wakeups.maintenance.wake();
        }
        if data.active.memory() as u64 >= self.context.options.flush_bytes() {
            self.context.wakeups.flush.wake();
        }
        drop(data);
        self.context.attention.written(self.id, &self.listed);
        Ok(())
    }

    /// Merges runs of the active memtable.
    pub(crate) fn merge_runs(&self) {
        let active = self.data.read().active.clone();
        active.merge_runs();
    }

    pub(super) fn stacker(&self) -> IteratorStackBuilder {
        let status = self.status.read();
        IteratorStackBuilder {
            config: status.config.clone(),
            registry: self.context.iterators.clone(),
            table: status.name.clone(),
            table_id: self.id_text.clone(),
            iterator_options: BTreeMap::new(),
            now_millis: self.context.clock.now_millis(),
            answers_early: false,
            steps: None,
            interrupt: Interrupt::default(),
            look_ahead_bytes: None,
            malformed: self.malformed.met.clone(),
        }
    }
}

impl TableStatus {
    /// Returns an error once the table was deleted.
    pub(crate) fn check_exists(&self) -> StoreResult<()> {
        if self.deleted {
            return Err(deleted(&self.name));
        }
        Ok(())
    }

    /// Returns an error unless the table exists and is on-line.
    pub(crate) fn check_online(&self) -> StoreResult<()> {
        self.check_exists()?;
        if self.state == TableState::Offline {
            return Err(
                Error::new(ErrorKind::Offline, "the table is offline").with("table", &self.name)
            );
        }
        Ok(())
    }
}

fn deleted(name: &str) -> Error {
    Error::no_table("the table was deleted").with("table", name)
}
