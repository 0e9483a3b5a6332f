//! Tables whose delete markers are an error.

use std::sync::Arc;

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Range, SortedKeyValueIterator,
};

use crate::error::{Error, ErrorKind, StoreResult};

/// Fails when it meets a delete marker: `table.delete.behavior=fail`. Above the visibility filter, so
/// that a marker which the reader may not see does not show by a failure.
///
/// It fails before it hands on anything of the marker's row. Otherwise the number of entries of the row that come before
/// the error would depend on how far the iterators above read ahead, hence on whether older versions of their columns were
/// compacted away, hence on compactions that hidden entries cause. So the rest of a row is read twice if it does not end
/// within a batch.
pub struct RefusingIterator<I> {
    source: I,
    table: Arc<str>,
    range: Range,
    columns: ColumnSelection,
    /// Reads the rest of a row ahead. Made when it is first needed.
    scout: Option<BoxedIterator>,
    /// The last row that was read ahead: it has no marker.
    passed: Option<Vec<u8>>,
}

impl<I: SortedKeyValueIterator> RefusingIterator<I> {
    /// Reads `source`, which hands markers on; `table` is named by the error.
    pub fn new(source: I, table: Arc<str>) -> Self {
        Self {
            source,
            table,
            range: Range::all(),
            columns: ColumnSelection::all(),
            scout: None,
            passed: None,
        }
    }

    /// Whether a marker follows the entry `last` of `batch` in its row.
    fn marker_follows(&mut self, batch: &Batch, last: usize) -> StoreResult<bool> {
        let row = batch.row(last);
        if self.passed.as_deref() == Some(row) {
            return Ok(false);
        }
        let rest = self.range.after(batch.key(last));
        if let Some(rest) = rest.and_then(|rest| rest.clip(&Range::row(row))) {
            let scout = self.scout.get_or_insert_with(|| self.source.deep_copy());
            scout.seek(&rest, &self.columns)?;
            let mut ahead = Batch::new();
            loop {
                ahead.clear();
                let more = scout.next_batch(&mut ahead, BatchLimit::default())?;
                if ahead.slots().iter().any(|slot| slot.deleted) {
                    return Ok(true);
                }
                if !more {
                    break;
                }
            }
        }
        self.passed = Some(row.to_vec());
        Ok(false)
    }

    fn refuse(&self) -> Error {
        Error::new(
            ErrorKind::Unsupported,
            "the scan met a delete marker, and the table's table.delete.behavior is fail; set it to \
             process to let markers hide what they delete",
        )
        .with("table", &self.table)
    }
}

/// The first of the entries from `first` on that is of the row of the entry `at`.
fn start_of_row(batch: &Batch, first: usize, at: usize) -> usize {
    let row = batch.row(at);
    (first..at)
        .rev()
        .take_while(|before| batch.row(*before) == row)
        .last()
        .unwrap_or(at)
}

impl<I: SortedKeyValueIterator + 'static> SortedKeyValueIterator for RefusingIterator<I> {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
        self.range.clone_from(range);
        self.columns.clone_from(columns);
        self.passed = None;
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        let first = out.len();
        let more = self.source.next_batch(out, limit);
        let new = out.slots().get(first..).unwrap_or_default();
        let at_fault = match new.iter().position(|slot| slot.deleted) {
            Some(marker) => Some(first + marker),
            None if new.is_empty() || !matches!(more, Ok(true)) => None,
            None => {
                let last = out.len() - 1;
                self.marker_follows(out, last)?.then_some(last)
            }
        };
        let Some(at_fault) = at_fault else {
            return more;
        };
        out.truncate(start_of_row(out, first, at_fault));
        Err(self.refuse())
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(RefusingIterator::new(
            self.source.deep_copy(),
            self.table.clone(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iterator::system::DeletingIterator;
    use crate::iterator::testing::{MemorySource, delete, put, read, show};

    #[test]
    fn a_marker_may_be_an_error() {
        let sample = || MemorySource::boxed(vec![put("a", 9, "new"), delete("a", 7)], 2);
        let refusing =
            |source| RefusingIterator::new(DeletingIterator::new(source, true), "t".into());
        let all = |mut iterator: BoxedIterator| {
            read(&mut iterator, &Range::all(), &ColumnSelection::all(), 3)
        };
        let error = all(Box::new(refusing(sample()))).expect_err("there is a marker");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let said = error.to_string();
        assert!(said.contains("table.delete.behavior"), "{said}");
        all(refusing(sample()).deep_copy()).expect_err("a copy is the same");
        // Nothing of its row comes before the error, whatever the batches are.
        for step in 1..=5 {
            let rows = vec![
                put("a", 1, ""),
                put("b", 4, ""),
                put("b", 3, ""),
                put("b", 2, ""),
                delete("b", 1),
                put("c", 1, ""),
            ];
            let source = DeletingIterator::new(MemorySource::boxed(rows, step), true);
            let mut refusing = RefusingIterator::new(source, "t".into());
            refusing
                .seek(&Range::all(), &ColumnSelection::all())
                .expect("seeks");
            let mut given = Batch::new();
            let limit = BatchLimit {
                entries: step,
                ..BatchLimit::default()
            };
            let mut limits = (1..).map(|turn| BatchLimit {
                entries: limit.entries * turn,
                ..limit
            });
            let ends = limits.find_map(|limit| refusing.next_batch(&mut given, limit).err());
            assert_eq!(ends.map(|error| error.kind()), Some(ErrorKind::Unsupported));
            assert_eq!(given.len(), 1, "in steps of {step}");
        }
        let without = MemorySource::boxed(vec![put("a", 9, "new")], 1);
        assert_eq!(
            show(&all(Box::new(refusing(without))).expect("no marker")),
            ["a@9=new"]
        );
    }
}
