//! Seeking into the middle of a column.
//!
//! Deletes, versions and combined values depend on the *newer* entries of a column. An iterator
//! that is sought to a position after these must read them all the same: it seeks to the start of
//! the column and then removes the entries before the range.

use ostrakon_cell::{
    Batch, ColumnSelection, Key, KeyPart, Range, Slot, SortedKeyValueIterator, same_bytes,
};

use crate::error::StoreResult;

/// The entries between the start of a column and the start of the requested range, which are still
/// to be skipped.
#[derive(Debug, Default)]
pub(super) struct ColumnStart {
    wanted: Option<Range>,
}

impl ColumnStart {
    /// Seeks `source` to the start of the column in which `range` starts. Allocates only if that is
    /// not where `range` starts anyway.
    pub(super) fn seek(
        &mut self,
        source: &mut impl SortedKeyValueIterator,
        range: &Range,
        columns: &ColumnSelection,
    ) -> StoreResult<()> {
        self.wanted = None;
        match widened_start(range)? {
            None => source.seek(range, columns),
            Some(wide) => {
                self.wanted = Some(range.clone());
                source.seek(&wide, columns)
            }
        }
    }

    /// Removes the entries before the range from the batch's entries from `first` on.
    pub(super) fn skip(&mut self, batch: &mut Batch, first: usize) {
        let Some(range) = &self.wanted else { return };
        batch.retain_from(first, |batch, at| !range.before_start(batch.key(at)));
        if batch.len() > first {
            self.wanted = None;
        }
    }
}

/// `range` with its start moved to the start of its column, or `None` if it starts there already.
pub(super) fn widened_start(range: &Range) -> StoreResult<Option<Range>> {
    let Some(start) = range.start() else {
        return Ok(None);
    };
    if start.timestamp == i64::MAX && start.deleted && range.start_inclusive() {
        return Ok(None);
    }
    let mut wide = start.clone();
    wide.timestamp = i64::MAX;
    wide.deleted = true;
    Range::keys(
        Some(wide),
        true,
        range.end().cloned(),
        range.end_inclusive(),
    )
    .map(Some)
}

/// A buffer for an iterator's present column, kept across batches.
#[derive(Debug, Default)]
pub(super) struct CurrentColumn {
    key: Key,
    set: bool,
}

impl CurrentColumn {
    pub(super) fn forget(&mut self) {
        self.set = false;
    }

    /// Whether a column is stored.
    #[inline]
    pub(super) fn is_set(&self) -> bool {
        self.set
    }

    /// Whether entry `at` is of the stored column.
    pub(super) fn is(&self, batch: &Batch, at: usize) -> bool {
        self.set && batch.key(at).same(self.key.as_ref(), KeyPart::Visibility)
    }

    pub(super) fn remember(&mut self, batch: &Batch, at: usize) {
        self.key.set(batch.key(at));
        self.set = true;
    }
}

/// Whether two entries of one batch are of the same column of the same row.
#[inline]
pub(super) fn same_column(batch: &Batch, a: usize, b: usize) -> bool {
    let (Some(a), Some(b)) = (batch.slots().get(a), batch.slots().get(b)) else {
        return false;
    };
    are_of_one_column(batch, a, b)
}

#[inline]
fn are_of_one_column(batch: &Batch, a: &Slot, b: &Slot) -> bool {
    // Equal spans need no comparison of bytes, and a label has one id per batch.
    let same = |a, b| a == b || same_bytes(batch.bytes(a), batch.bytes(b));
    a.visibility == b.visibility
        && same(a.qualifier, b.qualifier)
        && same(a.row, b.row)
        && same(a.family, b.family)
}

/// Whether some column has several entries from position `first` on. Most batches have none, and this is faster than a
/// decision about each entry.
pub(super) fn has_versions(batch: &Batch, first: usize) -> bool {
    let slots = batch.slots().get(first..).unwrap_or_default();
    let mut pairs = slots.iter().zip(slots.iter().skip(1));
    pairs.any(|(a, b)| are_of_one_column(batch, a, b))
}

/// `range` with its end moved to the end of its column, or `None` if no column is cut.
pub(super) fn widened_end(range: &Range) -> StoreResult<Option<Range>> {
    let Some(end) = range.end() else {
        return Ok(None);
    };
    if end.timestamp == i64::MAX && end.deleted && !range.end_inclusive() {
        return Ok(None);
    }
    Range::keys(
        range.start().cloned(),
        range.start_inclusive(),
        Some(end.following(KeyPart::Visibility)),
        false,
    )
    .map(Some)
}
