//! A scan on one thread: a snapshot, ranges, and one stack of iterators for each tablet they touch.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ostrakon_cell::iterator::Interruption;
use ostrakon_cell::{
    Authorizations, Batch, BoxedIterator, Interrupt, IteratorSetting, Key, Mark, Range, Scan,
    ScanOptions,
};

use super::first_error::{LateError, is_of_entries, settle};
use super::limits::ScanLimits;
use super::memory::ScanShare;
use super::ranges::RangeList;
use super::source::{Readable, Snapshot};
use super::warm::Warm;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::iterator::LastRow;
use crate::sorted_file::LabelFilter;
use crate::tablet::{IteratorStackBuilder, TableVersion, tablet_sources};

/// Slots for stacks of tablets that a scan may return to; a tablet's number selects its slot.
const KEPT_STACKS: usize = 64;

/// A stack that returned more batches than this for a range is not kept. Iterators of whole rows return one for each
/// part of a row that they read.
const SHORT_BATCHES: usize = 4;

/// A scan of at least this many ranges warms point reads before it does them.
const WARM_FROM: usize = 16;

/// Point reads warmed together: enough to overlap their cache misses, few enough to stay in the
/// nearest caches.
const WARM_TOGETHER: usize = 16;

/// A scan that reads one range after another.
///
/// An error is final: until a restart succeeds every call returns the same one. A panic of an
/// iterator is an error too.
pub(crate) struct SerialScan {
    source: Arc<dyn Readable>,
    options: ScanOptions,
    authorizations: Arc<Authorizations>,
    snapshot: Arc<Snapshot>,
    stacker: IteratorStackBuilder,
    limits: Arc<ScanLimits>,
    /// Its share of the memory for reading ahead.
    share: ScanShare,
    labels: LabelFilter,
    /// Shared with the other threads of an unordered scan. Not changed by repeated point reads of
    /// one range.
    ranges: Arc<RangeList>,
    /// The range read now, where to stop, and the tablet within it.
    range: usize,
    last: usize,
    tablet: Option<usize>,
    /// A copy of the range with the number `loaded`.
    present: Range,
    loaded: Option<usize>,
    /// Stacks with their tablets, at the tablet's number modulo the length; empty until one is
    /// kept.
    stacks: Vec<Option<(usize, BoxedIterator)>>,
    /// The stack that is being read.
    current: Option<BoxedIterator>,
    /// Whether it filled a batch, or returned many that were not full. Such a stack may hold its full
    /// share of memory, and is not kept.
    is_long: bool,
    /// The batches that it returned.
    batches: usize,
    /// Entries beyond the caller's limits; the next batch begins with them. So the end of a batch
    /// depends only on its entries, never on tablets, which may be split at entries that the reader
    /// may not see.
    beyond: Batch,
    warm: Warm,
    /// The last key returned since the ranges were set, for a scan that may resume after it.
    given: Option<Key>,
    /// The first of its ranges.
    first: usize,
    late: Option<LateError>,
    failed: Option<Error>,
}

impl SerialScan {
    pub(crate) fn new(
        source: Arc<dyn Readable>,
        ranges: &[Range],
        options: &ScanOptions,
    ) -> StoreResult<Self> {
        let snapshot = Arc::new(source.snapshot());
        Self::of(source, snapshot, ranges, options)
    }

    /// A scan of a given snapshot.
    pub(super) fn of(
        source: Arc<dyn Readable>,
        snapshot: Arc<Snapshot>,
        ranges: &[Range],
        options: &ScanOptions,
    ) -> StoreResult<Self> {
        IteratorSetting::check_distinct(&options.iterators)?;
        let limits = ScanLimits::new(source.clone(), options);
        let mut scan = Self::over(source, snapshot, limits, options)?;
        scan.set_ranges(ranges);
        // Invalid iterators are rejected now, not when the first tablet is read; the table's own
        // were checked when they were set.
        if !scan.options.iterators.is_empty() || !scan.options.iterator_options.is_empty() {
            scan.stacker
                .scan(Vec::new(), &scan.authorizations, &scan.options.iterators)?;
        }
        Ok(scan)
    }

    /// A scan without ranges yet, of a given snapshot and within given limits.
    pub(super) fn over(
        source: Arc<dyn Readable>,
        snapshot: Arc<Snapshot>,
        limits: Arc<ScanLimits>,
        options: &ScanOptions,
    ) -> StoreResult<Self> {
        source.check_readable()?;
        let share = source.scan_memory().share();
        let stacker = IteratorStackBuilder {
            interrupt: Interrupt::watching(limits.clone()),
            look_ahead_bytes: Some(share.bytes()),
            answers_early: options.answer_within.is_some(),
            iterator_options: options.iterator_options.clone(),
            ..source.stacker()
        };
        Ok(Self {
            labels: stacker.label_filter(&options.authorizations),
            stacker,
            share,
            authorizations: Arc::new(options.authorizations.clone()),
            options: ScanOptions {
                batch: options.batch.at_least_one(),
                ..options.clone()
            },
            snapshot,
            limits,
            source,
            ranges: Arc::default(),
            range: 0,
            last: 0,
            tablet: None,
            present: Range::all(),
            loaded: None,
            stacks: Vec::new(),
            current: None,
            is_long: false,
            batches: 0,
            beyond: Batch::new(),
            warm: Warm::default(),
            given: None,
            first: 0,
            late: None,
            failed: None,
        })
    }

    pub(super) fn set_ranges(&mut self, ranges: &[Range]) {
        self.loaded = None;
        match ranges {
            // Repeated point reads allocate nothing.
            [one] if self.options.ordered && !one.is_empty() => {
                self.present.clone_from(one);
                self.loaded = Some(0);
                self.last = 1;
            }
            many => {
                self.ranges = Arc::new(RangeList::of(many));
                self.last = self.ranges.len();
            }
        }
        self.range = 0;
        self.first = 0;
        self.tablet = None;
        self.warm.through = 0;
        self.given = None;
        self.late = None;
        self.beyond.clear();
    }

    /// A scan of the same snapshot that advances one entry at a time and records its last row.
    pub(super) fn stepping(&self, options: &ScanOptions, last: LastRow) -> StoreResult<Self> {
        let mut scan = Self::over(
            self.source.clone(),
            self.snapshot.clone(),
            self.limits.clone(),
            options,
        )?;
        scan.stacker.steps = Some(last);
        Ok(scan)
    }

    /// Reads these ranges, which begin after the returned entries, and then fails.
    pub(super) fn fail_behind(&mut self, ranges: &[Range], late: LateError) {
        let given = self.given.take();
        self.current = None;
        self.set_ranges(ranges);
        self.given = given;
        self.late = Some(late);
    }

    pub(super) fn take_late(&mut self) -> Option<LateError> {
        self.late.take()
    }

    /// Whether all its ranges are read.
    pub(super) fn is_over(&self) -> bool {
        self.range >= self.last && self.current.is_none() && self.beyond.is_empty()
    }

    pub(super) fn is_full(&self, batch: &Batch) -> bool {
        batch.is_full(self.options.batch)
    }

    /// Moves to some of other ranges, which must be sorted and disjoint, within the same snapshot.
    pub(super) fn set_piece(&mut self, ranges: &Arc<RangeList>, piece: std::ops::Range<usize>) {
        if let Some(stack) = self.current.take() {
            self.keep(stack);
        }
        self.ranges = ranges.clone();
        self.range = piece.start;
        self.first = piece.start;
        self.last = piece.end;
        self.loaded = None;
        self.tablet = None;
        self.warm.through = piece.start;
        self.given = None;
        self.beyond.clear();
    }

    pub(super) fn source(&self) -> &Arc<dyn Readable> {
        &self.source
    }

    pub(super) fn options(&self) -> &ScanOptions {
        &self.options
    }

    pub(super) fn limits(&self) -> &Arc<ScanLimits> {
        &self.limits
    }

    pub(super) fn ranges(&self) -> &Arc<RangeList> {
        &self.ranges
    }

    pub(super) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// Moves to the next tablet of the range, or to the next range. `false` when there is none.
    fn next_piece(&mut self) -> StoreResult<bool> {
        loop {
            if self.range >= self.last {
                return Ok(false);
            }
            let version = &self.snapshot.version;
            if self.range >= self.warm.through && self.last - self.range >= WARM_FROM {
                let ahead = self.range..self.last.min(self.range + WARM_TOGETHER);
                self.warm.through = self.warm.ahead(version, &self.ranges, ahead)?;
            }
            if self.loaded != Some(self.range) {
                self.loaded = Some(self.range);
                if !self.ranges.read(self.range, &mut self.present) {
                    return Ok(false);
                }
            }
            let range = &self.present;
            let tablet = match self.tablet {
                None => range
                    .start()
                    .map_or(0, |start| version.position(&start.row)),
                Some(tablet) => tablet + 1,
            };
            // The first tablet of a range contains its start.
            let first = self.tablet.is_none() && range.start().is_some();
            if tablet >= version.tablets().len()
                || (!first && starts_behind(version, tablet, range))
            {
                self.range += 1;
                self.tablet = None;
                continue;
            }
            self.tablet = Some(tablet);
            let clipped = clip(version, tablet, range, first);
            let piece = match &clipped {
                Clip::Inside => range,
                Clip::Part(part) => part,
                Clip::Nothing => continue,
            };
            let kept = self.stacks.get_mut(tablet % KEPT_STACKS);
            let mut stack = match kept.and_then(|kept| kept.take_if(|kept| kept.0 == tablet)) {
                Some((_, stack)) => stack,
                None => {
                    let view = &version.tablets()[tablet];
                    let sources = tablet_sources(
                        view,
                        &self.snapshot.memtables,
                        self.stacker.config.cache_blocks,
                        &self.labels,
                    );
                    self.stacker
                        .scan(sources, &self.authorizations, &self.options.iterators)?
                }
            };
            stack.seek(piece, &self.options.columns)?;
            self.current = Some(stack);
            self.is_long = false;
            self.batches = 0;
            return Ok(true);
        }
    }

    /// Keeps a stack for when the scan returns to its tablet.
    fn keep(&mut self, stack: BoxedIterator) {
        if let Some(tablet) = self.tablet {
            if self.stacks.is_empty() {
                self.stacks.resize_with(KEPT_STACKS, || None);
            }
            if let Some(place) = self.stacks.get_mut(tablet % KEPT_STACKS) {
                *place = Some((tablet, stack));
            }
        }
    }
}

impl SerialScan {
    /// As [`read`](Self::read). A panic becomes an error; the state it leaves is dropped by `fail`,
    /// and cleared from the batch.
    pub(super) fn read_guarded(&mut self, out: &mut Batch) -> StoreResult<bool> {
        catch_unwind(AssertUnwindSafe(|| self.read(out))).unwrap_or_else(|_| Err(panicked()))
    }

    /// As [`read_guarded`](Self::read_guarded), for a reader that must not see how far iterators
    /// have read ahead.
    fn read_confined(&mut self, out: &mut Batch) -> StoreResult<bool> {
        match self.read_guarded(out) {
            Err(error) if is_of_entries(&error) => settle(self, error, out),
            Ok(_) if self.late.is_some() && self.is_over() && !self.is_full(out) => {
                // The error is kept, for `unread`.
                let late = self.late.as_ref();
                Err(late.map_or_else(panicked, |late| late.error.duplicate()))
            }
            read => read,
        }
    }

    /// Reads on. `false` at the end; `true` with an empty `out` only when the time to answer is
    /// over.
    fn read(&mut self, out: &mut Batch) -> StoreResult<bool> {
        self.limits.check()?;
        let answer_by = self.limits.answer_by();
        if !self.beyond.is_empty() {
            out.take_within(self.options.batch, &mut self.beyond)?;
            if out.is_full(self.options.batch) {
                return Ok(true);
            }
        }
        loop {
            if self.current.is_none() && !self.next_piece()? {
                return Ok(!out.is_empty());
            }
            let Some(mut stack) = self.current.take() else {
                return Ok(!out.is_empty());
            };
            let more = stack.next_batch(out, self.options.batch)?;
            if more {
                self.current = Some(stack);
                self.batches += 1;
                self.is_long |= self.batches > SHORT_BATCHES || out.is_full(self.options.batch);
            } else if !self.is_long {
                self.keep(stack);
            }
            if out.is_full(self.options.batch) {
                out.move_beyond(self.options.batch, Mark::default(), &mut self.beyond)?;
                return Ok(true);
            }
            if self.limits.is_past(answer_by) {
                return Ok(true);
            }
            // An iterator may go on without calling its source, which checks them too.
            self.limits.check()?;
        }
    }

    /// Releases what the scan holds; from now on it returns this error.
    fn fail(&mut self, error: Error) -> Error {
        self.current = None;
        self.stacks.clear();
        self.beyond.clear();
        self.source.failed(&error);
        self.failed = Some(error.duplicate());
        error
    }

    fn start_over(&mut self, ranges: &[Range]) -> StoreResult<()> {
        self.limits.begin();
        self.limits.check()?;
        if let Some(stack) = self.current.take() {
            self.keep(stack);
        }
        if self.source.epoch() != self.snapshot.epoch {
            self.stacks.clear();
            self.warm = Warm::default();
            // Before the properties are read: if they change in between, the epoch is an old one,
            // and the next restart reads them again.
            self.snapshot = Arc::new(self.source.snapshot());
            self.stacker = IteratorStackBuilder {
                interrupt: self.stacker.interrupt.clone(),
                look_ahead_bytes: Some(self.share.bytes()),
                answers_early: self.stacker.answers_early,
                iterator_options: std::mem::take(&mut self.stacker.iterator_options),
                ..self.source.stacker()
            };
            self.labels = self.stacker.label_filter(&self.authorizations);
        }
        self.set_ranges(ranges);
        Ok(())
    }

    /// The ranges of which nothing was returned yet.
    pub(super) fn left(&self) -> Vec<Range> {
        self.left_from(self.first)
    }

    fn left_from(&self, first: usize) -> Vec<Range> {
        let mut left = Vec::new();
        let mut range = Range::all();
        for at in first..self.last {
            if self.loaded == Some(at) {
                left.extend(self.left_of(&self.present));
            } else if self.ranges.read(at, &mut range) {
                left.extend(self.left_of(&range));
            }
        }
        left
    }

    /// The part of a range of which nothing was returned yet. It contains only keys that the reader
    /// received, not the ends of tablets.
    fn left_of(&self, range: &Range) -> Option<Range> {
        match &self.given {
            Some(key) => range.after(key.as_ref()),
            None => Some(range.clone()),
        }
    }
}

impl Scan for SerialScan {
    fn next_batch(&mut self, out: &mut Batch) -> StoreResult<bool> {
        out.clear();
        if let Some(error) = &self.failed {
            return Err(error.duplicate());
        }
        let read = match self.options.confined {
            true => self.read_confined(out),
            false => self.read_guarded(out),
        };
        match read {
            Ok(more) => {
                if out.visibility_count() > 1 {
                    // Tablets and filters may have dropped entries: the order must depend on the
                    // entries alone.
                    out.order_labels();
                }
                let metrics = self.source.metrics();
                metrics.entries_read.add(out.len() as u64);
                metrics.bytes_read.add(out.content_len() as u64);
                self.source.returned(self.options.confined);
                // After a batch that is not full the scan has ended and does not resume.
                let goes_back = self.options.confined
                    && (self.is_full(out) || self.options.answer_within.is_some());
                if (self.options.resumable || goes_back)
                    && let Some(last) = out.len().checked_sub(1)
                {
                    self.given.get_or_insert_default().set(out.key(last));
                }
                Ok(more)
            }
            Err(error) => {
                out.clear();
                Err(self.fail(error))
            }
        }
    }

    fn restart(&mut self, ranges: &[Range]) -> StoreResult<()> {
        match self.start_over(ranges) {
            Ok(()) => {
                self.failed = None;
                Ok(())
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    fn unread(&self) -> StoreResult<Vec<Range>> {
        check_resumable(&self.options)?;
        // Entries that are pending, or were dropped when the scan failed, may lie in ranges that
        // have been read.
        let is_behind = self.beyond.is_empty() && self.failed.is_none() && self.late.is_none();
        let left = self.left_from(if is_behind { self.range } else { self.first });
        Ok(match &self.late {
            None => left,
            // Without the row before which the scan stops.
            Some(late) => Range::merge(left.into_iter().chain(late.behind.clone()).collect()),
        })
    }
}

/// Returns an error unless the scan keeps what resuming needs.
pub(super) fn check_resumable(options: &ScanOptions) -> StoreResult<()> {
    if options.resumable {
        return Ok(());
    }
    Err(Error::invalid(
        "the scan does not know what it has read: start it with the option `resumable`",
    ))
}

/// Without the message of the panic, which may hold data that the reader must not see.
pub(super) fn panicked() -> Error {
    Error::new(
        ErrorKind::Internal,
        "the scan panicked; what is printed above says where. An iterator of your own may be at fault",
    )
}

/// Whether every row of the tablet is after the range.
fn starts_behind(version: &TableVersion, tablet: usize, range: &Range) -> bool {
    let (Some(after), Some(end)) = (&version.tablets()[tablet].extent.after, range.end()) else {
        return false;
    };
    // Rows of the tablet are greater than `after`.
    end.row.as_slice() <= after.as_slice()
}

enum Clip {
    Inside,
    Part(Box<Range>),
    Nothing,
}

/// The part of `range` that is in a tablet; usually all of it. `first` says that the range starts
/// there.
fn clip(version: &TableVersion, tablet: usize, range: &Range, first: bool) -> Clip {
    let extent = &version.tablets()[tablet].extent;
    let starts_inside = first
        || match (&extent.after, range.start()) {
            (None, _) => true,
            (Some(after), Some(start)) => start.row > *after,
            (Some(_), None) => false,
        };
    let ends_inside = match (&extent.through, range.end()) {
        (None, _) => true,
        (Some(through), Some(end)) => end.row <= *through,
        (Some(_), None) => false,
    };
    if starts_inside && ends_inside {
        return Clip::Inside;
    }
    range
        .clip(&version.tablets()[tablet].range())
        .map_or(Clip::Nothing, |part| Clip::Part(Box::new(part)))
}
