//! Which tables the background threads have to look at: with ten thousand tables, one of them busy, looking at all of
//! them again and again would take more time than the work.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::core::TableCore;
use crate::catalog::TableId;

/// The tables of a store by what may have to be done.
#[derive(Default)]
pub(crate) struct Attention(Mutex<Lists>);

#[derive(Default)]
struct Lists {
    tables: HashMap<TableId, Weak<TableCore>>,
    /// Those with something in memory, by id.
    written: BTreeSet<TableId>,
    /// Those of which files or properties changed since a compaction thread found nothing to do, with the number of
    /// the change.
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

    /// Forgets a table.
    pub(super) fn forget(&self, id: TableId) {
        let mut lists = self.0.lock();
        lists.tables.remove(&id);
        lists.written.remove(&id);
        lists.changed.remove(&id);
    }

    /// Notes that something of the table is in memory. Call behind writing; cheap when it is known already.
    pub(super) fn written(&self, id: TableId, listed: &AtomicBool) {
        if listed.load(Ordering::SeqCst) {
            return;
        }
        let mut lists = self.0.lock();
        listed.store(true, Ordering::SeqCst);
        lists.written.insert(id);
    }

    /// Notes that a table may be worth splitting or compacting.
    pub(super) fn changed(&self, id: TableId) {
        self.0.lock().change(id);
    }

    /// The tables with something in memory.
    pub(crate) fn with_memory(&self) -> Vec<Arc<TableCore>> {
        let mut tables: Vec<Arc<TableCore>> = {
            let lists = self.0.lock();
            let table = |id| lists.tables.get(id).and_then(Weak::upgrade);
            lists.written.iter().filter_map(table).collect()
        };
        // Outside of the lock: it is taken under no other, and takes none.
        tables.retain(|table| table.has_memory() || !self.is_unlisted(table));
        tables
    }

    /// Takes a table off the list of those with something in memory, unless it was just written to.
    fn is_unlisted(&self, table: &TableCore) -> bool {
        // In this order: what is written from here on lists the table again.
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
        // The same order in each pass, whatever the hash says.
        found.sort_unstable_by_key(|(table, _)| table.id());
        found
    }

    /// Takes a table off the list of those that changed, unless it changed once more.
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
