//! The timestamps that a table sets: the one place that knows the rule.
//!
//! A table's time never goes back. Of a batch the updates up to the last delete of their column get
//! the batch's time, and a put that follows it the next one; so does a put of a column that was
//! deleted at the batch's time before. What is stamped after an import is later than all of it. A source may also begin
//! with a later time, which is observed.

use std::collections::{BTreeSet, HashMap};

use ostrakon_cell::{Key, MutationBatch, TimeType, UpdateRef};

/// An import moves time to here at the most: it must not leave a table without a later time.
const LATEST_IMPORTED: i64 = i64::MAX - (1 << 40);

/// The time of one table.
#[derive(Debug, Clone)]
pub(super) struct TableTime {
    pub(super) time_type: TimeType,
    /// The newest timestamp of what was written: no later one may be lower.
    floor: i64,
    /// The timestamp given out last, to a batch that was lost perhaps.
    last: i64,
    /// The columns deleted at that timestamp.
    deleted: BTreeSet<Key>,
    /// Whether that timestamp came with an import, or was ended: the next one is later.
    imported: bool,
}

impl TableTime {
    pub(super) fn new(time_type: TimeType) -> Self {
        Self {
            time_type,
            floor: 0,
            last: 0,
            deleted: BTreeSet::new(),
            imported: false,
        }
    }

    /// The lowest time that the table may give to a batch.
    pub(super) fn lowest(&self, now_millis: i64) -> i64 {
        self.lowest_after(self.last, now_millis)
    }

    fn lowest_after(&self, last: i64, now_millis: i64) -> i64 {
        match self.time_type {
            TimeType::Millis => now_millis.max(last.saturating_add(i64::from(self.imported))),
            TimeType::Logical => last + 1,
        }
    }

    /// The source was opened again after a crash: time goes on from `newest`, the newest that the table set and that
    /// is there, and no batch shares a time with one before. Whether what is not there was lost or deleted before
    /// nobody can see.
    pub(super) fn reopen(&mut self, newest: i64) {
        self.floor = self.floor.min(newest);
        self.last = self.floor;
        self.imported = false;
        self.deleted.clear();
    }

    /// What was imported has this for its latest timestamp.
    pub(super) fn import(&mut self, newest: i64) {
        let newest = newest.min(LATEST_IMPORTED);
        if newest >= self.last {
            self.last = newest;
            self.floor = newest;
            self.imported = true;
            self.deleted.clear();
        }
    }

    /// What is stamped from now on is later.
    pub(super) fn advance(&mut self) {
        self.imported = true;
        self.deleted.clear();
    }

    /// What was stamped last is written.
    pub(super) fn keep(&mut self) {
        self.floor = self.floor.max(self.last);
    }

    /// Checks a time that a source gave to a batch.
    pub(super) fn check(&self, now_millis: i64, given: i64) -> Result<(), String> {
        let last = self.floor;
        let lowest = self.lowest_after(last, now_millis);
        if given < lowest {
            return Err(format!(
                "the table set the time {given}, below {lowest}: the clock shows {now_millis}, the \
                 last one was {last}"
            ));
        }
        Ok(())
    }

    /// The times of the updates of a batch that begins at `begin`.
    pub(super) fn stamp(&mut self, begin: i64, batch: &MutationBatch) -> Vec<i64> {
        if begin != self.last {
            self.deleted.clear();
        }
        self.imported = false;
        let mut last_delete = HashMap::new();
        for (at, update) in batch.updates() {
            if update.deleted && update.timestamp.is_none() {
                last_delete.insert(column(&update), at);
            }
        }
        let mut times = Vec::with_capacity(batch.len());
        let mut newest = begin;
        for (at, update) in batch.updates() {
            let column = column(&update);
            let is_late = update.timestamp.is_none()
                && !update.deleted
                && match last_delete.get(&column) {
                    Some(delete) => *delete < at,
                    None => self.deleted.contains(&column),
                };
            let time = begin + i64::from(is_late);
            newest = newest.max(time);
            times.push(time);
        }
        if newest > begin {
            self.deleted.clear();
        } else {
            self.deleted.extend(last_delete.into_keys());
        }
        self.last = newest;
        times
    }
}

fn column(update: &UpdateRef<'_>) -> Key {
    Key {
        visibility: update.visibility.to_vec(),
        ..Key::new(update.row, update.family, update.qualifier)
    }
}
