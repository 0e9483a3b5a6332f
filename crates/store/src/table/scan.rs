//! Scans: a snapshot, ranges, and one stack of iterators for each tablet they touch.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hashbrown::HashMap;
use ostrakon_cell::{
    Authorizations, Batch, BoxedIterator, Range, Scan, ScanOptions, SortedKeyValueIterator,
};

use super::core::{Snapshot, TableCore};
use super::parallel::ParallelScan;
use crate::error::StoreResult;
use crate::tablet::{Layout, Stacker, tablet_sources};

/// Stacks kept for tablets that a scan may come back to.
const KEPT_STACKS: usize = 64;

/// A scan that reads one range after the other.
pub(super) struct SerialScan {
    table: Arc<TableCore>,
    options: ScanOptions,
    authorizations: Arc<Authorizations>,
    snapshot: Arc<Snapshot>,
    stacker: Stacker,
    /// Sorted and disjoint; shared with the other threads of an unordered scan.
    ranges: Arc<Vec<Range>>,
    /// The range read now, where to stop, and the tablet within it.
    range: usize,
    last: usize,
    tablet: Option<usize>,
    stacks: HashMap<usize, BoxedIterator>,
    /// The stack that has more to give.
    current: Option<BoxedIterator>,
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
            stacks: HashMap::new(),
            current: None,
        };
        scan.set_ranges(ranges);
        // Wrong iterators are refused now, not when the first tablet is read.
        scan.stacker
            .scan(Vec::new(), &scan.authorizations, &scan.options.iterators)?;
        Ok(scan)
    }

    fn set_ranges(&mut self, ranges: &[Range]) {
        match ranges {
            [one] if !one.is_empty() => match Arc::get_mut(&mut self.ranges).map(Vec::as_mut_slice)
            {
                // Looking up row after row allocates nothing.
                Some([own]) => own.clone_from(one),
                _ => self.ranges = Arc::new(vec![one.clone()]),
            },
            many => self.ranges = Arc::new(Range::merge(many.to_vec())),
        }
        self.range = 0;
        self.last = self.ranges.len();
        self.tablet = None;
    }

    /// Goes to some of other ranges, which must be sorted and disjoint, within the same snapshot.
    pub(super) fn set_piece(&mut self, ranges: &Arc<Vec<Range>>, piece: std::ops::Range<usize>) {
        if let Some(stack) = self.current.take() {
            self.keep(stack);
        }
        self.ranges = ranges.clone();
        self.range = piece.start;
        self.last = piece.end;
        self.tablet = None;
    }

    pub(super) fn ranges(&self) -> &Arc<Vec<Range>> {
        &self.ranges
    }

    pub(super) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// Goes to the next piece of work: the next tablet of the range, or the next range. `false`
    /// when there is none.
    fn next_piece(&mut self) -> StoreResult<bool> {
        loop {
            let Some(range) = self
                .ranges
                .get(self.range)
                .filter(|_| self.range < self.last)
            else {
                return Ok(false);
            };
            let layout = &self.snapshot.layout;
            let tablet = match self.tablet {
                None => range.start().map_or(0, |start| layout.position(&start.row)),
                Some(tablet) => tablet + 1,
            };
            if tablet >= layout.tablets().len() || starts_behind(layout, tablet, range) {
                self.range += 1;
                self.tablet = None;
                continue;
            }
            self.tablet = Some(tablet);
            let clipped = clip(layout, tablet, range);
            let piece = match &clipped {
                Clip::Inside => range,
                Clip::Part(part) => part,
                Clip::Nothing => continue,
            };
            let mut stack = match self.stacks.remove(&tablet) {
                Some(stack) => stack,
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
            if self.stacks.len() >= KEPT_STACKS {
                self.stacks.clear();
            }
            self.stacks.insert(tablet, stack);
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
            self.stacker = self.table.stacker();
            self.snapshot = Arc::new(self.table.snapshot());
        }
        self.set_ranges(ranges);
        Ok(())
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

/// The part of `range` that lies in a tablet; mostly all of it.
fn clip(layout: &Layout, tablet: usize, range: &Range) -> Clip {
    let extent = &layout.tablets()[tablet].extent;
    let starts_inside = match (&extent.after, range.start()) {
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
