//! A table's state.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use ostrakon_cell::Properties;
use parking_lot::{Condvar, Mutex, RwLock};

use super::context::StoreContext;
use super::flush_turn::FlushTurn;
use super::time::TableTime;
use crate::catalog::{CatalogTransaction, Fence, FileId, TableId, TableRecord, TableState};
use crate::compaction::Cancel;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::memtable::{Memtable, MemtableSnapshot, RowPrefix, Run};
use crate::properties::TableConfig;
use crate::tablet::{Layout, Stacker};

/// Stripes of row locks for conditional writes.
const ROW_LOCKS: usize = 64;

/// One table of an open store.
///
/// Lock order, first to last: `flushing`, `structure`, `busy`, `status`, `data`. The catalog's own
/// lock comes after `structure`.
pub(crate) struct TableCore {
    pub(super) context: Arc<StoreContext>,
    pub(super) id: TableId,
    pub(super) status: RwLock<TableStatus>,
    pub(super) data: RwLock<TableData>,
    pub(super) time: TableTime,
    /// Grows whenever a new scan would see something else.
    pub(super) epoch: AtomicU64,
    pub(super) row_prefix: OnceLock<RowPrefix>,
    /// One flush at a time.
    pub(super) flushing: FlushTurn,
    /// One change of the tablets at a time: catalog first, then `data`.
    pub(super) structure: Mutex<()>,
    pub(super) busy: Mutex<Busy>,
    pub(super) idle: Condvar,
    pub(super) row_locks: [Mutex<()>; ROW_LOCKS],
}

/// What the catalog's record of the table says.
#[derive(Clone)]
pub(crate) struct TableStatus {
    /// The name.
    pub(crate) name: Arc<str>,
    /// Whether it answers.
    pub(crate) state: TableState,
    /// Whether it was deleted.
    pub(crate) deleted: bool,
    /// Properties that differ from the defaults.
    pub(crate) properties: Properties,
    /// The properties, read.
    pub(crate) config: Arc<TableConfig>,
}

/// What a scan reads.
pub(super) struct TableData {
    pub(super) layout: Arc<Layout>,
    pub(super) active: Arc<Memtable>,
    /// Oldest first.
    pub(super) frozen: Vec<Arc<Memtable>>,
}

/// Tablets that a compaction works on, by end row, and how to stop those a user asked for.
#[derive(Default)]
pub(super) struct Busy {
    pub(super) tablets: HashSet<Option<Vec<u8>>>,
    /// What users want compacted, as often as they asked; background work keeps away.
    pub(super) wanted: Vec<Fence>,
    /// Compactions that the background chose.
    pub(super) chosen: Vec<(Fence, Cancel)>,
    pub(super) cancels: Vec<Cancel>,
}

/// What a scan sees: it never changes.
pub(super) struct Snapshot {
    pub(super) layout: Arc<Layout>,
    /// Newest first.
    pub(super) memtables: Vec<MemtableSnapshot>,
    pub(super) epoch: u64,
}

impl TableCore {
    /// A table as the catalog has it.
    pub(crate) fn new(
        context: Arc<StoreContext>,
        record: &TableRecord,
        config: TableConfig,
        layout: Layout,
    ) -> Self {
        Self {
            context,
            id: record.id,
            status: RwLock::new(TableStatus {
                name: record.name.as_str().into(),
                state: record.state,
                deleted: false,
                properties: record.properties.clone(),
                config: Arc::new(config),
            }),
            data: RwLock::new(TableData {
                layout: Arc::new(layout),
                active: Arc::new(Memtable::default()),
                frozen: Vec::new(),
            }),
            time: TableTime::new(record.time_type, record.flushed_time),
            epoch: AtomicU64::new(0),
            row_prefix: OnceLock::new(),
            flushing: FlushTurn::default(),
            structure: Mutex::new(()),
            busy: Mutex::new(Busy::default()),
            idle: Condvar::new(),
            row_locks: std::array::from_fn(|_| Mutex::new(())),
        }
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

    /// Replaces name, state and properties, after the catalog has.
    pub(crate) fn set_status(&self, change: impl FnOnce(&mut TableStatus)) {
        change(&mut self.status.write());
        self.touch();
    }

    /// The properties, read.
    #[must_use]
    pub(crate) fn config(&self) -> Arc<TableConfig> {
        self.status.read().config.clone()
    }

    /// An error unless the table answers.
    pub(crate) fn check_online(&self) -> StoreResult<()> {
        self.context.health.check_open()?;
        let status = self.status.read();
        if status.deleted {
            return Err(Error::not_found("the table was deleted").with("table", &status.name));
        }
        if status.state == TableState::Offline {
            return Err(Error::new(
                ErrorKind::Closed,
                "the table is off-line; bring it back with `table online`",
            )
            .with("table", &status.name));
        }
        Ok(())
    }

    /// An error unless the table exists.
    pub(crate) fn check_exists(&self) -> StoreResult<()> {
        let status = self.status.read();
        if status.deleted {
            return Err(Error::not_found("the table was deleted").with("table", &status.name));
        }
        Ok(())
    }

    /// Makes scans that restart take a new snapshot.
    pub(super) fn touch(&self) {
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// The tablets now.
    #[must_use]
    pub(crate) fn layout(&self) -> Arc<Layout> {
        self.data.read().layout.clone()
    }

    /// What is written and not yet flushed, active and frozen: memory, and the oldest log segment
    /// that still holds some of it.
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

    /// Entries written and not yet flushed.
    #[must_use]
    pub(crate) fn unflushed_entries(&self) -> u64 {
        let data = self.data.read();
        data.frozen
            .iter()
            .chain([&data.active])
            .map(|memtable| memtable.len() as u64)
            .sum()
    }

    /// Whether something in memory is in no log.
    #[must_use]
    pub(crate) fn has_unlogged(&self) -> bool {
        let data = self.data.read();
        data.frozen
            .iter()
            .chain([&data.active])
            .any(|memtable| memtable.has_unlogged())
    }

    /// Bytes that wait to be flushed: everything in memory, and as many as there can be if some of it
    /// is frozen; and bytes that do not wait because a compaction takes them along, which it does
    /// until writers need the room.
    #[must_use]
    pub(crate) fn waiting_to_flush(&self) -> (u64, u64) {
        let context = &self.context;
        let is_taken_along = self.flushing.is_yielding() && !context.pressure.is_waited_for();
        let data = self.data.read();
        let active = data.active.memory() as u64;
        if is_taken_along {
            let is_large = active >= context.options.flush_bytes();
            let frozen = data.frozen.iter().map(|memtable| memtable.memory() as u64);
            return (if is_large { active } else { 0 }, frozen.sum());
        }
        let is_frozen = !data.frozen.is_empty();
        (if is_frozen { u64::MAX } else { active }, 0)
    }

    /// Deletes the table in the catalog by `change`, and from memory. Returns the files that
    /// nobody refers to any more.
    pub(crate) fn delete(
        &self,
        change: impl FnOnce(&mut CatalogTransaction<'_>) -> StoreResult<()>,
    ) -> StoreResult<Vec<FileId>> {
        let committed = {
            let _structure = self.structure.lock();
            let committed = self.context.catalog.transaction(change)?;
            self.set_status(|status| status.deleted = true);
            committed
        };
        // In vain now; one that takes memory along would keep it, counted for nobody.
        self.cancel_compactions();
        let mut data = self.data.write();
        // Readers keep their snapshots; the files go when the last of them is done.
        data.layout = Arc::new(Layout::default());
        drop(data);
        self.drop_memtables();
        Ok(committed.unreferenced)
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        // Read before the data: a change in between makes the snapshot look older than it is,
        // which costs a restart and is never wrong.
        let epoch = self.epoch.load(Ordering::Acquire);
        let data = self.data.read();
        let mut memtables = vec![data.active.snapshot()];
        memtables.extend(data.frozen.iter().rev().map(|memtable| memtable.snapshot()));
        memtables.retain(|memtable| !memtable.is_empty());
        Snapshot {
            layout: data.layout.clone(),
            memtables,
            epoch,
        }
    }

    /// Which bytes of a row stand in the marks of this table's memtables; settled by the first
    /// batch.
    pub(crate) fn row_prefix(&self, batch: &ostrakon_cell::MutationBatch) -> RowPrefix {
        self.row_prefix
            .get_or_init(|| RowPrefix::of_batch(batch))
            .clone()
    }

    /// Makes a committed batch visible. Called in order of sequence by one thread.
    pub(crate) fn publish(&self, run: Arc<Run>, sequence: u64, segment: Option<u64>) {
        // The lock is held while inserting: a memtable that was frozen gets nothing more.
        let data = self.data.read();
        data.active.insert(run, sequence, segment);
        self.touch();
        if data.active.wants_merge() {
            self.context.wakeups.keep.wake();
        }
        if data.active.memory() as u64 >= self.context.options.flush_bytes() {
            self.context.wakeups.flush.wake();
        }
    }

    /// Merges runs of the active memtable.
    pub(crate) fn merge_runs(&self) {
        let active = self.data.read().active.clone();
        active.merge_runs();
    }

    pub(super) fn stacker(&self) -> Stacker {
        let status = self.status.read();
        Stacker {
            config: status.config.clone(),
            registry: self.context.iterators.clone(),
            table: status.name.clone(),
            now_millis: self.context.clock.now_millis(),
        }
    }
}
