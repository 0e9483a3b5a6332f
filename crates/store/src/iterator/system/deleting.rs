//! Delete markers.

use std::sync::Arc;

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, IteratorEnvironment, IteratorScope, Range,
    SortedKeyValueIterator,
};

use crate::error::{Error, ErrorKind, StoreResult};
use crate::iterator::filter::read_filtered;
use crate::iterator::seek::{ColumnStart, CurrentColumn, same_column};

/// Applies delete markers: a marker hides the entries of its column (row, family, qualifier and
/// visibility alike) whose timestamp is not above its own.
///
/// Where older entries may lie elsewhere (flushes, compactions of some of a tablet's files) the
/// newest marker of each column is handed on; where nothing older is left it is dropped.
pub struct DeletingIterator<I> {
    source: I,
    propagate: bool,
    /// The table whose markers are an error, if they are.
    refusing: Option<Arc<str>>,
    /// The column of the last marker, when it was the last thing seen in the batch before.
    deleted: CurrentColumn,
    start: ColumnStart,
}

impl<I: SortedKeyValueIterator> DeletingIterator<I> {
    /// Markers are handed on if `propagate`, and dropped otherwise.
    pub fn new(source: I, propagate: bool) -> Self {
        Self {
            source,
            propagate,
            refusing: None,
            deleted: CurrentColumn::default(),
            start: ColumnStart::default(),
        }
    }

    /// Makes every marker an error: `table.delete.behavior=fail` of that table.
    #[must_use]
    pub fn refusing(mut self, table: Option<Arc<str>>) -> Self {
        self.refusing = table;
        self
    }

    /// Whether markers must be handed on there: everywhere but in scans and full major
    /// compactions.
    #[must_use]
    pub fn must_propagate(environment: &IteratorEnvironment) -> bool {
        match environment.scope {
            IteratorScope::Scan => false,
            IteratorScope::Minc => true,
            IteratorScope::Majc => !environment.full_major_compaction,
        }
    }
}

fn has_marker(batch: &Batch, first: usize) -> bool {
    batch
        .slots()
        .get(first..)
        .is_some_and(|new| new.iter().any(|slot| slot.deleted))
}

/// Everything behind a marker in its column is hidden by it: timestamps fall, and a marker comes
/// before the puts of its own timestamp.
fn apply(batch: &mut Batch, first: usize, deleted: &mut CurrentColumn, propagate: bool) {
    let starts_hidden = deleted.is(batch, first);
    if !starts_hidden && !has_marker(batch, first) {
        deleted.forget();
        return;
    }
    let last = batch.len() - 1;
    let mut hidden = starts_hidden;
    // Of the entry before, the slot is still the original one when an entry is asked for.
    let mut decide = |batch: &Batch, at: usize| {
        hidden = if at == first {
            starts_hidden
        } else {
            hidden && same_column(batch, at - 1, at)
        };
        let marker = batch.slots().get(at).is_some_and(|slot| slot.deleted);
        let keep = !hidden && (!marker || propagate);
        hidden |= marker;
        keep
    };
    // The last entry's column is taken down before the batch is cut.
    let mut last_column = std::mem::take(deleted);
    batch.retain_from(first, |batch, at| {
        let keep = decide(batch, at);
        if at == last {
            last_column.remember(batch, at);
        }
        keep
    });
    if !hidden {
        last_column.forget();
    }
    *deleted = last_column;
}

impl<I: SortedKeyValueIterator + 'static> SortedKeyValueIterator for DeletingIterator<I> {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
        self.deleted.forget();
        self.start.seek(&mut self.source, range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        let mut refused = false;
        let more = read_filtered(&mut self.source, out, limit, |batch, first, _| {
            refused = self.refusing.is_some() && has_marker(batch, first);
            apply(batch, first, &mut self.deleted, self.propagate);
            self.start.skip(batch, first);
        });
        match &self.refusing {
            // Not which entry: the reader may not be allowed to know that it was there.
            Some(table) if refused => Err(Error::new(
                ErrorKind::Unsupported,
                "the scan met a delete marker, and the table's table.delete.behavior is fail; set \
                 it to process to let markers hide what they delete",
            )
            .with("table", table)),
            _ => more,
        }
    }

    fn deep_copy(&self) -> BoxedIterator {
        let copy = DeletingIterator::new(self.source.deep_copy(), self.propagate);
        Box::new(copy.refusing(self.refusing.clone()))
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_cell::Key;

    use super::*;
    use crate::iterator::testing::{MemorySource, delete, entry, put, read, read_all, show};

    fn sample(step: usize) -> BoxedIterator {
        MemorySource::boxed(
            vec![
                put("a", 9, "new"),
                delete("a", 7),
                put("a", 7, "gone"),
                delete("a", 6),
                put("a", 5, "gone"),
                put("b", 5, "stays"),
                delete("c", 5),
                put("c", 4, "gone"),
                entry("c", "q", "x", 4, "other label"),
                delete("d", 1),
            ],
            step,
        )
    }

    #[test]
    fn a_marker_hides_what_is_not_newer_in_its_column_alone() {
        for step in 1..=10 {
            assert_eq!(
                read_all(&mut DeletingIterator::new(sample(step), false)),
                ["a@9=new", "b@5=stays", "c@4=other label"]
            );
            assert_eq!(
                read_all(&mut DeletingIterator::new(sample(step), true)),
                [
                    "a@9=new",
                    "a@7-",
                    "b@5=stays",
                    "c@5-",
                    "c@4=other label",
                    "d@1-"
                ]
            );
        }
    }

    #[test]
    fn a_marker_may_be_an_error() {
        let refusing = |source| DeletingIterator::new(source, false).refusing(Some("t".into()));
        let all = |mut iterator: BoxedIterator| {
            read(&mut iterator, &Range::all(), &ColumnSelection::all(), 3)
        };
        let error = all(Box::new(refusing(sample(2)))).expect_err("there is a marker");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let said = error.to_string();
        assert!(
            said.contains("table.delete.behavior") && !said.contains("gone"),
            "{said}"
        );
        all(refusing(sample(2)).deep_copy()).expect_err("a copy is the same");
        let without = MemorySource::boxed(vec![put("a", 9, "new")], 1);
        assert_eq!(
            show(&all(Box::new(refusing(without))).expect("no marker")),
            ["a@9=new"]
        );
    }

    #[test]
    fn a_seek_behind_a_marker_still_obeys_it() {
        let mut iterator = DeletingIterator::new(sample(2), false);
        for (timestamp, inclusive) in [(7, false), (6, true), (5, true)] {
            let key = Key {
                timestamp,
                ..Key::new("a", "f", "q")
            };
            let range = Range::keys(Some(key), inclusive, None, false).expect("sound");
            let found = read(&mut iterator, &range, &ColumnSelection::all(), 2).expect("reads");
            assert_eq!(show(&found), ["b@5=stays", "c@4=other label"]);
        }
    }
}
