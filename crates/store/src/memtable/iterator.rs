//! Reads a memtable in key order.

use std::cmp::Ordering;
use std::sync::Arc;

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, KeyRef, Range, SortedKeyValueIterator,
};

use super::run::Run;
use super::table::MemtableSnapshot;
use crate::error::StoreResult;

/// Merges the runs of a [`MemtableSnapshot`].
///
/// A binary heap of run heads, compared by eight row bytes first; the batch bytes are read only on
/// ties and when an entry is returned.
pub struct MemtableIterator {
    snapshot: MemtableSnapshot,
    /// Heads of the runs that are not exhausted, as a binary min-heap.
    heap: Vec<Head>,
    /// Taken off the heap, and returned up to `given`: a batch may be full before all of them are.
    picked: Vec<(u32, u32)>,
    given: usize,
}

/// The next update of one run.
#[derive(Clone, Copy)]
struct Head {
    row: u64,
    /// Index in the snapshot: lower is newer.
    run: u32,
    at: u32,
    end: u32,
}

/// Entries picked before any is copied, so that their cache misses overlap.
const PICK: usize = 64;

impl MemtableIterator {
    /// An iterator over `snapshot`, to be sought first.
    #[must_use]
    pub fn new(snapshot: MemtableSnapshot) -> Self {
        Self {
            snapshot,
            heap: Vec::new(),
            picked: Vec::with_capacity(PICK),
            given: 0,
        }
    }

    fn run(&self, run: u32) -> &Arc<Run> {
        &self.snapshot.runs()[run as usize]
    }

    /// Whether `a` comes before `b`.
    fn precedes(&self, a: &Head, b: &Head) -> StoreResult<bool> {
        if a.row != b.row {
            return Ok(a.row < b.row);
        }
        let (left, _) = self.run(a.run).entry(a.at as usize)?;
        let (right, _) = self.run(b.run).entry(b.at as usize)?;
        Ok(match left.cmp(&right) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => a.run < b.run,
        })
    }

    fn sift_down(&mut self, mut at: usize) -> StoreResult<()> {
        let head = self.heap[at];
        loop {
            let mut child = 2 * at + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len()
                && self.precedes(&self.heap[child + 1], &self.heap[child])?
            {
                child += 1;
            }
            if !self.precedes(&self.heap[child], &head)? {
                break;
            }
            self.heap[at] = self.heap[child];
            at = child;
        }
        self.heap[at] = head;
        Ok(())
    }

    /// Picks up to `most` of the next entries; returns whether there was one.
    fn pick(&mut self, most: usize) -> StoreResult<bool> {
        let mut picked = std::mem::take(&mut self.picked);
        picked.clear();
        while picked.len() < most.min(PICK) {
            let Some(place) = self.pop()? else { break };
            picked.push(place);
        }
        let mut touched = 0;
        for &(run, at) in &picked {
            touched ^= self.run(run).touch(at as usize);
        }
        std::hint::black_box(touched);
        self.picked = picked;
        self.given = 0;
        Ok(!self.picked.is_empty())
    }

    /// Pops the smallest head; returns its run and position.
    fn pop(&mut self) -> StoreResult<Option<(u32, u32)>> {
        let Some(&top) = self.heap.first() else {
            return Ok(None);
        };
        let next = top.at + 1;
        if next < top.end {
            let row = self.run(top.run).row_mark(next as usize);
            self.heap[0] = Head {
                row,
                at: next,
                ..top
            };
            self.sift_down(0)?;
        } else {
            self.heap.swap_remove(0);
            if !self.heap.is_empty() {
                self.sift_down(0)?;
            }
        }
        Ok(Some((top.run, top.at)))
    }
}

impl SortedKeyValueIterator for MemtableIterator {
    fn seek(&mut self, range: &Range, _columns: &ColumnSelection) -> StoreResult<()> {
        self.heap.clear();
        self.picked.clear();
        self.given = 0;
        for (index, run) in self.snapshot.runs().iter().enumerate() {
            let before_start = |key: KeyRef<'_>| range.before_start(key);
            let not_after_end = |key: KeyRef<'_>| !range.after_end(key);
            let at = match range.start() {
                Some(start) => run.lower_bound(&start.row, before_start)?,
                None => 0,
            };
            let end = match range.end() {
                Some(end) => run.lower_bound_from(at, &end.row, not_after_end)?,
                None => run.len(),
            };
            if at < end {
                let row = run.row_mark(at);
                self.heap.push(Head {
                    row,
                    run: index as u32,
                    at: at as u32,
                    end: end as u32,
                });
            }
        }
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(at)?;
        }
        Ok(())
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        loop {
            while let Some(&(run, at)) = self.picked.get(self.given) {
                // Checked before each entry: a few large values fill a batch.
                if out.is_full(limit) {
                    return Ok(true);
                }
                let (key, value) = self.run(run).entry(at as usize)?;
                out.push(key, value)?;
                self.given += 1;
            }
            if out.is_full(limit) {
                return Ok(true);
            }
            if !self.pick(limit.entries - out.len())? {
                return Ok(false);
            }
        }
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self::new(self.snapshot.clone()))
    }
}
