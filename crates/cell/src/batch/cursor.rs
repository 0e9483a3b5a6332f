//! Reads a stream of batches one entry at a time.

use crate::{Batch, BatchLimit, ColumnSelection, EntryRef, Range, Result, SortedKeyValueIterator};

/// Iterates over an iterator's batches entry by entry, for code that works on one entry at a time.
pub struct BatchCursor<I> {
    source: I,
    batch: Batch,
    at: usize,
    limit: BatchLimit,
    exhausted: bool,
}

impl<I: SortedKeyValueIterator> BatchCursor<I> {
    /// A cursor that reads nothing until it is [sought](Self::seek).
    pub fn new(source: I, limit: BatchLimit) -> Self {
        Self {
            source,
            batch: Batch::new(),
            at: 0,
            limit,
            exhausted: true,
        }
    }

    /// Moves to the first entry of `range`.
    ///
    /// # Errors
    /// Those of the source.
    pub fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.source.seek(range, columns)?;
        self.batch.clear();
        self.at = 0;
        self.exhausted = false;
        self.fill()
    }

    /// The current entry, or `None` at the end.
    #[must_use]
    pub fn top(&self) -> Option<EntryRef<'_>> {
        (self.at < self.batch.len()).then(|| self.batch.entry(self.at))
    }

    /// Moves to the next entry.
    ///
    /// # Errors
    /// Those of the source.
    pub fn advance(&mut self) -> Result<()> {
        self.at += 1;
        if self.at >= self.batch.len() {
            self.fill()
        } else {
            Ok(())
        }
    }

    /// The iterator underneath.
    #[must_use]
    pub fn source(&self) -> &I {
        &self.source
    }

    fn fill(&mut self) -> Result<()> {
        self.batch.clear();
        self.at = 0;
        while self.batch.is_empty() && !self.exhausted {
            self.exhausted = !self.source.next_batch(&mut self.batch, self.limit)?;
        }
        Ok(())
    }
}

impl<I> std::fmt::Debug for BatchCursor<I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchCursor")
            .field("at", &self.at)
            .field("entries", &self.batch.len())
            .finish_non_exhaustive()
    }
}
