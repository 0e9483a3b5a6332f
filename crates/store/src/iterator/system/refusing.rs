//! Tables whose delete markers are an error.

use std::sync::Arc;

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Range, SortedKeyValueIterator,
};

use crate::error::{Error, ErrorKind, StoreResult};

/// Fails when it meets a delete marker: `table.delete.behavior=fail`. Above the visibility filter, so
/// that a marker which the reader may not see does not show by a failure.
pub struct RefusingIterator<I> {
    source: I,
    table: Arc<str>,
}

impl<I: SortedKeyValueIterator> RefusingIterator<I> {
    /// Reads `source`, which hands markers on; `table` is named by the error.
    pub fn new(source: I, table: Arc<str>) -> Self {
        Self { source, table }
    }
}

impl<I: SortedKeyValueIterator + 'static> SortedKeyValueIterator for RefusingIterator<I> {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        let first = out.len();
        let more = self.source.next_batch(out, limit);
        let new = out.slots().get(first..).unwrap_or_default();
        let Some(marker) = new.iter().position(|slot| slot.deleted) else {
            return more;
        };
        out.truncate(first + marker);
        Err(Error::new(
            ErrorKind::Unsupported,
            "the scan met a delete marker, and the table's table.delete.behavior is fail; set it to \
             process to let markers hide what they delete",
        )
        .with("table", &self.table))
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
        let without = MemorySource::boxed(vec![put("a", 9, "new")], 1);
        assert_eq!(
            show(&all(Box::new(refusing(without))).expect("no marker")),
            ["a@9=new"]
        );
    }
}
