//! The base of all combiners, which make one entry from the versions of a column.

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, EntryRef, Key, Range, SortedKeyValueIterator,
};

use crate::error::StoreResult;
use crate::iterator::seek::{same_column, widened_end, widened_start};

/// Combines several values into one. A clone starts with fresh state.
pub trait Reduce: Clone + Send + 'static {
    /// Begins a new column: resets the state.
    fn begin(&mut self);

    /// Takes the value of the next version; newer ones come first.
    ///
    /// # Errors
    /// When the value cannot be combined.
    fn add(&mut self, entry: EntryRef<'_>) -> StoreResult<()>;

    /// Appends the combined value to `out`, which is empty.
    fn finish(&mut self, out: &mut Vec<u8>);

    /// Whether `value`, as the only one of its column, certainly combines to the same bytes, so
    /// that it need not be changed. `false` is always correct.
    fn keeps(&self, _value: &[u8]) -> bool {
        false
    }
}

/// Which columns a [`Combiner`] combines.
#[derive(Debug, Clone)]
pub enum Combined {
    /// Every column.
    All,
    /// None: entries pass as they are.
    None,
    /// These.
    Columns(ColumnSelection),
}

/// Combines the versions of each column (row, family, qualifier and visibility alike) into one
/// entry with the key of the newest.
///
/// A delete marker is never combined: it passes as it is, and entries after it are not combined
/// with those before it. A range that begins or ends among the versions of a column is widened, so
/// that a combined value is always complete; then the key of the combined entry decides whether it
/// is inside the range.
///
/// It works in place in the output batch, where the source has put its entries: an unchanged entry
/// costs one comparison with its neighbour and no copy. The last column of a batch is held back
/// until it is known that no version of it follows.
pub struct Combiner<R> {
    source: BoxedIterator,
    reduce: R,
    combined: Combined,
    exhausted: bool,
    /// The entry held back from the previous batch; its key and value are in `key` and `value`.
    held: Option<Held>,
    key: Key,
    value: Vec<u8>,
    /// The requested range, when the source reads a wider one.
    wanted: Option<Range>,
    /// Positions of entries to be removed from the batch, ascending.
    dropped: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    /// A column whose values so far are in `reduce`; `value` is unused.
    Begun,
    /// An unchanged entry.
    Entry,
}

impl<R: Reduce> Combiner<R> {
    /// Combines the `combined` columns of `source`.
    pub fn new(source: BoxedIterator, reduce: R, combined: Combined) -> Self {
        Self {
            source,
            reduce,
            combined,
            exhausted: true,
            held: None,
            key: Key::default(),
            value: Vec::new(),
            wanted: None,
            dropped: Vec::new(),
        }
    }

    /// Returns the entry held back, lets the source append, and combines.
    fn read(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<()> {
        let first = out.len();
        let held = self.held;
        match held {
            None => {}
            Some(Held::Begun) => out.push(self.key.as_ref(), &[])?,
            Some(Held::Entry) => out.push(self.key.as_ref(), &self.value)?,
        }
        self.held = None;
        let mut read = Ok(());
        if !self.exhausted {
            // The entry held back may have filled the batch: without one more entry it could never
            // be completed.
            let room = BatchLimit {
                entries: limit.entries.max(out.len() + 1),
                bytes: limit.bytes.max(out.content_len() + 1),
            };
            match self.source.next_batch(out, room) {
                Ok(more) => self.exhausted = !more,
                Err(error) => read = Err(error),
            }
        }
        self.dropped.clear();
        let begun = held == Some(Held::Begun);
        let combined = self.combine(out, first, begun, limit.entries);
        let mut dropped = self.dropped.iter().copied().peekable();
        if let Some(&first) = dropped.peek() {
            out.retain_from(first, |_, at| dropped.next_if_eq(&at).is_none());
        }
        // Of two errors the first one in key order.
        combined.and(read)
    }

    /// Combines the columns from position `first` on in place; `begun` says that the values of the
    /// first one are in `reduce` already. At most `entries` stay.
    fn combine(
        &mut self,
        out: &mut Batch,
        first: usize,
        mut begun: bool,
        entries: usize,
    ) -> StoreResult<()> {
        let mut at = first;
        while at < out.len() {
            let combines = begun || self.combined.takes(out, at);
            let mut end = at + 1;
            while combines && end < out.len() && continues(out, end) {
                end += 1;
            }
            let is_last = end == out.len();
            let holds = is_last && (!self.exhausted || at - self.dropped.len() >= entries);
            let stays = !combines || (!begun && end == at + 1 && self.reduce.keeps(out.value(at)));
            if holds || !stays {
                if let Err(error) = self.fold(out, at..end, combines, begun, holds) {
                    // Nothing from here on is returned, and a retry meets the same value.
                    out.truncate(at);
                    return Err(error);
                }
                if holds {
                    out.truncate(at);
                    return Ok(());
                }
            }
            if self
                .wanted
                .as_ref()
                .is_some_and(|wanted| !wanted.contains(out.key(at)))
            {
                self.dropped.push(at);
            }
            self.dropped.extend(at + 1..end);
            begun = false;
            at = end;
        }
        Ok(())
    }

    /// Combines the entries of a column into one: in place of its first one, or in `self` if it is
    /// to be held back.
    fn fold(
        &mut self,
        out: &mut Batch,
        column: std::ops::Range<usize>,
        combines: bool,
        begun: bool,
        holds: bool,
    ) -> StoreResult<()> {
        if !combines {
            self.hold_entry(out, column.start);
            return Ok(());
        }
        if !begun {
            self.reduce.begin();
        }
        for at in column.start + usize::from(begun)..column.end {
            if let Err(error) = self.reduce.add(out.entry(at)) {
                self.hold_entry(out, at);
                return Err(error);
            }
        }
        if holds {
            self.key.set(out.key(column.start));
            self.held = Some(Held::Begun);
            return Ok(());
        }
        self.value.clear();
        self.reduce.finish(&mut self.value);
        if let Err(error) = out.set_value(column.start, &self.value) {
            self.key.set(out.key(column.start));
            self.held = Some(Held::Entry);
            return Err(error);
        }
        Ok(())
    }

    fn hold_entry(&mut self, out: &Batch, at: usize) {
        self.key.set(out.key(at));
        self.value.clear();
        self.value.extend_from_slice(out.value(at));
        self.held = Some(Held::Entry);
    }
}

impl Combined {
    #[inline]
    fn takes(&self, batch: &Batch, at: usize) -> bool {
        let Some(slot) = batch.slots().get(at) else {
            return false;
        };
        !slot.deleted
            && match self {
                Self::All => true,
                Self::None => false,
                Self::Columns(columns) => {
                    columns.contains(batch.bytes(slot.family), batch.bytes(slot.qualifier))
                }
            }
    }
}

/// Whether entry `at` is a further version of the previous entry's column.
#[inline]
fn continues(batch: &Batch, at: usize) -> bool {
    same_column(batch, at - 1, at) && batch.slots().get(at).is_some_and(|slot| !slot.deleted)
}

impl<R: Reduce> SortedKeyValueIterator for Combiner<R> {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
        self.held = None;
        self.exhausted = true;
        let wider_start = widened_start(range)?;
        let wider_end = widened_end(wider_start.as_ref().unwrap_or(range))?;
        match wider_end.or(wider_start) {
            None => {
                self.wanted = None;
                self.source.seek(range, columns)?;
            }
            Some(wide) => {
                self.wanted = Some(range.clone());
                self.source.seek(&wide, columns)?;
            }
        }
        self.exhausted = false;
        Ok(())
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        let first = out.len();
        while !out.is_full(limit) {
            if self.exhausted && self.held.is_none() {
                return Ok(false);
            }
            self.read(out, limit)?;
            if out.len() > first {
                break;
            }
        }
        Ok(!self.exhausted || self.held.is_some())
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self::new(
            self.source.deep_copy(),
            self.reduce.clone(),
            self.combined.clone(),
        ))
    }
}
