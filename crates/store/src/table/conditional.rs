//! Conditional mutations: conditions are checked and mutations written in one step, with one commit
//! per list.
//!
//! The rows of a list are locked, in the same order for all lists, from before the first check
//! until the last write is visible. So conditional writers of one row wait for each other; plain
//! writers do not, as in Accumulo.
//!
//! Mutations are checked in their order, and those whose conditions hold are written as one batch.
//! A mutation with conditions on a row that the batch changes must see that change, so it is
//! deferred until the batch is committed, together with all later mutations of that row: a list
//! takes as many commits as the longest chain of such mutations.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::sync::Arc;

use ostrakon_cell::{
    Authorizations, Batch, BatchLimit, Column, ColumnSelection, Condition, ConditionalMutation,
    ConditionalStatus, Durability, IteratorSetting, Key, MutationBatch, Range, Scan, ScanOptions,
    VisibilityEvaluator,
};
use parking_lot::MutexGuard;

use super::caller::Caller;
use super::core::TableCore;
use super::write::Submitted;
use crate::error::{Error, StoreResult};
use crate::read::SerialScan;

/// Scans kept for later conditions: a list usually has conditions on the same few columns of each
/// row.
const KEPT_SCANS: usize = 8;

impl TableCore {
    /// Checks and writes mutations; returns the statuses in the order of the mutations.
    ///
    /// # Errors
    /// An error before the first commit: nothing was written. Of the first commit: it may have been
    /// written. Later failures are reported as [`ConditionalStatus::Unknown`], next to the known
    /// statuses.
    pub(super) fn write_if(
        self: &Arc<Self>,
        mutations: &[ConditionalMutation],
        authorizations: &Authorizations,
        durability: Option<Durability>,
        caller: &Caller,
    ) -> StoreResult<Vec<ConditionalStatus>> {
        self.writable()?;
        let mut list = List {
            table: self,
            mutations,
            answers: mutations.iter().map(|_| None).collect(),
            durability,
            caller,
            commits: 0,
        };
        let mut open = list.refuse_by_label(authorizations);
        let _rows = self.lock_rows(mutations);
        let mut checker = Checker {
            table: self,
            authorizations,
            scans: Vec::new(),
            found: Batch::new(),
        };
        while !open.is_empty() {
            match list.round(open, &mut checker) {
                Ok(put_off) => open = put_off,
                Err(error) if list.commits == 0 => return Err(error),
                Err(error) => {
                    tracing::warn!(table = %self.status().name, %error, "conditional mutations failed half-way");
                    break;
                }
            }
        }
        let answers = list.answers.into_iter();
        Ok(answers
            .map(|answer| answer.unwrap_or(ConditionalStatus::Unknown))
            .collect())
    }

    /// Locks the rows of a list. By stripes, in ascending order, to avoid deadlocks between lists.
    fn lock_rows(&self, mutations: &[ConditionalMutation]) -> Vec<MutexGuard<'_, ()>> {
        let mut stripes: Vec<usize> = mutations
            .iter()
            .map(|one| {
                let hash = self.row_hasher.hash_one(one.mutation.row());
                hash as usize % self.row_locks.len()
            })
            .collect();
        stripes.sort_unstable();
        stripes.dedup();
        let locks = stripes.iter().filter_map(|at| self.row_locks.get(*at));
        locks.map(|lock| lock.lock()).collect()
    }
}

/// A list that is being written.
struct List<'a> {
    table: &'a Arc<TableCore>,
    mutations: &'a [ConditionalMutation],
    answers: Vec<Option<ConditionalStatus>>,
    durability: Option<Durability>,
    caller: &'a Caller,
    /// Number of committed batches.
    commits: usize,
}

impl List<'_> {
    /// Sets the statuses that follow from labels alone; returns the other mutations.
    fn refuse_by_label(&mut self, authorizations: &Authorizations) -> Vec<usize> {
        let mut visible = VisibilityEvaluator::new(authorizations);
        let mut open = Vec::with_capacity(self.mutations.len());
        for (at, (one, answer)) in self.mutations.iter().zip(&mut self.answers).enumerate() {
            let mut conditions = one.conditions.iter();
            let labels = one.mutation.updates().map(|update| update.visibility);
            if conditions.any(|condition| !visible.evaluate(&condition.visibility).is_visible()) {
                *answer = Some(ConditionalStatus::InvisibleVisibility);
            } else if self.table.labels.check(labels).is_err() {
                *answer = Some(ConditionalStatus::MalformedVisibility);
            } else {
                open.push(at);
            }
        }
        open
    }

    /// Checks mutations and commits those whose conditions hold; returns those that must see them
    /// first.
    fn round(&mut self, open: Vec<usize>, checker: &mut Checker<'_>) -> StoreResult<Vec<usize>> {
        let config = self.table.config();
        let mut batch = MutationBatch::new();
        let (mut accepted, mut put_off) = (Vec::new(), Vec::new());
        let mut written: HashSet<&[u8]> = HashSet::new();
        let mut waiting: HashSet<&[u8]> = HashSet::new();
        for at in open {
            let Some(one) = self.mutations.get(at) else {
                continue;
            };
            let row = one.mutation.row();
            let is_full = !batch.is_empty() && !batch.has_room_for(&one.mutation);
            let must_see = !one.conditions.is_empty() && written.contains(row);
            if must_see || waiting.contains(row) || is_full {
                waiting.insert(row);
                put_off.push(at);
                continue;
            }
            let answer = if checker.hold(row, &one.conditions)? {
                let mut alone = MutationBatch::new();
                alone.push(&one.mutation)?;
                let screened = self.table.screen(&config, alone, self.caller)?;
                if screened.rejections.is_empty() {
                    for mutation in screened.kept.each_mutation() {
                        batch.push_ref(&mutation)?;
                    }
                    written.insert(row);
                    accepted.push(at);
                    // The status is known once it is committed.
                    continue;
                }
                ConditionalStatus::Violated
            } else {
                ConditionalStatus::Rejected
            };
            self.answer(at, answer);
        }
        if !batch.is_empty() {
            let durability = self.durability.unwrap_or(config.durability);
            let submitted = Submitted::new(self.table);
            self.table.writable()?;
            let ticket = self
                .table
                .commit_batch(submitted, batch, durability, self.caller)?;
            ticket.wait()?;
            self.commits += 1;
        }
        for at in accepted {
            self.answer(at, ConditionalStatus::Accepted);
        }
        Ok(put_off)
    }

    fn answer(&mut self, at: usize, status: ConditionalStatus) {
        if let Some(answer) = self.answers.get_mut(at) {
            *answer = Some(status);
        }
    }
}

/// Reads columns for conditions.
struct Checker<'a> {
    table: &'a Arc<TableCore>,
    authorizations: &'a Authorizations,
    scans: Vec<(Asked, SerialScan)>,
    found: Batch,
}

/// The part of conditions that must be equal for a scan to be reused.
#[derive(PartialEq, Eq)]
struct Asked {
    family: Vec<u8>,
    qualifier: Vec<u8>,
    iterators: Vec<IteratorSetting>,
}

impl Checker<'_> {
    fn hold(&mut self, row: &[u8], conditions: &[Condition]) -> StoreResult<bool> {
        for condition in conditions {
            if !self.holds(row, condition)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Seeks exactly the condition's column and compares the first value that the iterators return,
    /// as Accumulo does.
    fn holds(&mut self, row: &[u8], condition: &Condition) -> StoreResult<bool> {
        let range = [exactly(row, condition)?];
        let is_asked = |(asked, _): &(Asked, SerialScan)| {
            asked.family == condition.family
                && asked.qualifier == condition.qualifier
                && asked.iterators == condition.iterators
        };
        let at = match self.scans.iter().position(is_asked) {
            Some(at) => {
                if let Some((_, scan)) = self.scans.get_mut(at) {
                    scan.restart(&range)?;
                }
                at
            }
            None => self.start(condition, &range)?,
        };
        let Some((_, scan)) = self.scans.get_mut(at) else {
            return Err(Error::new(
                crate::error::ErrorKind::Internal,
                "the scan of a condition is missing",
            ));
        };
        let any = scan.next_batch(&mut self.found)?;
        let value = self.found.iter().next().map(|entry| entry.value);
        Ok(value.filter(|_| any) == condition.value.as_deref())
    }

    fn start(&mut self, condition: &Condition, range: &[Range]) -> StoreResult<usize> {
        if self.scans.len() >= KEPT_SCANS {
            self.scans.remove(0);
        }
        let column = Column::new(condition.family.clone(), condition.qualifier.clone());
        let options = ScanOptions {
            columns: ColumnSelection::new([column]),
            authorizations: self.authorizations.clone(),
            iterators: condition.iterators.clone(),
            batch: BatchLimit {
                entries: 1,
                ..BatchLimit::default()
            },
            ..ScanOptions::default()
        };
        let scan = SerialScan::new(self.table.clone(), range, &options)?;
        let asked = Asked {
            family: condition.family.clone(),
            qualifier: condition.qualifier.clone(),
            iterators: condition.iterators.clone(),
        };
        self.scans.push((asked, scan));
        Ok(self.scans.len() - 1)
    }
}

/// The keys that a condition covers: one column with its label, at any timestamp or at one.
fn exactly(row: &[u8], condition: &Condition) -> StoreResult<Range> {
    let key = |timestamp: i64, deleted: bool| Key {
        row: row.to_vec(),
        family: condition.family.clone(),
        qualifier: condition.qualifier.clone(),
        visibility: condition.visibility.clone(),
        timestamp,
        deleted,
    };
    let first = key(condition.timestamp.unwrap_or(i64::MAX), true);
    let last = key(condition.timestamp.unwrap_or(i64::MIN), false);
    Range::keys(Some(first), true, Some(last), true)
}
