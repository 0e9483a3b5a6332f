//! Reads the entries of a file in order.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, LabelMap, Range, Result,
    SortedKeyValueIterator,
};

use super::bound::{Bound, End};
use super::filter::{Bloom, FilterFunctor, KeyHash};
use super::format::Description;
use super::reader::{SortedFile, row_after};
use super::stream::{GroupStream, Reading};
use crate::catalog::Fence;

/// Decides whether entries with a label may be returned.
pub type LabelFilter = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// First row of a fence, and the first row after it; `None` is infinite.
type RowSpan = (Option<Vec<u8>>, Option<Vec<u8>>);

/// Filter partitions that an iterator keeps, in memory that the cache does not count.
const BLOOMS_KEPT: usize = 4;

/// Size of the buffer of each group when several groups are merged.
const GROUP_BATCH: BatchLimit = BatchLimit {
    entries: 512,
    bytes: 64 << 10,
};

/// One locality group that is being read.
struct Source {
    group: usize,
    stream: GroupStream,
    /// Used when several groups are read.
    batch: Batch,
    at: usize,
    labels: LabelMap,
}

/// Reads the entries of one file inside its fences. Columns that are not selected are left out,
/// except for an occasional entry while many blocks without a selected column are read.
pub struct FileIterator {
    file: Arc<SortedFile>,
    /// Sorted, each as its first row and the first row after it.
    fences: Arc<[RowSpan]>,
    reading: Reading,
    description: Option<Arc<Description>>,
    /// The most recently used filter partitions, each at its number modulo the length.
    blooms: [Option<(usize, Arc<Bloom>)>; BLOOMS_KEPT],
    sources: Vec<Source>,
    /// The range sought.
    range: (End, End),
    /// Whether the present fence ends before the range.
    fence_ends_first: bool,
    /// The present fence; one past the last at the end.
    fence: usize,
    /// Whether the filter passed the range and nothing was found yet.
    doubtful: bool,
    /// Whether a group read many blocks without finding an entry.
    paused: bool,
}

impl fmt::Debug for FileIterator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileIterator")
            .field("file", &self.file.path())
            .field("fence", &self.fence)
            .finish_non_exhaustive()
    }
}

impl FileIterator {
    pub(super) fn new(file: Arc<SortedFile>, fences: &[Fence]) -> Self {
        let mut fences: Vec<_> = fences
            .iter()
            .filter(|fence| !fence.is_empty())
            .map(|fence| {
                (
                    fence.after.as_deref().map(row_after),
                    fence.through.as_deref().map(row_after),
                )
            })
            .collect();
        // `None`, no first row, sorts first.
        fences.sort();
        Self::over(file, fences.into(), Reading::default())
    }

    fn over(file: Arc<SortedFile>, fences: Arc<[RowSpan]>, reading: Reading) -> Self {
        Self {
            file,
            fence: fences.len(),
            fences,
            reading,
            description: None,
            blooms: Default::default(),
            sources: Vec::new(),
            range: Default::default(),
            fence_ends_first: false,
            doubtful: false,
            paused: false,
        }
    }

    /// Leaves out blocks if none of their labels is admitted, unless few entries of them are read. Entries of other blocks
    /// must still be checked one by one. Correct also for delete markers, since the label is part of a column's
    /// identity.
    #[must_use]
    pub fn with_label_filter(mut self, admits: LabelFilter) -> Self {
        self.reading.label_filter = Some(admits);
        self
    }

    /// Reads uncached blocks without adding them to the cache, many at a time: for compactions and
    /// whole-table scans.
    #[must_use]
    pub fn without_cache_fill(mut self) -> Self {
        self.reading.skip_cache_fill = true;
        self
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &Arc<SortedFile> {
        &self.file
    }

    /// Selects exactly the groups that can hold the selected families.
    fn choose_groups(&mut self, description: &Description) -> Result<()> {
        let columns = &self.reading.columns;
        let chosen = |at: usize| {
            let Some(group) = description.groups.get(at) else {
                return false;
            };
            if group.entries == 0 {
                return false;
            }
            let families = columns.families();
            if families.is_empty() {
                return true;
            }
            if at + 1 == description.groups.len() {
                // The default group has the families that no other group has.
                let named = |family: &Vec<u8>| {
                    description
                        .groups
                        .iter()
                        .any(|group| group.families.contains(family))
                };
                return !families.iter().all(named);
            }
            group
                .families
                .iter()
                .any(|family| columns.contains_family(family))
        };
        self.sources.retain(|source| chosen(source.group));
        for group in 0..description.groups.len() {
            let known = self.sources.iter().any(|source| source.group == group);
            if !known && chosen(group) {
                let index = self.file.index(description, group)?;
                self.sources.push(Source {
                    group,
                    stream: GroupStream::new(index),
                    batch: Batch::new(),
                    at: 0,
                    labels: LabelMap::default(),
                });
            }
        }
        Ok(())
    }

    /// Moves to the start of the range.
    fn seek_in(&mut self, description: &Description, columns: &ColumnSelection) -> Result<()> {
        if description.entries == 0 {
            return Ok(());
        }
        if self.reading.columns != *columns {
            self.reading.columns.clone_from(columns);
            self.sources.clear();
        }
        if self.is_filtered_out(description)? {
            return Ok(());
        }
        if self.sources.is_empty() || !columns.is_all() {
            self.choose_groups(description)?;
        }
        self.fence = 0;
        self.enter_fence()
    }

    /// Moves to the next fence, starting with the present one, that overlaps the range, and seeks
    /// there.
    fn enter_fence(&mut self) -> Result<()> {
        while let Some((first, behind)) = self.fences.get(self.fence) {
            let (first, behind) = (first.as_deref(), behind.as_deref());
            let (from, to) = (self.range.0.bound(), self.range.1.bound());
            let fence_starts_last = match (from, first) {
                (Some(from), Some(first)) => against(from, first) == Ordering::Less,
                (from, _) => from.is_none(),
            };
            self.fence_ends_first = match (to, behind) {
                (Some(to), Some(behind)) => against(to, behind) == Ordering::Greater,
                (to, _) => to.is_none(),
            };
            // Neither the range nor a fence is empty.
            let meets = match (fence_starts_last, self.fence_ends_first) {
                (false, false) | (true, true) => true,
                (true, false) => match (first, to) {
                    (Some(first), Some(to)) => against(to, first) == Ordering::Greater,
                    _ => true,
                },
                (false, true) => match (from, behind) {
                    (Some(from), Some(behind)) => against(from, behind) == Ordering::Less,
                    _ => true,
                },
            };
            if !meets {
                self.fence += 1;
                continue;
            }
            let start = if fence_starts_last {
                first.map(Bound::before_row)
            } else {
                from
            };
            let end = if self.fence_ends_first {
                behind.map(Bound::before_row)
            } else {
                to
            };
            for source in &mut self.sources {
                source.batch.clear();
                source.at = 0;
                source.stream.seek(&self.file, start, end, &self.reading)?;
            }
            return Ok(());
        }
        Ok(())
    }

    /// Whether the filter proves that the file has nothing of the range.
    fn is_filtered_out(&mut self, description: &Description) -> Result<bool> {
        let Some(functor) = description.functor else {
            return Ok(false);
        };
        let (Some(start), Some(end)) = (self.range.0.bound(), self.range.1.bound()) else {
            return Ok(false);
        };
        let Some(hash) = question(functor, start, end, &self.reading.columns) else {
            return Ok(false);
        };
        let partitions = &description.partitions;
        self.file.metrics().filter_checks.increment();
        for at in description.candidates(start.key.row) {
            let (Some(partition), Some(kept)) =
                (partitions.get(at), self.blooms.get_mut(at % BLOOMS_KEPT))
            else {
                continue;
            };
            let bloom = match kept {
                Some((number, bloom)) if *number == at => bloom,
                kept => &kept.insert((at, self.file.bloom(partition)?)).1,
            };
            if bloom.may_contain(hash) {
                self.doubtful = true;
                return Ok(false);
            }
        }
        self.file.metrics().filter_negatives.increment();
        Ok(true)
    }

    fn merge_groups(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<()> {
        for source in &mut self.sources {
            source.labels.clear();
        }
        loop {
            let mut least: Option<usize> = None;
            let mut second: Option<usize> = None;
            for at in 0..self.sources.len() {
                if !self.has_top(at)? {
                    continue;
                }
                if least.is_none_or(|other| self.compare(at, other) == Ordering::Less) {
                    second = least;
                    least = Some(at);
                } else if second.is_none_or(|other| self.compare(at, other) == Ordering::Less) {
                    second = Some(at);
                }
            }
            let Some(least) = least else {
                return Ok(());
            };
            if self.paused {
                return Ok(());
            }
            // Take entries from the smallest group until it passes the next one or its buffer ends.
            loop {
                if out.is_full(limit) {
                    return Ok(());
                }
                let Some(source) = self.sources.get_mut(least) else {
                    return Ok(());
                };
                out.push_from(&source.batch, source.at, &mut source.labels)?;
                source.at += 1;
                if source.at >= source.batch.len()
                    || second.is_some_and(|other| self.compare(least, other) == Ordering::Greater)
                {
                    break;
                }
            }
        }
    }

    /// Whether a group has an entry left; refills its buffer.
    fn has_top(&mut self, at: usize) -> Result<bool> {
        let end = part_end(
            self.fence_ends_first,
            &self.range.1,
            &self.fences,
            self.fence,
        );
        let Some(source) = self.sources.get_mut(at) else {
            return Ok(false);
        };
        if source.at < source.batch.len() {
            return Ok(true);
        }
        source.batch.clear();
        source.at = 0;
        source.labels.clear();
        self.paused |= source.stream.fill(
            &self.file,
            end,
            &self.reading,
            &mut source.batch,
            GROUP_BATCH,
        )?;
        Ok(!source.batch.is_empty())
    }

    fn compare(&self, a: usize, b: usize) -> Ordering {
        match (self.sources.get(a), self.sources.get(b)) {
            (Some(a), Some(b)) => a.batch.key(a.at).cmp(&b.batch.key(b.at)),
            _ => Ordering::Equal,
        }
    }

    /// Whether the present fence is read completely.
    fn is_done(&self) -> bool {
        self.sources
            .iter()
            .all(|source| source.at >= source.batch.len() && source.stream.is_done())
    }
}

impl SortedKeyValueIterator for FileIterator {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        // Until everything is set an error leaves the iterator at its end.
        self.fence = self.fences.len();
        self.doubtful = false;
        self.range.0.set(
            range
                .start()
                .map(|key| Bound::new(key.as_ref(), !range.start_inclusive())),
        );
        self.range.1.set(
            range
                .end()
                .map(|key| Bound::new(key.as_ref(), range.end_inclusive())),
        );
        if range.is_empty() || self.fences.is_empty() {
            return Ok(());
        }
        if !self.file.meets(self.range.0.bound(), self.range.1.bound()) {
            return Ok(());
        }
        // Taken out and put back, to avoid changing its reference count.
        let description = match self.description.take() {
            Some(description) => description,
            None => self.file.description()?,
        };
        let sought = self.seek_in(&description, columns);
        self.description = Some(description);
        if sought.is_err() {
            self.fence = self.fences.len();
        }
        sought
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        let before = out.len();
        while self.fence < self.fences.len() {
            if let [source] = self.sources.as_mut_slice() {
                let end = part_end(
                    self.fence_ends_first,
                    &self.range.1,
                    &self.fences,
                    self.fence,
                );
                let stream = &mut source.stream;
                self.paused = stream.fill(&self.file, end, &self.reading, out, limit)?;
            } else {
                self.paused = false;
                self.merge_groups(out, limit)?;
            }
            if out.len() > before {
                self.doubtful = false;
            }
            if self.is_done() {
                self.fence += 1;
                self.enter_fence()?;
            }
            if self.paused || out.is_full(limit) {
                break;
            }
        }
        let more = self.fence < self.fences.len();
        if !more && self.doubtful {
            self.doubtful = false;
            self.file.metrics().filter_false_positives.increment();
        }
        Ok(more)
    }

    fn deep_copy(&self) -> BoxedIterator {
        let mut copy = Self::over(self.file.clone(), self.fences.clone(), self.reading.clone());
        copy.description.clone_from(&self.description);
        copy.blooms.clone_from(&self.blooms);
        Box::new(copy)
    }
}

/// Where the part of the range inside the present fence ends.
fn part_end<'a>(
    fence_ends_first: bool,
    range_end: &'a End,
    fences: &'a [RowSpan],
    fence: usize,
) -> Option<Bound<'a>> {
    if fence_ends_first {
        let (_, behind) = fences.get(fence)?;
        behind.as_deref().map(Bound::before_row)
    } else {
        range_end.bound()
    }
}

/// Orders a place relative to the place before all keys of `row`.
fn against(place: Bound<'_>, row: &[u8]) -> Ordering {
    match place.key.row.cmp(row) {
        Ordering::Equal if !place.first_of_row => Ordering::Greater,
        order => order,
    }
}

/// The look-up in a filter for the keys between two places; `None` if it cannot decide.
fn question(
    functor: FilterFunctor,
    start: Bound<'_>,
    end: Bound<'_>,
    columns: &ColumnSelection,
) -> Option<KeyHash> {
    let row = start.key.row;
    let one_row = end.key.row == row;
    // The first place after a row, family or qualifier is before the same bytes with a zero byte
    // appended.
    let ends_with_row = end.first_of_row && is_next(row, end.key.row);
    if !one_row && !ends_with_row {
        return None;
    }
    let hash = KeyHash::row(row);
    if functor == FilterFunctor::Row {
        return Some(hash);
    }
    let only_column = match columns.columns() {
        [column] => Some(column),
        _ => None,
    };
    let smallest = |end: Bound<'_>| {
        !end.after
            && end.key.visibility.is_empty()
            && end.key.timestamp == i64::MAX
            && end.key.deleted
    };
    let one_family = one_row
        && (start.key.family == end.key.family
            || (is_next(start.key.family, end.key.family)
                && end.key.qualifier.is_empty()
                && smallest(end)));
    let family = match only_column {
        _ if one_family => start.key.family,
        Some(column) => column.family.as_slice(),
        None => match columns.families() {
            [family] => family.as_slice(),
            _ => return None,
        },
    };
    let hash = hash.with(family);
    if functor == FilterFunctor::RowFamily {
        return Some(hash);
    }
    let one_qualifier = one_row
        && start.key.family == end.key.family
        && (start.key.qualifier == end.key.qualifier
            || (is_next(start.key.qualifier, end.key.qualifier) && smallest(end)));
    if one_qualifier {
        return Some(hash.with(start.key.qualifier));
    }
    let qualifier = only_column?.qualifier.as_deref()?;
    Some(hash.with(qualifier))
}

/// Whether `next` is `bytes` and a zero byte.
fn is_next(bytes: &[u8], next: &[u8]) -> bool {
    next.split_last() == Some((&0, bytes))
}
