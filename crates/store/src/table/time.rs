//! Timestamps that the table sets.
//!
//! # The rule
//! Of two writes of one column whose timestamps the table sets, the one that was stamped later
//! wins: a put hides earlier puts, a delete hides them too, and no put is hidden by an earlier
//! delete.
//!
//! A table's time never goes back, and entries with equal keys are read newest first. So two
//! updates of one column may share a *tick* (a millisecond, or a count) in every order but one: a
//! delete sorts before the puts of its timestamp and hides them, including those that came after
//! it. Such a put must be stamped at least one tick after its delete:
//!
//! * Within a batch, where nothing between two updates is ever seen, everything up to the last delete
//!   of a column takes the batch's tick, and what follows that delete the next one (the update is
//!   *late*, a bit in its encoding). So a batch takes two ticks at most.
//! * Between batches, the columns deleted in the current tick are remembered by their hashes. A put of
//!   one of them is stamped one tick later. Two columns with one hash cost a tick and nothing else.
//! * What cannot be remembered closes the tick: more deletes than [`REMEMBERED`], deletes of an import,
//!   and those before the store was opened. The next batch begins a new one.
//!
//! A writer can end a tick ([`Table::advance_time`](ostrakon_cell::Table::advance_time)).
//!
//! Time runs ahead of the clock only while one column is deleted and put again more than once a
//! millisecond, while more than [`REMEMBERED`] columns are deleted in each, or while writers end ticks
//! as fast; it waits for the clock afterwards.
//!
//! Explicit timestamps are the writer's: they move no time, and a delete hides equal and lower ones.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher};

use hashbrown::{DefaultHashBuilder, HashTable};
use ostrakon_cell::mutation::read_update;
use ostrakon_cell::{MutationBatch, TimeType, UpdateRef};
use parking_lot::Mutex;

use crate::clock::Clock;

/// Limit of the deletes remembered per tick: eight million per second before time runs ahead.
const REMEMBERED: usize = 8192;

/// The latest time that an import can set. Entries above it are treated like explicit timestamps:
/// one such entry must not use up all later times of a table.
const LATEST_IMPORTED: i64 = i64::MAX - (1 << 40);

/// The time of one table: monotonic milliseconds, or a counter.
///
/// At `i64::MAX` time stands still: of two puts the later still wins, but a put no longer overrides
/// a delete. Only a clock that is wrong by 292 million years can lead there.
#[derive(Debug)]
pub(crate) struct TableTime {
    time_type: TimeType,
    hasher: DefaultHashBuilder,
    ticks: Mutex<Ticks>,
}

#[derive(Debug)]
struct Ticks {
    /// The last timestamp that was issued.
    last: i64,
    /// Whether `last` may be issued again: `deleted` has every delete stamped with it.
    open: bool,
    /// Hashes of the columns that were deleted at `last`.
    deleted: HashSet<u64, AsItIs>,
}

/// The updates of a batch with deletes, as far as their order matters; without explicit timestamps.
#[derive(Default)]
struct Updates {
    /// Hashes of the columns that the batch deletes.
    deleted: Vec<u64>,
    /// Offsets of the puts that follow the last delete of their column in the batch.
    late: Vec<u32>,
    /// Hashes and offsets of the puts whose column is not deleted in the batch.
    free: Vec<(u64, u32)>,
}

impl TableTime {
    /// A time that has issued `last` before. The columns deleted at `last` are unknown.
    #[must_use]
    pub(crate) fn new(time_type: TimeType, last: i64) -> Self {
        Self {
            time_type,
            hasher: DefaultHashBuilder::default(),
            ticks: Mutex::new(Ticks {
                last,
                open: false,
                deleted: HashSet::default(),
            }),
        }
    }

    /// Source of the timestamps.
    #[must_use]
    pub(crate) fn time_type(&self) -> TimeType {
        self.time_type
    }

    /// Stamps a batch: returns its timestamp, and marks the updates that need the next one.
    ///
    /// Costs one lock, unless the batch deletes or something was deleted in this tick.
    pub(crate) fn stamp(&self, clock: &dyn Clock, batch: &mut MutationBatch) -> i64 {
        batch.clear_late();
        let mut updates = batch
            .has_server_deletes()
            .then(|| Updates::of(batch, &self.hasher));
        loop {
            let mut ticks = self.ticks.lock();
            let stamp = ticks.begin(self.time_type, clock);
            match &mut updates {
                Some(updates) => {
                    ticks.settle(updates);
                    drop(ticks);
                    for offset in &updates.late {
                        batch.mark_late(*offset);
                    }
                    return stamp;
                }
                None if ticks.deleted.is_empty() => return stamp,
                // Hashing may take long, so it happens outside the lock.
                None => {
                    drop(ticks);
                    updates = Some(Updates::of(batch, &self.hasher));
                }
            }
        }
    }

    /// Ends the current tick: the next batch begins a new one.
    pub(crate) fn advance(&self) {
        let mut ticks = self.ticks.lock();
        let last = ticks.last;
        ticks.pass(last);
    }

    /// Advances time beyond `timestamp`, which an import brought.
    pub(crate) fn advance_to(&self, timestamp: i64) {
        self.ticks.lock().pass(timestamp.min(LATEST_IMPORTED));
    }

    /// Advances time beyond a batch of the log that was stamped with `timestamp`.
    pub(crate) fn replayed(&self, timestamp: i64, batch: &MutationBatch) {
        let newest = timestamp.saturating_add(i64::from(batch.has_late()));
        self.ticks.lock().pass(newest);
    }

    /// The last timestamp that was issued.
    #[must_use]
    pub(crate) fn last(&self) -> i64 {
        self.ticks.lock().last
    }
}

impl Ticks {
    /// Moves to the tick of the next batch.
    fn begin(&mut self, time_type: TimeType, clock: &dyn Clock) -> i64 {
        let next = self.last.saturating_add(1);
        let tick = match time_type {
            TimeType::Logical => next,
            TimeType::Millis if self.open => clock.now_millis().max(self.last),
            TimeType::Millis => clock.now_millis().max(next),
        };
        if tick > self.last || !self.open {
            self.deleted.clear();
        }
        self.last = tick;
        self.open = true;
        tick
    }

    /// Decides which updates are late in this tick, and records the columns deleted in it.
    fn settle(&mut self, updates: &mut Updates) {
        if !self.deleted.is_empty() {
            let known = updates.free.drain(..);
            let again = known.filter(|(column, _)| self.deleted.contains(column));
            updates.late.extend(again.map(|(_, offset)| offset));
        }
        if !updates.late.is_empty() {
            self.last = self.last.saturating_add(1);
            self.deleted.clear();
        } else if self.deleted.len() + updates.deleted.len() > REMEMBERED {
            self.open = false;
            self.deleted.clear();
        } else {
            self.deleted.extend(updates.deleted.iter().copied());
        }
    }

    /// Prevents any further timestamp up to `timestamp`.
    fn pass(&mut self, timestamp: i64) {
        if timestamp >= self.last {
            self.last = timestamp;
            self.open = false;
        }
    }
}

impl Updates {
    fn of(batch: &MutationBatch, hasher: &DefaultHashBuilder) -> Self {
        let mut updates = Self::default();
        // The offset of the last delete of each column.
        let mut last_deletes: HashTable<u32> = HashTable::new();
        let hash_at = |offset: &u32| match read_update(batch.encoded(), *offset as usize) {
            Some((update, _)) => column_hash(hasher, &update),
            None => 0,
        };
        let is_of = |offset: u32, column: &UpdateRef<'_>| {
            read_update(batch.encoded(), offset as usize)
                .is_some_and(|(update, _)| same_column(&update, column))
        };
        let set_by_table = || batch.updates().filter(|(_, one)| one.timestamp.is_none());
        if batch.has_server_deletes() {
            for (offset, update) in set_by_table().filter(|(_, update)| update.deleted) {
                let hash = column_hash(hasher, &update);
                let known = last_deletes.find_mut(hash, |known| is_of(*known, &update));
                if let Some(last) = known {
                    *last = offset;
                } else {
                    last_deletes.insert_unique(hash, offset, hash_at);
                    updates.deleted.push(hash);
                }
            }
        }
        for (offset, update) in set_by_table().filter(|(_, update)| !update.deleted) {
            let hash = column_hash(hasher, &update);
            match last_deletes.find(hash, |known| is_of(*known, &update)) {
                Some(last) if *last < offset => updates.late.push(offset),
                // Hidden by a delete that follows.
                Some(_) => {}
                None => updates.free.push((hash, offset)),
            }
        }
        updates
    }
}

fn column_hash(hasher: &DefaultHashBuilder, update: &UpdateRef<'_>) -> u64 {
    let mut state = hasher.build_hasher();
    for part in [
        update.row,
        update.family,
        update.qualifier,
        update.visibility,
    ] {
        state.write_usize(part.len());
        state.write(part);
    }
    state.finish()
}

fn same_column(a: &UpdateRef<'_>, b: &UpdateRef<'_>) -> bool {
    a.row == b.row
        && a.family == b.family
        && a.qualifier == b.qualifier
        && a.visibility == b.visibility
}

/// Hashes are their own hashes.
#[derive(Debug, Clone, Copy, Default)]
struct AsItIs(u64);

impl BuildHasher for AsItIs {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        *self
    }
}

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use std::time::Duration;

    use ostrakon_cell::{ColumnUpdate, Mutation};

    use super::*;
    use crate::clock::ManualClock;

    /// A batch from words such as `+a` (put of row a) and `-a` (delete), with one mutation per
    /// word.
    fn batch(words: &str) -> MutationBatch {
        let mut batch = MutationBatch::new();
        for word in words.split_whitespace() {
            let (sign, row) = word.split_at(1);
            let update = ColumnUpdate {
                value: (sign == "+").then_some(&b"v"[..]),
                ..ColumnUpdate::default()
            };
            batch.put(row.as_bytes(), update).unwrap();
        }
        batch
    }

    fn stamps(time: &TableTime, clock: &ManualClock, words: &str) -> Vec<i64> {
        let mut batch = batch(words);
        let stamp = time.stamp(clock, &mut batch);
        let updates = batch.updates();
        updates
            .map(|(_, update)| update.timestamp_in(stamp))
            .collect()
    }

    #[test]
    fn puts_share_a_tick_and_those_that_follow_a_delete_do_not() {
        let clock = ManualClock::new(100);
        let time = TableTime::new(TimeType::Millis, 0);
        assert_eq!(stamps(&time, &clock, "+a +a +b"), [100, 100, 100]);
        assert_eq!(stamps(&time, &clock, "-a"), [100]);
        assert_eq!(stamps(&time, &clock, "+b -c"), [100, 100]);
        assert_eq!(stamps(&time, &clock, "+a +b"), [101, 100]);
        assert_eq!(time.last(), 101);
        // The clock is earlier than the table's time; nothing was deleted in the new tick.
        assert_eq!(stamps(&time, &clock, "+c"), [101]);
        clock.set_millis(50);
        assert_eq!(stamps(&time, &clock, "+c -c +c -c"), [101; 4]);
        assert_eq!(stamps(&time, &clock, "+c -b +c"), [102, 101, 102]);
        time.advance();
        assert_eq!(stamps(&time, &clock, "+c"), [103]);
        time.advance();
        clock.set_millis(110);
        assert_eq!(stamps(&time, &clock, "-c"), [110]);
        clock.advance(Duration::from_millis(1));
        assert_eq!(stamps(&time, &clock, "+c"), [111]);
    }

    #[test]
    fn a_batch_takes_two_ticks_at_most() {
        for (time_type, first) in [(TimeType::Millis, 100), (TimeType::Logical, 8)] {
            let clock = ManualClock::new(100);
            let time = TableTime::new(time_type, 7);
            let many = "+a -a +b -b +a -a +a -b -c +b +b +d";
            let next = first + 1;
            assert_eq!(
                stamps(&time, &clock, many),
                [
                    first, first, first, first, first, first, next, first, first, next, next, first
                ]
            );
            assert_eq!(time.last(), next);
        }
    }

    #[test]
    fn every_part_of_the_column_counts_and_explicit_timestamps_do_not() {
        let clock = ManualClock::new(100);
        let time = TableTime::new(TimeType::Millis, 0);
        let mut mutation = Mutation::new("r");
        mutation
            .delete("ab", "c")
            .unwrap()
            .put("a", "bc", "v")
            .unwrap();
        let labelled = ColumnUpdate {
            family: b"ab",
            qualifier: b"c",
            visibility: b"x",
            value: Some(b"v"),
            ..ColumnUpdate::default()
        };
        let explicit = ColumnUpdate {
            visibility: b"",
            timestamp: Some(100),
            ..labelled
        };
        mutation.update(labelled).unwrap().update(explicit).unwrap();
        let explicit_delete = ColumnUpdate {
            timestamp: Some(100),
            family: b"e",
            ..ColumnUpdate::default()
        };
        mutation
            .update(explicit_delete)
            .unwrap()
            .put("e", "", "v")
            .unwrap();
        let mut all = MutationBatch::new();
        all.push(&mutation).unwrap();
        time.stamp(&clock, &mut all);
        assert!(!all.has_late());
        // And in the next batch of the tick.
        let mut all = MutationBatch::new();
        let mut again = Mutation::new("r");
        again.update(labelled).unwrap().put("e", "", "v").unwrap();
        all.push(&again).unwrap();
        assert_eq!((time.stamp(&clock, &mut all), all.has_late()), (100, false));
    }

    #[test]
    fn deletes_of_many_columns_do_not_make_time_run_ahead() {
        let clock = ManualClock::new(1_000);
        let time = TableTime::new(TimeType::Millis, 0);
        for millisecond in 0..50 {
            // A million per second, together with puts of other rows.
            for part in 0..10 {
                let words: Vec<String> = (0..100)
                    .map(|row| format!("-d{millisecond}.{part}.{row} +p{row}"))
                    .collect();
                let stamps = stamps(&time, &clock, &words.join(" "));
                assert!(stamps.iter().all(|stamp| *stamp == 1_000 + millisecond));
            }
            clock.advance(Duration::from_millis(1));
        }
        // Each time the limit is reached costs one tick.
        let before = time.last();
        for part in 0..10 {
            let words: Vec<String> = (0..2_000).map(|row| format!("-e{part}.{row}")).collect();
            stamps(&time, &clock, &words.join(" "));
            assert!(time.ticks.lock().deleted.len() <= REMEMBERED);
        }
        assert!(
            (1..=4).contains(&(time.last() - before)),
            "{}",
            time.last() - before
        );
        assert!(stamps(&time, &clock, "+e0.0")[0] > before);
    }

    #[test]
    fn deletes_above_the_limit_close_the_tick() {
        let clock = ManualClock::new(100);
        let time = TableTime::new(TimeType::Millis, 100);
        assert_eq!(stamps(&time, &clock, "+a"), [101]);
        time.advance_to(200);
        assert_eq!(stamps(&time, &clock, "+a"), [201]);
        time.advance_to(150);
        assert_eq!(stamps(&time, &clock, "+a"), [201]);
        let mut replayed = batch("-a +a");
        time.replayed(300, &replayed);
        assert_eq!(stamps(&time, &clock, "+a"), [301]);
        let offset = replayed.updates().nth(1).unwrap().0;
        replayed.mark_late(offset);
        time.replayed(301, &replayed);
        assert_eq!(stamps(&time, &clock, "+a"), [303]);
    }

    #[test]
    fn time_saturates_at_its_maximum() {
        for time_type in [TimeType::Millis, TimeType::Logical] {
            let clock = ManualClock::new(i64::MAX);
            let time = TableTime::new(time_type, i64::MAX);
            assert_eq!(stamps(&time, &clock, "-a +a"), [i64::MAX; 2]);
            assert_eq!(stamps(&time, &clock, "+a"), [i64::MAX]);
            // An import alone does not lead there.
            let clock = ManualClock::new(0);
            let time = TableTime::new(time_type, 0);
            time.advance_to(i64::MAX);
            let first = LATEST_IMPORTED + 1;
            assert_eq!(stamps(&time, &clock, "-a +a"), [first, first + 1]);
        }
    }
}
