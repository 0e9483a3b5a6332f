//! Scans: a snapshot, ranges, and one stack of iterators for each tablet they touch.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ostrakon_cell::{Authorizations, Batch, BoxedIterator, Range, Scan, ScanOptions};

use super::core::{Snapshot, TableCore};
use super::parallel::ParallelScan;
use super::ranges::RangeList;
use crate::error::StoreResult;
use crate::sorted_file::Warmer;
use crate::tablet::{Layout, Stacker, tablet_sources};

/// Places for stacks of tablets that a scan may come back to; a tablet has one of them, by its number.
const KEPT_STACKS: usize = 64;

/// A scan of at least so many ranges warms look-ups before it does them.
const WARM_FROM: usize = 16;

/// Look-ups warmed together: enough to wait for memory all at once, few enough to stay in the nearest caches.
const WARM_TOGETHER: usize = 16;

/// A tablet of more files is not warmed: most look-ups end in few of them.
const WARM_FILES: usize = 2;

/// A scan that reads one range after the other.
pub(super) struct SerialScan {
    table: Arc<TableCore>,
    options: ScanOptions,
    authorizations: Arc<Authorizations>,
    snapshot: Arc<Snapshot>,
    stacker: Stacker,
    /// Shared with the other threads of an unordered scan. A look-up of one range after the other leaves it alone.
    ranges: Arc<RangeList>,
    /// The range read now, where to stop, and the tablet within it.
    range: usize,
    last: usize,
    tablet: Option<usize>,
    /// The range whose number `loaded` is.
    present: Range,
    loaded: Option<usize>,
    /// Stacks with their tablets, at the tablet's number modulo the length; empty until something is kept.
    stacks: Vec<Option<(usize, BoxedIterator)>>,
    /// The stack that has more to give.
    current: Option<BoxedIterator>,
    warm: Warm,
}

/// How far the ranges of a scan are warmed.
#[derive(Default)]
struct Warm {
    /// The first range that is not.
    through: usize,
    /// For the files of this tablet.
    tablet: Option<usize>,
    files: Vec<Warmer>,
}

impl TableCore {
    pub(super) fn start_scan(
        self: &Arc<Self>,
        ranges: &[Range],
        options: &ScanOptions,
    ) -> StoreResult<Box<dyn Scan>> {
        let scan = SerialScan::new(self.clone(), ranges, options)?;
        if options.ordered {
            return Ok(Box::new(scan));
        }
        Ok(Box::new(ParallelScan::new(self.clone(), scan, options)))
    }
}

impl SerialScan {
    pub(super) fn new(
        table: Arc<TableCore>,
        ranges: &[Range],
        options: &ScanOptions,
    ) -> StoreResult<Self> {
        let snapshot = Arc::new(table.snapshot());
        Self::over(table, snapshot, ranges, options)
    }

    /// A scan of a given snapshot.
    pub(super) fn over(
        table: Arc<TableCore>,
        snapshot: Arc<Snapshot>,
        ranges: &[Range],
        options: &ScanOptions,
    ) -> StoreResult<Self> {
        table.check_online()?;
        let mut scan = Self {
            stacker: table.stacker(),
            authorizations: Arc::new(options.authorizations.clone()),
            options: options.clone(),
            snapshot,
            table,
            ranges: Arc::default(),
            range: 0,
            last: 0,
            tablet: None,
            present: Range::all(),
            loaded: None,
            stacks: Vec::new(),
            current: None,
            warm: Warm::default(),
        };
        scan.set_ranges(ranges);
        // Wrong iterators are refused now, not when the first tablet is read; the table's own were looked at when they
        // were set.
        if !scan.options.iterators.is_empty() {
            scan.stacker
                .scan(Vec::new(), &scan.authorizations, &scan.options.iterators)?;
        }
        Ok(scan)
    }

    fn set_ranges(&mut self, ranges: &[Range]) {
        self.loaded = None;
        match ranges {
            // Looking up row after row allocates nothing.
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
        self.tablet = None;
        self.warm.through = 0;
    }

    /// Goes to some of other ranges, which must be sorted and disjoint, within the same snapshot.
    pub(super) fn set_piece(&mut self, ranges: &Arc<RangeList>, piece: std::ops::Range<usize>) {
        if let Some(stack) = self.current.take() {
            self.keep(stack);
        }
        self.ranges = ranges.clone();
        self.range = piece.start;
        self.last = piece.end;
        self.loaded = None;
        self.tablet = None;
        self.warm.through = piece.start;
    }

    pub(super) fn ranges(&self) -> &Arc<RangeList> {
        &self.ranges
    }

    pub(super) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// Goes to the next piece of work: the next tablet of the range, or the next range. `false`
    /// when there is none.
    fn next_piece(&mut self) -> StoreResult<bool> {
        loop {
            if self.range >= self.last {
                return Ok(false);
            }
            let layout = &self.snapshot.layout;
            if self.range >= self.warm.through && self.last - self.range >= WARM_FROM {
                let ahead = self.range..self.last.min(self.range + WARM_TOGETHER);
                self.warm.through = self.warm.ahead(layout, &self.ranges, ahead)?;
            }
            if self.loaded != Some(self.range) {
                self.loaded = Some(self.range);
                if !self.ranges.read(self.range, &mut self.present) {
                    return Ok(false);
                }
            }
            let range = &self.present;
            let tablet = match self.tablet {
                None => range.start().map_or(0, |start| layout.position(&start.row)),
                Some(tablet) => tablet + 1,
            };
            // The first tablet of a range holds its start.
            let first = self.tablet.is_none() && range.start().is_some();
            if tablet >= layout.tablets().len() || (!first && starts_behind(layout, tablet, range))
            {
                self.range += 1;
                self.tablet = None;
                continue;
            }
            self.tablet = Some(tablet);
            let clipped = clip(layout, tablet, range, first);
            let piece = match &clipped {
                Clip::Inside => range,
                Clip::Part(part) => part,
                Clip::Nothing => continue,
            };
            let kept = self.stacks.get_mut(tablet % KEPT_STACKS);
            let mut stack = match kept.and_then(|kept| kept.take_if(|kept| kept.0 == tablet)) {
                Some((_, stack)) => stack,
                None => {
                    let view = &layout.tablets()[tablet];
                    let sources = tablet_sources(
                        view,
                        &self.snapshot.memtables,
                        self.stacker.config.cache_blocks,
                    );
                    self.stacker
                        .scan(sources, &self.authorizations, &self.options.iterators)?
                }
            };
            stack.seek(piece, &self.options.columns)?;
            self.current = Some(stack);
            return Ok(true);
        }
    }

    /// Keeps a stack for when the scan comes back to its tablet.
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

impl Scan for SerialScan {
    fn next_batch(&mut self, out: &mut Batch) -> StoreResult<bool> {
        out.clear();
        loop {
            if self.current.is_none() && !self.next_piece()? {
                break;
            }
            let Some(mut stack) = self.current.take() else {
                break;
            };
            let more = stack.next_batch(out, self.options.batch)?;
            if more {
                self.current = Some(stack);
            } else {
                self.keep(stack);
            }
            if out.is_full(self.options.batch) {
                break;
            }
        }
        let metrics = &self.table.context.metrics;
        metrics.entries_read.add(out.len() as u64);
        metrics.bytes_read.add(out.byte_len() as u64);
        Ok(!out.is_empty())
    }

    fn restart(&mut self, ranges: &[Range]) -> StoreResult<()> {
        if let Some(stack) = self.current.take() {
            self.keep(stack);
        }
        if self.table.epoch.load(Ordering::Acquire) != self.snapshot.epoch {
            self.table.check_online()?;
            self.stacks.clear();
            self.warm = Warm::default();
            self.stacker = self.table.stacker();
            self.snapshot = Arc::new(self.table.snapshot());
        }
        self.set_ranges(ranges);
        Ok(())
    }
}

impl Warm {
    /// Warms those of some ranges that lie in the first one's tablet; gives the first range that is left.
    fn ahead(
        &mut self,
        layout: &Layout,
        list: &RangeList,
        ranges: std::ops::Range<usize>,
    ) -> StoreResult<usize> {
        let next = ranges.start + 1;
        let Some(first) = list.row(ranges.start) else {
            return Ok(next);
        };
        let tablet = layout.position(first);
        let Some(view) = layout.tablets().get(tablet) else {
            return Ok(next);
        };
        let through = view.extent.through.as_deref();
        let inside = |row: &[u8]| through.is_none_or(|through| row <= through);
        let start = ranges.start;
        let rows = ranges
            .filter_map(|at| list.row(at))
            .take_while(|row| inside(row));
        if self.tablet != Some(tablet) {
            self.tablet = Some(tablet);
            self.files.clear();
            if view.files.len() <= WARM_FILES {
                for file in &view.files {
                    self.files.push(Warmer::new(file.file.reader())?);
                }
            }
        }
        for file in &mut self.files {
            file.warm(rows.clone());
        }
        Ok(start + rows.count().max(1))
    }
}

/// Whether every row of the tablet lies behind the range.
fn starts_behind(layout: &Layout, tablet: usize, range: &Range) -> bool {
    let (Some(after), Some(end)) = (&layout.tablets()[tablet].extent.after, range.end()) else {
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

/// The part of `range` that lies in a tablet; mostly all of it. `first` says that the range starts there.
fn clip(layout: &Layout, tablet: usize, range: &Range, first: bool) -> Clip {
    let extent = &layout.tablets()[tablet].extent;
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
        .clip(&layout.tablets()[tablet].range())
        .map_or(Clip::Nothing, |part| Clip::Part(Box::new(part)))
}
