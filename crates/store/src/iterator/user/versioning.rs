//! `VersioningIterator`: the newest versions of each column.

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Error, IteratorClass, IteratorEnvironment,
    IteratorOptions, Range, SortedKeyValueIterator,
};

use super::options;
use crate::error::StoreResult;
use crate::iterator::filter::read_filtered;
use crate::iterator::seek::{ColumnStart, CurrentColumn, has_versions, same_column};

/// Keeps the newest `max` entries of each column (row, family, qualifier and visibility alike).
///
/// Delete markers, which only compactions that do not see all of a tablet's files let through, pass
/// and are not counted. Accumulo counts them, and so drops a marker after `max` newer versions; the
/// entries it hides in other files can then reappear once the newer ones are filtered out or
/// `maxVersions` is raised. Here a marker stays until a full compaction has applied it to
/// everything.
pub struct VersioningIterator<I> {
    source: I,
    max: u64,
    /// The column of the previous batch's last entry, and how many of it have passed.
    column: CurrentColumn,
    passed: u64,
    start: ColumnStart,
}

impl<I: SortedKeyValueIterator> VersioningIterator<I> {
    /// Keeps `max` versions, at least one.
    pub fn new(source: I, max: u64) -> Self {
        Self {
            source,
            max: max.max(1),
            column: CurrentColumn::default(),
            passed: 0,
            start: ColumnStart::default(),
        }
    }
}

fn apply(batch: &mut Batch, first: usize, column: &mut CurrentColumn, passed: &mut u64, max: u64) {
    let goes_on = column.is(batch, first);
    let last = batch.len() - 1;
    if !goes_on && !has_versions(batch, first) {
        // Each entry is the first of its column.
        column.remember(batch, last);
        *passed = u64::from(batch.slots().last().is_some_and(|slot| !slot.deleted));
        return;
    }
    let mut count = if goes_on { *passed } else { 0 };
    batch.retain_from(first, |batch, at| {
        // The previous slot is still unchanged when an entry is checked.
        if at > first && !same_column(batch, at - 1, at) {
            count = 0;
        }
        let marker = batch.slots().get(at).is_some_and(|slot| slot.deleted);
        let keep = marker || count < max;
        count += u64::from(keep && !marker);
        if at == last {
            column.remember(batch, at);
        }
        keep
    });
    *passed = count;
}

impl<I: SortedKeyValueIterator + 'static> SortedKeyValueIterator for VersioningIterator<I> {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
        self.column.forget();
        self.passed = 0;
        self.start.seek(&mut self.source, range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        read_filtered(&mut self.source, out, limit, |batch, first, more| {
            if !more && !self.column.is_set() && batch.len() == first + 1 {
                // One entry, as most point reads find: nothing hides it, and it hides nothing.
                self.start.skip(batch, first);
                return;
            }
            apply(batch, first, &mut self.column, &mut self.passed, self.max);
            self.start.skip(batch, first);
        })
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(VersioningIterator::new(self.source.deep_copy(), self.max))
    }
}

/// The class of [`VersioningIterator`].
pub(super) struct Versioning;

const MAX_VERSIONS: &str = "maxVersions";

impl Versioning {
    fn max(options: &IteratorOptions) -> StoreResult<u64> {
        options::only(options, &[MAX_VERSIONS])?;
        let max = options::number(options, MAX_VERSIONS)?.unwrap_or(1);
        u64::try_from(max)
            .ok()
            .filter(|max| *max > 0)
            .ok_or_else(|| {
                Error::invalid("the option takes a number of 1 or more")
                    .with("option", MAX_VERSIONS)
                    .with("given", max)
            })
    }
}

impl IteratorClass for Versioning {
    fn names(&self) -> &[&str] {
        &["org.apache.accumulo.core.iterators.user.VersioningIterator"]
    }

    fn describe(&self) -> &str {
        "Keeps the newest versions of each cell. Option: maxVersions (1): the number of versions to \
         keep."
    }

    fn validate(&self, options: &IteratorOptions) -> StoreResult<()> {
        Self::max(options).map(|_| ())
    }

    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> StoreResult<BoxedIterator> {
        let max = Self::max(options)?;
        Ok(Box::new(VersioningIterator::new(source, max)))
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_cell::Key;

    use super::*;
    use crate::iterator::testing::{MemorySource, delete, put, read, read_all, show};

    fn sample(step: usize) -> BoxedIterator {
        let mut entries: Vec<_> = (1..=5).map(|t| put("a", t, "")).collect();
        entries.push(put("b", 2, ""));
        entries.push(delete("b", 1));
        entries.push(put("c", 1, ""));
        MemorySource::boxed(entries, step)
    }

    #[test]
    fn the_newest_versions_are_kept_and_markers_never_count() {
        for step in 1..=8 {
            assert_eq!(
                read_all(&mut VersioningIterator::new(sample(step), 1)),
                ["a@5=", "b@2=", "b@1-", "c@1="]
            );
            assert_eq!(
                read_all(&mut VersioningIterator::new(sample(step), 2)),
                ["a@5=", "a@4=", "b@2=", "b@1-", "c@1="]
            );
        }
    }

    #[test]
    fn a_seek_into_a_column_counts_from_its_newest_version() {
        let mut iterator = VersioningIterator::new(sample(2), 3);
        let mut from = |timestamp, inclusive| {
            let key = Key {
                timestamp,
                ..Key::new("a", "f", "q")
            };
            let range = Range::keys(Some(key), inclusive, Some(Key::first_of_row("b")), false)
                .expect("sound");
            show(&read(&mut iterator, &range, &ColumnSelection::all(), 2).expect("reads"))
        };
        assert_eq!(from(4, true), ["a@4=", "a@3="]);
        assert_eq!(from(4, false), ["a@3="]);
        assert!(from(3, false).is_empty());
        assert!(from(1, true).is_empty());
    }

    #[test]
    fn wrong_options_are_refused_when_they_are_set() {
        let given = |name: &str, value: &str| {
            Versioning.validate(&IteratorOptions::from([(name.into(), value.into())]))
        };
        assert!(given("maxVersions", "3").is_ok());
        assert!(given("maxVersions", "0").is_err());
        assert!(given("maxVersions", "many").is_err());
        assert!(given("maxversions", "3").is_err_and(|e| e.to_string().contains("maxVersions")));
    }
}
