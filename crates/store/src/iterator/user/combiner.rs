//! The base of all combiners: the versions of a column become one entry.

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, EntryRef, Key, KeyPart, KeyRef, Range,
    SortedKeyValueIterator,
};

use crate::error::StoreResult;
use crate::iterator::copy::Copier;
use crate::iterator::seek::{widened_end, widened_start};

/// Makes one value of many. A clone starts afresh.
pub trait Reduce: Clone + Send + 'static {
    /// A new column begins: forget the one before.
    fn begin(&mut self);

    /// Takes the value of the next version; newer ones come first.
    ///
    /// # Errors
    /// When the value cannot be combined.
    fn add(&mut self, entry: EntryRef<'_>) -> StoreResult<()>;

    /// Appends the combined value to `out`, which is empty.
    fn finish(&mut self, out: &mut Vec<u8>);
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
/// A delete marker is never combined: it passes as it is, and nothing behind it belongs to what
/// came before it. A range that begins or ends among the versions of a column is widened, so that
/// a combined value never lacks a part; the entry is then inside the range or not by its own key.
pub struct Combiner<R> {
    source: BoxedIterator,
    reduce: R,
    combined: Combined,
    look_ahead: Batch,
    at: usize,
    exhausted: bool,
    copier: Copier,
    key: Key,
    value: Vec<u8>,
    /// The range asked for, when the source reads a wider one.
    wanted: Option<Range>,
}

impl<R: Reduce> Combiner<R> {
    /// Combines the `combined` columns of `source`.
    pub fn new(source: BoxedIterator, reduce: R, combined: Combined) -> Self {
        Self {
            source,
            reduce,
            combined,
            look_ahead: Batch::new(),
            at: 0,
            exhausted: true,
            copier: Copier::default(),
            key: Key::default(),
            value: Vec::new(),
            wanted: None,
        }
    }

    /// Makes sure that there is an entry at `self.at`; `false` at the end.
    fn fill(&mut self, limit: BatchLimit) -> StoreResult<bool> {
        while self.at >= self.look_ahead.len() {
            if self.exhausted {
                return Ok(false);
            }
            self.look_ahead.clear();
            self.copier.clear();
            self.at = 0;
            self.exhausted = !self.source.next_batch(&mut self.look_ahead, limit)?;
        }
        Ok(true)
    }

    fn combines(&self, key: KeyRef<'_>) -> bool {
        !key.deleted
            && match &self.combined {
                Combined::All => true,
                Combined::None => false,
                Combined::Columns(columns) => columns.contains_key(key),
            }
    }

    /// Combines the column that begins at `self.at` and appends the outcome, if it is asked for.
    fn combine(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<()> {
        self.key.set(self.look_ahead.key(self.at));
        self.reduce.begin();
        loop {
            self.reduce.add(self.look_ahead.entry(self.at))?;
            self.at += 1;
            if !self.fill(limit)? {
                break;
            }
            let next = self.look_ahead.key(self.at);
            if next.deleted || !next.same(self.key.as_ref(), KeyPart::Visibility) {
                break;
            }
        }
        let asked_for = match &self.wanted {
            None => true,
            Some(wanted) => wanted.contains(self.key.as_ref()),
        };
        if asked_for {
            self.value.clear();
            self.reduce.finish(&mut self.value);
            out.push(self.key.as_ref(), &self.value)?;
        }
        Ok(())
    }
}

impl<R: Reduce> SortedKeyValueIterator for Combiner<R> {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
        self.look_ahead.clear();
        self.at = 0;
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
        // The target may be another batch than last time.
        self.copier.clear();
        while !out.is_full(limit) {
            if !self.fill(limit)? {
                return Ok(false);
            }
            if self.combines(self.look_ahead.key(self.at)) {
                self.combine(out, limit)?;
                continue;
            }
            let asked_for = match &self.wanted {
                None => true,
                Some(wanted) => wanted.contains(self.look_ahead.key(self.at)),
            };
            if asked_for && let Some(slot) = self.look_ahead.slots().get(self.at) {
                self.copier.copy(out, &self.look_ahead, slot)?;
            }
            self.at += 1;
        }
        Ok(true)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self::new(
            self.source.deep_copy(),
            self.reduce.clone(),
            self.combined.clone(),
        ))
    }
}
