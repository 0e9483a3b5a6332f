//! Reads whole rows from a source of batches.

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Range, Result, SortedKeyValueIterator,
};

/// How much is read ahead at once.
const AHEAD: BatchLimit = BatchLimit {
    entries: 4096,
    bytes: 1 << 20,
};
/// Entries that are read ahead after a seek to a later row: more seeks may follow.
const AHEAD_OF_SEEK: usize = 32;

/// A source, and the entries that were read from it and not yet used. A row is always complete in [`batch`](Self::batch).
pub(super) struct Rows {
    source: BoxedIterator,
    pub(super) batch: Batch,
    at: usize,
    exhausted: bool,
    /// Entries that are read ahead next time.
    ahead: usize,
    /// What was sought: the end of the rows, and the columns.
    end: std::ops::Bound<Vec<u8>>,
    columns: ColumnSelection,
}

/// What [`Rows::next`] found.
pub(super) enum Found {
    /// The entries of a row: positions in the batch.
    Row(usize, usize),
    /// More was read; call again.
    Later,
    /// The range has ended.
    End,
}

impl Rows {
    pub(super) fn new(source: BoxedIterator) -> Self {
        Self {
            source,
            batch: Batch::new(),
            at: 0,
            exhausted: true,
            ahead: AHEAD.entries,
            end: std::ops::Bound::Unbounded,
            columns: ColumnSelection::all(),
        }
    }

    /// Moves to the rows that have a part in `range`, each of them as a whole.
    pub(super) fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        self.batch.clear();
        self.at = 0;
        self.exhausted = true;
        self.ahead = AHEAD.entries;
        self.columns.clone_from(columns);
        self.end = match range.end() {
            None => Unbounded,
            // The end may be the very first key of its row: then the row is outside.
            Some(key) if !range.contains_row(&key.row) => Excluded(key.row.clone()),
            Some(key) => Included(key.row.clone()),
        };
        let start = range
            .start()
            .map_or(Unbounded, |key| Included(key.row.as_slice()));
        let rows = Range::rows::<&[u8]>((start, self.end.as_ref().map(Vec::as_slice)));
        self.source.seek(&rows, columns)?;
        self.exhausted = false;
        Ok(())
    }

    /// Passes over the rows before `target`, which comes after the row that was found last.
    pub(super) fn skip_to(&mut self, target: &[u8]) -> Result<()> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let rest = self.batch.slots().get(self.at..).unwrap_or_default();
        self.at += rest.partition_point(|slot| self.batch.bytes(slot.row) < target);
        if self.at < self.batch.len() || self.exhausted {
            return Ok(());
        }
        self.batch.clear();
        self.at = 0;
        self.exhausted = true;
        let is_outside = match &self.end {
            Unbounded => false,
            Included(end) => target > end.as_slice(),
            Excluded(end) => target >= end.as_slice(),
        };
        if is_outside {
            return Ok(());
        }
        let rows = Range::rows::<&[u8]>((Included(target), self.end.as_ref().map(Vec::as_slice)));
        self.source.seek(&rows, &self.columns)?;
        self.exhausted = false;
        self.ahead = AHEAD_OF_SEEK;
        Ok(())
    }

    /// The next row, which is complete.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Found> {
        let slots = self.batch.slots();
        if let Some(first) = slots.get(self.at) {
            let mut row = first.row;
            let mut end = self.at + 1;
            while let Some(slot) = slots.get(end) {
                if slot.row != row {
                    if self.batch.bytes(slot.row) != self.batch.bytes(row) {
                        break;
                    }
                    row = slot.row;
                }
                end += 1;
            }
            if end < slots.len() || self.exhausted {
                let start = self.at;
                self.at = end;
                return Ok(Found::Row(start, end));
            }
        }
        if self.exhausted {
            return Ok(Found::End);
        }
        self.batch.drain_front(self.at);
        self.at = 0;
        let limit = BatchLimit {
            entries: self.batch.len() + self.ahead,
            bytes: self.batch.content_len() + AHEAD.bytes,
        };
        self.ahead = (self.ahead * 2).min(AHEAD.entries);
        self.exhausted = !self.source.next_batch(&mut self.batch, limit)?;
        Ok(Found::Later)
    }

    pub(super) fn copy(&self) -> Self {
        Self::new(self.source.deep_copy())
    }
}

/// Makes entries of a row.
pub(super) trait RowHandler: Clone + Send + 'static {
    /// If neither this row nor the next ones are wanted, puts the first row after it that may be into `target`.
    fn skip(&self, row: &[u8], target: &mut Vec<u8>) -> bool {
        let _ = (row, target);
        false
    }

    /// Appends entries of the row at these positions of `batch` to `out`: those that are `wanted`.
    fn handle(
        &self,
        batch: &Batch,
        positions: std::ops::Range<usize>,
        wanted: &Range,
        out: &mut Batch,
    ) -> Result<()>;
}

/// Handles row by row.
pub(super) struct RowIterator<H> {
    rows: Rows,
    handler: H,
    wanted: Range,
    /// Entries of a row that did not fit any more.
    ready: Batch,
    /// Where rows are passed over to.
    target: Vec<u8>,
    done: bool,
}

impl<H: RowHandler> RowIterator<H> {
    pub(super) fn boxed(source: BoxedIterator, handler: H) -> BoxedIterator {
        Box::new(Self {
            rows: Rows::new(source),
            handler,
            wanted: Range::all(),
            ready: Batch::new(),
            target: Vec::new(),
            done: true,
        })
    }
}

impl<H: RowHandler> SortedKeyValueIterator for RowIterator<H> {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.ready.clear();
        self.done = true;
        self.rows.seek(range, columns)?;
        self.wanted.clone_from(range);
        self.done = false;
        Ok(())
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        loop {
            out.take_within(limit, &mut self.ready)?;
            if !self.ready.is_empty() || out.is_full(limit) {
                return Ok(true);
            }
            if self.done {
                return Ok(false);
            }
            match self.rows.next()? {
                Found::Row(start, _)
                    if self
                        .handler
                        .skip(self.rows.batch.row(start), &mut self.target) =>
                {
                    self.rows.skip_to(&self.target)?;
                }
                Found::Row(start, end) => {
                    self.handler.handle(
                        &self.rows.batch,
                        start..end,
                        &self.wanted,
                        &mut self.ready,
                    )?;
                }
                Found::Later => return Ok(true),
                Found::End => self.done = true,
            }
        }
    }

    fn deep_copy(&self) -> BoxedIterator {
        Self::boxed(self.rows.source.deep_copy(), self.handler.clone())
    }
}
