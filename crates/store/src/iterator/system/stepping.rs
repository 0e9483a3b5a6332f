//! Reading one entry at a time, to find the one that cannot be read.

use std::sync::Arc;

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Range, SortedKeyValueIterator,
};
use parking_lot::Mutex;

use crate::error::StoreResult;

/// The row of the last entry that passed, if one did; shared by all copies of a stack.
pub type LastRow = Arc<Mutex<Option<Vec<u8>>>>;

/// Hands on single entries and remembers the row of the last one: what fails above it fails at that row.
pub struct SteppingIterator<I> {
    source: I,
    last: LastRow,
}

impl<I: SortedKeyValueIterator> SteppingIterator<I> {
    /// Steps through `source`.
    pub fn new(source: I, last: LastRow) -> Self {
        Self { source, last }
    }
}

impl<I: SortedKeyValueIterator + 'static> SortedKeyValueIterator for SteppingIterator<I> {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        let first = out.len();
        let one = BatchLimit {
            entries: limit.entries.min(first + 1),
            ..limit
        };
        let more = self.source.next_batch(out, one);
        if out.len() > first {
            let mut last = self.last.lock();
            let row = last.get_or_insert_default();
            row.clear();
            row.extend_from_slice(out.row(first));
        }
        more
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(SteppingIterator::new(
            self.source.deep_copy(),
            self.last.clone(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iterator::testing::{MemorySource, put, read_all};

    #[test]
    fn the_last_row_is_remembered() {
        let last = LastRow::default();
        let source = MemorySource::boxed(vec![put("a", 1, ""), put("b", 1, "")], 2);
        let mut stepping = SteppingIterator::new(source, last.clone());
        stepping
            .seek(&Range::all(), &ColumnSelection::all())
            .expect("seeks");
        let mut batch = Batch::new();
        assert_eq!(*last.lock(), None);
        let limit = BatchLimit::default();
        assert!(stepping.next_batch(&mut batch, limit).expect("reads"));
        assert_eq!((batch.len(), last.lock().as_deref()), (1, Some(&b"a"[..])));
        assert_eq!(read_all(&mut stepping), ["a@1=", "b@1="]);
        assert_eq!(last.lock().as_deref(), Some(&b"b"[..]));
    }
}
