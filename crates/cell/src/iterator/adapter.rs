//! Adapts iterators that work on one entry at a time to a stack that works on batches.

use super::{BoxedIterator, SortedKeyValueIterator};
use crate::{Batch, BatchLimit, ColumnSelection, EntryRef, Range, Result};

/// An iterator over single entries: the simple way to write a custom one. Reads its source through
/// a [`BatchCursor`](crate::BatchCursor).
pub trait EntryIterator: Send {
    /// As [`SortedKeyValueIterator::seek`].
    ///
    /// # Errors
    /// Those of the source.
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()>;

    /// The current entry, or `None` at the end.
    fn top(&self) -> Option<EntryRef<'_>>;

    /// Moves to the next entry; only called while there is a [`top`](Self::top).
    ///
    /// # Errors
    /// Those of the source.
    fn advance(&mut self) -> Result<()>;

    /// As [`SortedKeyValueIterator::deep_copy`].
    fn deep_copy(&self) -> Box<dyn EntryIterator>;
}

/// Makes a [`SortedKeyValueIterator`] of an [`EntryIterator`].
pub struct EntryAdapter(Box<dyn EntryIterator>);

impl EntryAdapter {
    /// Wraps `inner`.
    #[must_use]
    pub fn new(inner: Box<dyn EntryIterator>) -> Self {
        Self(inner)
    }
}

impl SortedKeyValueIterator for EntryAdapter {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.0.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        while !out.is_full(limit) {
            let Some(entry) = self.0.top() else {
                return Ok(false);
            };
            out.push(entry.key, entry.value)?;
            self.0.advance()?;
        }
        Ok(true)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self(self.0.deep_copy()))
    }
}

impl std::fmt::Debug for EntryAdapter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EntryAdapter").finish_non_exhaustive()
    }
}
