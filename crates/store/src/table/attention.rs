//! Which tables the background threads have to check: with ten thousand tables of which one is
//! busy, checking all of them each time would take longer than the work.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::core::TableCore;
use crate::catalog::TableId;

/// The tables of a store by the work that may be due.
#[derive(Default)]
pub(crate) struct Attention(Mutex<Lists>);

#[derive(Default)]
struct Lists {
    tables: HashMap<TableId, Weak<TableCore>>,
    /// Those with unflushed data, by id.
    written: BTreeSet<TableId>,
    /// Those whose files or properties changed since a compaction thread found nothing to do, with
    /// the number of the change.
    changed: HashMap<TableId, u64>,
    changes: u64,
}

impl Attention {
    /// Adds a table of the store.
    pub(super) fn add(&self, id: TableId, table: &Arc<TableCore>) {
        let mut lists = self.0.lock();
        lists.tables.insert(id, Arc::downgrade(table));
        lists.change(id);
    }

    /// The table with that id.
    pub(crate) fn table(&self, id: TableId) -> Option<Arc<TableCore>> {
        self.0.lock().tables.get(&id).and_then(Weak::upgrade)
    }

    /// Removes a table.
    pub(super) fn forget(&self, id: TableId) {
        let mut lists = self.0.lock();
        lists.tables.remove(&id);
        lists.written.remove(&id);
        lists.changed.remove(&id);
    }

    /// Records that a table has unflushed data. Call after a write; cheap if it is recorded
    /// already.
    pub(super) fn written(&self, id: TableId, listed: &AtomicBool) {
        if listed.load(Ordering::SeqCst) {
            return;
        }
        let mut lists = self.0.lock();
        listed.store(true, Ordering::SeqCst);
        lists.written.insert(id);
    }

    /// Records that a table may have to be split or compacted.
    pub(super) fn changed(&self, id: TableId) {
        self.0.lock().change(id);
    }

    /// The tables with unflushed data.
    pub(crate) fn with_memory(&self) -> Vec<Arc<TableCore>> {
        let mut tables: Vec<Arc<TableCore>> = {
            let lists = self.0.lock();
            let table = |id| lists.tables.get(id).and_then(Weak::upgrade);
            lists.written.iter().filter_map(table).collect()
        };
        // Outside of the lock, which is a leaf: it is not taken under another, and no other is
        // taken under it.
        tables.retain(|table| table.has_memory() || !self.is_unlisted(table));
        tables
    }

    /// Removes a table from the list of those with unflushed data, unless it was just written to.
    fn is_unlisted(&self, table: &TableCore) -> bool {
        // In this order: a later write lists the table again.
        table.listed.store(false, Ordering::SeqCst);
        if table.has_memory() {
            self.written(table.id(), &table.listed);
            return false;
        }
        let mut lists = self.0.lock();
        if !table.listed.load(Ordering::SeqCst) {
            lists.written.remove(&table.id());
            return true;
        }
        false
    }

    /// The tables that changed, or all of them, each with the number of its change.
    pub(crate) fn to_compact(&self, all: bool) -> Vec<(Arc<TableCore>, u64)> {
        let lists = self.0.lock();
        let upgrade = |id: &TableId, change: u64| Some((lists.tables.get(id)?.upgrade()?, change));
        let mut found: Vec<_> = if all {
            let change = |id: &TableId| lists.changed.get(id).copied().unwrap_or(0);
            let ids = lists.tables.keys();
            ids.filter_map(|id| upgrade(id, change(id))).collect()
        } else {
            let changed = lists.changed.iter();
            changed
                .filter_map(|(id, change)| upgrade(id, *change))
                .collect()
        };
        // The same order in each pass, independent of the hash.
        found.sort_unstable_by_key(|(table, _)| table.id());
        found
    }

    /// Removes a table from the list of changed ones, unless it changed again.
    pub(crate) fn found_nothing(&self, id: TableId, change: u64) {
        let mut lists = self.0.lock();
        if lists.changed.get(&id) == Some(&change) {
            lists.changed.remove(&id);
        }
    }
}

impl Lists {
    fn change(&mut self, id: TableId) {
        self.changes += 1;
        if self.tables.contains_key(&id) {
            self.changed.insert(id, self.changes);
        }
    }
}
