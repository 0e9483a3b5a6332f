//! The memtable of one table.

use std::sync::Arc;

use ostrakon_cell::{KeyRef, MutationBatch};
use parking_lot::Mutex;

use super::run::{RowPrefix, Run};
use crate::error::StoreResult;

/// Number of runs of one level that are merged into one of the next.
const FAN_IN: usize = 16;

/// Number of updates from which on a memtable keeps its prefix. Until then its runs are marked
/// again when a shorter prefix is needed, which is fast for few updates.
const SETTLED: usize = 32 << 10;

/// The unflushed writes of a table.
///
/// Levels hold runs, oldest first; runs of a higher level are older than all of a lower one.
#[derive(Default)]
pub struct Memtable {
    /// Its position in the order of the table's data.
    age: u64,
    state: Mutex<State>,
    /// Serializes merges: one thread merges while others write and read.
    merging: Mutex<()>,
}

#[derive(Default)]
struct State {
    levels: Vec<Vec<Arc<Run>>>,
    updates: usize,
    memory: usize,
    last_sequence: u64,
    first_segment: Option<u64>,
    unlogged: bool,
    /// The prefix of all runs; `None` before the first.
    prefix: Option<RowPrefix>,
    /// The common prefix of all rows, for the next memtable.
    shared: Option<RowPrefix>,
}

/// The immutable state of a memtable that a scan sees.
#[derive(Clone, Default)]
pub struct MemtableSnapshot {
    /// Newest first.
    runs: Vec<Arc<Run>>,
}

impl Memtable {
    /// An empty memtable; `age` is its position in the order of the table's data.
    #[must_use]
    pub fn new(age: u64) -> Self {
        Self {
            age,
            ..Self::default()
        }
    }

    /// An empty memtable that replaces another. It skips the common prefix of the other's rows, as
    /// far as its own rows share it.
    #[must_use]
    pub fn following(other: &Self, age: u64) -> Self {
        let shared = other.state.lock().shared.clone();
        Self {
            age,
            state: Mutex::new(State {
                prefix: shared,
                ..State::default()
            }),
            merging: Mutex::default(),
        }
    }

    /// Its position in the order of the table's data.
    #[must_use]
    pub fn age(&self) -> u64 {
        self.age
    }

    /// The prefix that a run of `batch` should have to be inserted without changes.
    #[must_use]
    pub fn prefix_for(&self, batch: &MutationBatch) -> RowPrefix {
        let known = self.state.lock().prefix.clone();
        known.unwrap_or_else(|| RowPrefix::of_batch(batch))
    }

    /// Adds a committed run. `segment` is the log segment that holds it, if any.
    ///
    /// # Errors
    /// An internal error: the run's marks do not point at updates.
    pub fn insert(&self, run: Arc<Run>, sequence: u64, segment: Option<u64>) -> StoreResult<()> {
        let shared = run.shared_prefix()?;
        let mut state = self.state.lock();
        let run = state.agree_on_prefix(run, &shared)?;
        state.updates += run.len();
        state.memory += run.memory();
        state.last_sequence = state.last_sequence.max(sequence);
        if let Some(segment) = segment
            && state.first_segment.is_none()
        {
            state.first_segment = Some(segment);
        }
        state.unlogged |= segment.is_none();
        if state.levels.is_empty() {
            state.levels.push(Vec::new());
        }
        state.levels[0].push(run);
        Ok(())
    }

    /// Number of updates.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state.lock().updates
    }

    /// Whether nothing was written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.state.lock().memory
    }

    /// Sequence of the last batch.
    #[must_use]
    pub fn last_sequence(&self) -> u64 {
        self.state.lock().last_sequence
    }

    /// The oldest log segment with a batch of this memtable.
    #[must_use]
    pub fn first_segment(&self) -> Option<u64> {
        self.state.lock().first_segment
    }

    /// Whether some of it is in no log.
    #[must_use]
    pub fn has_unlogged(&self) -> bool {
        self.state.lock().unlogged
    }

    /// The present content.
    #[must_use]
    pub fn snapshot(&self) -> MemtableSnapshot {
        let state = self.state.lock();
        let runs = state
            .levels
            .iter()
            .flat_map(|level| level.iter().rev().cloned())
            .collect();
        MemtableSnapshot { runs }
    }

    /// Whether [`merge_runs`](Self::merge_runs) has work.
    #[must_use]
    pub fn wants_merge(&self) -> bool {
        self.state
            .lock()
            .levels
            .iter()
            .any(|level| level.len() >= FAN_IN)
    }

    /// Merges full levels. Writers and readers are not blocked.
    pub fn merge_runs(&self) {
        let Some(_guard) = self.merging.try_lock() else {
            return;
        };
        loop {
            let (level, oldest) = {
                let state = self.state.lock();
                let Some(level) = state.levels.iter().position(|runs| runs.len() >= FAN_IN) else {
                    return;
                };
                (level, state.levels[level][..FAN_IN].to_vec())
            };
            let merged = Arc::new(Run::merge(&oldest));
            let mut state = self.state.lock();
            if state.prefix.as_ref() != Some(merged.prefix()) {
                // The runs got another prefix meanwhile.
                continue;
            }
            if state.levels.len() == level + 1 {
                state.levels.push(Vec::new());
            }
            state.levels[level].drain(..FAN_IN);
            state.levels[level + 1].push(merged);
        }
    }
}

impl State {
    /// Agrees on a prefix for a run to be added, whose rows all begin with `shared`, and the
    /// present runs.
    fn agree_on_prefix(&mut self, run: Arc<Run>, shared: &RowPrefix) -> StoreResult<Arc<Run>> {
        let all = match &self.shared {
            Some(before) => before.shared_with(shared.bytes()),
            None => shared.clone(),
        };
        let prefix = match &self.prefix {
            None => all.clone(),
            Some(known) if self.updates < SETTLED => known.shared_with(all.bytes()),
            Some(known) => known.clone(),
        };
        if self.prefix.as_ref() != Some(&prefix) {
            for level in &mut self.levels {
                for run in level {
                    *run = Arc::new(run.with_prefix(&prefix)?);
                }
            }
        }
        let run = if *run.prefix() == prefix {
            run
        } else {
            Arc::new(run.with_prefix(&prefix)?)
        };
        self.prefix = Some(prefix);
        self.shared = Some(all);
        Ok(run)
    }
}

impl MemtableSnapshot {
    /// The runs, newest first.
    #[must_use]
    pub fn runs(&self) -> &[Arc<Run>] {
        &self.runs
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Entries in the rows up to `end` (inclusive; `None` for all), and an estimate of the bytes
    /// they hold.
    pub fn count_up_to(&self, end: Option<&[u8]>) -> StoreResult<(u64, u64)> {
        let (mut entries, mut bytes) = (0, 0);
        for run in &self.runs {
            let count = match end {
                None => run.len(),
                Some(row) => run.lower_bound(row, |key| key.row <= row)?,
            };
            entries += count as u64;
            bytes += (run.memory() as u128 * count as u128 / run.len().max(1) as u128) as u64;
        }
        Ok((entries, bytes))
    }

    /// The newest timestamp of its entries; `None` if there are none.
    #[must_use]
    pub fn newest(&self) -> Option<i64> {
        self.runs.iter().filter_map(|run| run.newest()).max()
    }

    /// Memory of its runs, in bytes.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.runs.iter().map(|run| run.memory() as u64).sum()
    }

    /// The row of every `step`th entry after row `after` and up to row `through` (`None`: from the
    /// beginning, to the end), counted run by run, each with the bytes of the entries it
    /// represents, assuming they are as long as it. In no order. A row is shortened if the
    /// shortened row is still greater than the previous one in its run.
    pub fn sample(
        &self,
        step: u64,
        after: Option<&[u8]>,
        through: Option<&[u8]>,
    ) -> StoreResult<Vec<(Vec<u8>, u64)>> {
        let step = (step as usize).max(1);
        let memory = self.memory();
        let mut rows = Vec::new();
        // Distance to the next one, carried over to the next run.
        let mut ahead = step / 2;
        for run in &self.runs {
            let position = |row: &[u8]| run.lower_bound(row, |key| key.row <= row);
            let begin = after.map_or(Ok(0), position)?;
            let mut at = begin;
            let end = through.map_or(Ok(run.len()), position)?;
            while at < end {
                if end - at <= ahead {
                    ahead -= end - at;
                    break;
                }
                at += ahead;
                let (key, value) = run.entry(at)?;
                let needed = if at > begin {
                    let before = run.entry(at - 1)?.0.row;
                    let common = key.row.iter().zip(before).take_while(|(a, b)| a == b);
                    key.row.len().min(common.count() + 1)
                } else {
                    // Shortened, it might sort before all others.
                    key.row.len()
                };
                let stands_for = entry_bytes(&key, value).saturating_mul(step as u64);
                // It may be a large one among small ones.
                let bytes = stands_for.min(memory);
                rows.push((key.row[..needed].to_vec(), bytes));
                ahead = step;
            }
        }
        Ok(rows)
    }

    /// Rows that cut the content into at most `pieces` pieces, judging by the longest run;
    /// ascending.
    #[must_use]
    pub fn middle_rows(&self, pieces: usize) -> Vec<Vec<u8>> {
        let Some(longest) = self.runs.iter().max_by_key(|run| run.len()) else {
            return Vec::new();
        };
        let mut rows: Vec<Vec<u8>> = (1..pieces)
            .filter_map(|piece| longest.entry(longest.len() * piece / pieces).ok())
            .map(|(key, _)| key.row.to_vec())
            .collect();
        rows.dedup();
        rows
    }
}

/// Bytes of an entry's key and value.
#[must_use]
pub fn entry_bytes(key: &KeyRef<'_>, value: &[u8]) -> u64 {
    let column = key.family.len() + key.qualifier.len() + key.visibility.len();
    (key.row.len() + column + size_of_val(&key.timestamp) + value.len()) as u64
}
