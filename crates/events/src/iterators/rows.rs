//! Reads whole rows from a source of batches.

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Range, Result, SortedKeyValueIterator,
};

/// How much is read ahead at once.
const AHEAD: BatchLimit = BatchLimit {
    entries: 4096,
    bytes: 1 << 20,
};

/// A source, and the entries that were read from it and not yet used. A row is always complete in [`batch`](Self::batch).
pub(super) struct Rows {
    source: BoxedIterator,
    pub(super) batch: Batch,
    at: usize,
    exhausted: bool,
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
        }
    }

    /// Moves to the rows that have a part in `range`, each of them as a whole.
    pub(super) fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        self.batch.clear();
        self.at = 0;
        self.exhausted = true;
        let rows = Range::rows::<&[u8]>((
            range
                .start()
                .map_or(Unbounded, |key| Included(key.row.as_slice())),
            match range.end() {
                None => Unbounded,
                // The end may be the very first key of its row: then the row is outside.
                Some(key) if !range.contains_row(&key.row) => Excluded(key.row.as_slice()),
                Some(key) => Included(key.row.as_slice()),
            },
        ));
        self.source.seek(&rows, columns)?;
        self.exhausted = false;
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
            entries: self.batch.len() + AHEAD.entries,
            bytes: self.batch.content_len() + AHEAD.bytes,
        };
        self.exhausted = !self.source.next_batch(&mut self.batch, limit)?;
        Ok(Found::Later)
    }

    pub(super) fn copy(&self) -> Self {
        Self::new(self.source.deep_copy())
    }
}

/// Makes entries of a row.
pub(super) trait RowHandler: Clone + Send + 'static {
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
    done: bool,
}

impl<H: RowHandler> RowIterator<H> {
    pub(super) fn boxed(source: BoxedIterator, handler: H) -> BoxedIterator {
        Box::new(Self {
            rows: Rows::new(source),
            handler,
            wanted: Range::all(),
            ready: Batch::new(),
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
