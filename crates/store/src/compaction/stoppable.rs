//! A source that fails when its compaction is stopped.

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Range, SortedKeyValueIterator,
};

use super::Cancel;
use crate::error::StoreResult;

/// Fails once its compaction is stopped. Placed below all other iterators, because one of them,
/// such as a combiner that makes one entry of millions, may read for long before it returns a
/// batch.
pub struct StoppableIterator {
    source: BoxedIterator,
    cancel: Cancel,
}

impl StoppableIterator {
    /// Reads `source` until `cancel` is triggered.
    #[must_use]
    pub fn new(source: BoxedIterator, cancel: Cancel) -> Self {
        Self { source, cancel }
    }
}

impl SortedKeyValueIterator for StoppableIterator {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
        self.cancel.check()?;
        self.cancel.step();
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        self.cancel.check()?;
        self.cancel.step();
        self.source.next_batch(out, limit)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self::new(self.source.deep_copy(), self.cancel.clone()))
    }
}
