//! Counting entries as they pass.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Range, SortedKeyValueIterator,
};

use crate::error::StoreResult;

/// Counts the entries that passed one point of a stack; shared by all its copies, and by the code
/// that reports it.
#[derive(Debug, Default)]
pub struct EntryCounter {
    entries: AtomicU64,
    seeks: AtomicU64,
}

impl EntryCounter {
    /// Entries so far.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries.load(Ordering::Relaxed)
    }

    /// Seeks so far.
    #[must_use]
    pub fn seeks(&self) -> u64 {
        self.seeks.load(Ordering::Relaxed)
    }
}

/// Adds what passes through it to an [`EntryCounter`], once a batch.
pub struct CountingIterator<I> {
    source: I,
    counter: Arc<EntryCounter>,
}

impl<I: SortedKeyValueIterator> CountingIterator<I> {
    /// Counts what `source` hands out.
    pub fn new(source: I, counter: Arc<EntryCounter>) -> Self {
        Self { source, counter }
    }
}

impl<I: SortedKeyValueIterator + 'static> SortedKeyValueIterator for CountingIterator<I> {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
        self.counter.seeks.fetch_add(1, Ordering::Relaxed);
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        let first = out.len();
        let more = self.source.next_batch(out, limit);
        let passed = out.len().saturating_sub(first);
        if passed > 0 {
            self.counter
                .entries
                .fetch_add(passed as u64, Ordering::Relaxed);
        }
        more
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(CountingIterator::new(
            self.source.deep_copy(),
            Arc::clone(&self.counter),
        ))
    }
}
