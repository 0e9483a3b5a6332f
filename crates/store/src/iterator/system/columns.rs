//! Column selection.

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Key, Range, Slot, SortedKeyValueIterator,
    Span,
};

use crate::error::StoreResult;
use crate::iterator::first_wanted;

/// After this many unselected entries of one row the source is sought to the position after them.
/// Up to that, reading on costs less.
const STEPS: usize = 256;

/// Keeps the columns the seek asked for. Sources may leave out others already; this decides.
///
/// Between wanted columns of one row it reads a few entries and then seeks, for sources that leave out nothing.
pub struct ColumnFilter<I> {
    source: I,
    wanted: ColumnSelection,
    /// What was sought.
    range: Range,
    /// The key passed last, and how many of its row were passed in a row.
    last: Key,
    passed: usize,
}

impl<I: SortedKeyValueIterator> ColumnFilter<I> {
    /// Filters `source`.
    pub fn new(source: I) -> Self {
        Self {
            source,
            wanted: ColumnSelection::all(),
            range: Range::all(),
            last: Key::default(),
            passed: 0,
        }
    }

    /// Counts entries from position `first` on, as if none of them were wanted. `true` when it is time to seek.
    fn pass(&mut self, batch: &Batch, first: usize) -> bool {
        let (Some(last), Some(count)) =
            (batch.len().checked_sub(1), batch.len().checked_sub(first))
        else {
            return false;
        };
        let key = batch.key(last);
        if self.passed == 0 || batch.row(first) != self.last.row || key.row != self.last.row {
            // The row of the last entry counts from here on, as far as that is known without looking.
            let same_row = batch.row(first) == key.row;
            self.passed = if same_row { count } else { 1 };
        } else {
            self.passed += count;
        }
        self.last.set(key);
        self.passed >= STEPS
    }

    /// Seeks to the next selected column after the last entry passed.
    fn seek_on(&mut self) -> StoreResult<bool> {
        self.passed = 0;
        if !first_wanted(&self.wanted, &mut self.last) {
            return Ok(true);
        }
        if self.range.after_end(self.last.as_ref()) {
            return Ok(false);
        }
        let rest = Range::keys(
            Some(self.last.clone()),
            true,
            self.range.end().cloned(),
            self.range.end_inclusive(),
        )?;
        self.source.seek(&rest, &self.wanted)?;
        Ok(true)
    }
}

/// A range of one row without the part before the first and after the last selected column; `None`
/// for others.
fn narrowed(range: &Range, wanted: &ColumnSelection) -> StoreResult<Option<Range>> {
    let one_row = match (range.start(), range.end()) {
        (Some(start), Some(end)) if start.row == end.row => Some(start.row.as_slice()),
        _ => range.as_row(),
    };
    let (Some(row), [first, ..], [.., last]) = (one_row, wanted.columns(), wanted.columns()) else {
        return Ok(None);
    };
    let of = |column: &ostrakon_cell::Column| match &column.qualifier {
        Some(qualifier) => Range::row_column(row, column.family.as_slice(), qualifier.as_slice()),
        None => Range::row_family(row, column.family.as_slice()),
    };
    let (first, last) = (of(first), of(last));
    let hull = Range::keys(
        first.start().cloned(),
        first.start_inclusive(),
        last.end().cloned(),
        last.end_inclusive(),
    )?;
    Ok(range.clip(&hull))
}

/// Columns whose verdict is remembered.
const REMEMBERED: usize = 16;

/// Verdicts on columns of a batch. Entries of one column mostly share the bytes of its name, and the columns of a row mostly
/// come in the order of those of the row before.
#[derive(Default)]
struct Verdicts {
    known: [(Span, Span, bool); REMEMBERED],
    len: usize,
    /// Where the column of the next entry is expected.
    next: usize,
}

impl Verdicts {
    /// The verdict on the column of an entry, by `judge` if it is not known.
    fn of(&mut self, slot: &Slot, judge: impl FnOnce() -> bool) -> bool {
        let known = &self.known[..self.len];
        let is_it = |(family, qualifier, _): &(Span, Span, bool)| {
            *family == slot.family && *qualifier == slot.qualifier
        };
        let expected = known.get(self.next).is_some_and(is_it);
        let found = match expected {
            true => Some(self.next),
            false => known.iter().position(is_it),
        };
        let at = found.unwrap_or_else(|| {
            // One that is remembered for long gives way.
            let at = match self.len < REMEMBERED {
                true => self.len,
                false => self.next % REMEMBERED,
            };
            self.len = self.len.max(at + 1);
            self.known[at] = (slot.family, slot.qualifier, judge());
            at
        });
        self.next = match at + 1 < self.len {
            true => at + 1,
            false => 0,
        };
        self.known[at].2
    }
}

fn apply(batch: &mut Batch, first: usize, wanted: &ColumnSelection) {
    let qualified = wanted.has_qualifiers();
    let mut verdicts = Verdicts::default();
    // Neighbours mostly share the bytes of their family.
    let mut of_family: Option<(Span, bool)> = None;
    batch.retain_from(first, |batch, at| {
        let Some(slot) = batch.slots().get(at) else {
            return false;
        };
        let family = batch.bytes(slot.family);
        if qualified {
            return verdicts.of(slot, || {
                wanted.contains(family, batch.bytes(slot.qualifier))
            });
        }
        match of_family {
            Some((last, verdict)) if last == slot.family => verdict,
            _ => {
                let verdict = wanted.contains_family(family);
                of_family = Some((slot.family, verdict));
                verdict
            }
        }
    });
}

impl<I: SortedKeyValueIterator + 'static> SortedKeyValueIterator for ColumnFilter<I> {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
        if self.wanted != *columns {
            self.wanted = columns.clone();
        }
        if columns.is_all() {
            return self.source.seek(range, columns);
        }
        self.passed = 0;
        match narrowed(range, columns)? {
            Some(narrow) => self.range = narrow,
            None => self.range.clone_from(range),
        }
        self.source.seek(&self.range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        if self.wanted.is_all() {
            return self.source.next_batch(out, limit);
        }
        let first = out.len();
        // Unselected entries are removed also if an error follows.
        let more = self.source.next_batch(out, limit);
        if out.len() == first {
            return more;
        }
        let behind = self.pass(out, first);
        apply(out, first, &self.wanted);
        if out.len() > first {
            self.passed = 0;
        } else if behind && matches!(more, Ok(true)) {
            return self.seek_on();
        }
        more
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(ColumnFilter::new(self.source.deep_copy()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use ostrakon_cell::{Column, Entry};

    use super::*;
    use crate::iterator::testing::{MemorySource, entry, read, show};

    #[test]
    fn only_the_columns_asked_for_are_left() {
        let mut entries = vec![
            entry("a", "q", "", 1, "fq"),
            entry("a", "r", "", 1, "fr"),
            entry("b", "q", "", 1, "fq"),
            entry("b", "q", "", 1, "gq"),
        ];
        entries[3].key.family = b"g".to_vec();
        let mut filter = ColumnFilter::new(MemorySource::boxed(entries, 2));
        let mut left = |columns: &[Column]| {
            let columns = ColumnSelection::new(columns.to_vec());
            show(&read(&mut filter, &Range::all(), &columns, 10).expect("reads"))
        };
        assert_eq!(left(&[]).len(), 4);
        assert_eq!(left(&[Column::family("f")]), ["a@1=fq", "a@1=fr", "b@1=fq"]);
        assert_eq!(
            left(&[Column::new("f", "r"), Column::family("g")]),
            ["a@1=fr", "b@1=gq"]
        );
        assert!(left(&[Column::new("g", "r")]).is_empty());
    }

    /// More columns than are remembered, in any order.
    #[test]
    fn verdicts_do_not_depend_on_what_is_remembered() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 33) as usize
        };
        for columns in [1, 3, REMEMBERED, REMEMBERED + 1, 40] {
            let wanted = (0..columns).step_by(2).map(|at| format!("{at:02}"));
            let wanted = ColumnSelection::new(wanted.map(|name| Column::new("f", name)));
            let mut batch = Batch::new();
            let names: Vec<Span> = (0..columns)
                .map(|at| {
                    batch
                        .push_bytes(format!("{at:02}").as_bytes())
                        .expect("fits")
                })
                .collect();
            let family = batch.push_bytes(b"f").expect("fits");
            let mut expected = Vec::new();
            for entry in 0..500 {
                let at = match columns == 3 {
                    true => entry % 3,
                    false => random() % columns,
                };
                batch.push_slot(Slot {
                    family,
                    qualifier: names[at],
                    timestamp: entry as i64,
                    ..Slot::default()
                });
                if at % 2 == 0 {
                    expected.push(entry as i64);
                }
            }
            apply(&mut batch, 0, &wanted);
            let kept: Vec<i64> = batch.slots().iter().map(|slot| slot.timestamp).collect();
            assert_eq!(kept, expected, "{columns} columns");
        }
    }

    /// Counts what it hands out.
    struct Counted(BoxedIterator, Arc<AtomicUsize>);

    impl SortedKeyValueIterator for Counted {
        fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
            self.0.seek(range, columns)
        }

        fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
            let first = out.len();
            let more = self.0.next_batch(out, limit);
            self.1.fetch_add(out.len() - first, Ordering::Relaxed);
            more
        }

        fn deep_copy(&self) -> BoxedIterator {
            Box::new(Self(self.0.deep_copy(), self.1.clone()))
        }
    }

    /// A source that leaves out nothing, as memory is, is sought past what lies between wanted columns of wide rows.
    #[test]
    fn wide_rows_are_not_read_through() {
        let wide = |row: &'static str| {
            (0..5_000).map(move |at| {
                let qualifier = format!("{at:05}");
                entry(row, &qualifier, "", 1, &qualifier)
            })
        };
        let entries: Vec<Entry> = ["a", "b", "c"].into_iter().flat_map(wide).collect();
        let wanted = [
            Column::new("f", "00007"),
            Column::new("f", "04000"),
            Column::new("g", ""),
        ];
        let columns = ColumnSelection::new(wanted);
        let key = |row: &str, qualifier: &str| Key::new(row, "f", qualifier);
        let ranges = [
            (Range::all(), 1_800 * 3),
            (Range::row("b"), 1_800),
            (Range::rows("a".."c"), 1_800 * 2),
            (
                Range::keys(
                    Some(key("a", "01000")),
                    false,
                    Some(key("b", "04000\0")),
                    true,
                )
                .expect("sound"),
                1_800 * 2,
            ),
            (
                Range::keys(
                    Some(key("b", "00007")),
                    false,
                    Some(key("b", "00009")),
                    true,
                )
                .expect("sound"),
                300,
            ),
        ];
        for (range, most) in ranges {
            for entries_at_once in [1, 7, 100, 1_000] {
                let count = Arc::new(AtomicUsize::new(0));
                let source = MemorySource::boxed(entries.clone(), entries_at_once);
                let mut filter = ColumnFilter::new(Counted(source, count.clone()));
                let found = read(&mut filter, &range, &columns, entries_at_once).expect("reads");
                let expected: Vec<Entry> = entries
                    .iter()
                    .filter(|entry| range.contains(entry.key.as_ref()))
                    .filter(|entry| columns.contains_key(entry.key.as_ref()))
                    .cloned()
                    .collect();
                assert_eq!(found, expected, "{range:?}");
                let steps = count.load(Ordering::Relaxed);
                let most = most + 6 * entries_at_once;
                assert!(steps <= most, "{steps} of {most} for {range:?}");
            }
        }
    }
}
