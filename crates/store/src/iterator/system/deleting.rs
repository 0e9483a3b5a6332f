//! Delete markers.

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, IteratorEnvironment, IteratorScope, Range,
    SortedKeyValueIterator,
};

use crate::error::StoreResult;
use crate::iterator::filter::read_filtered;
use crate::iterator::seek::{ColumnStart, CurrentColumn, same_column};

/// Applies delete markers: a marker hides the entries of its column (row, family, qualifier and
/// visibility alike) whose timestamp is not greater than its own.
///
/// Where older entries may be in other files (flushes, compactions of some of a tablet's files) the
/// newest marker of each column is passed on; otherwise it is dropped.
pub struct DeletingIterator<I> {
    source: I,
    propagate: bool,
    /// The column of the last marker, if the previous batch ended inside that column.
    deleted: CurrentColumn,
    start: ColumnStart,
}

impl<I: SortedKeyValueIterator> DeletingIterator<I> {
    /// Markers are passed on if `propagate`, and dropped otherwise.
    pub fn new(source: I, propagate: bool) -> Self {
        Self {
            source,
            propagate,
            deleted: CurrentColumn::default(),
            start: ColumnStart::default(),
        }
    }

    /// Whether markers must be passed on: everywhere except in scans and full major compactions.
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

/// A marker hides all later entries of its column: timestamps descend, and a marker comes before
/// the puts of its own timestamp.
fn apply(batch: &mut Batch, first: usize, deleted: &mut CurrentColumn, propagate: bool) {
    let starts_hidden = deleted.is(batch, first);
    if !starts_hidden && !has_marker(batch, first) {
        deleted.forget();
        return;
    }
    let last = batch.len() - 1;
    let mut hidden = starts_hidden;
    // The previous slot is still unchanged when an entry is checked.
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
    // The last entry's column is saved before the batch is truncated.
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
        read_filtered(&mut self.source, out, limit, |batch, first, _| {
            apply(batch, first, &mut self.deleted, self.propagate);
            self.start.skip(batch, first);
        })
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(DeletingIterator::new(
            self.source.deep_copy(),
            self.propagate,
        ))
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
