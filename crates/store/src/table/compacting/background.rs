//! Automatic compactions and splits of a table.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ostrakon_cell::Activity;

use super::at_end::AtEnd;
use super::job::Job;
use crate::catalog::Fence;
use crate::compaction::{ChooseOptions, caught};
use crate::error::StoreResult;
use crate::table::core::{Busy, TableCore};
use crate::tablet::{TableVersion, TabletView, split_points};
use crate::version::may_merge;

/// Maximum number of tablets that one pass over a table collects: the most urgent ones.
const NOTED_MOST: usize = 64;

/// Tablets worth compacting, by their end rows, the most urgent one last. Collected in one pass
/// over all tablets, so that a large table is not searched for each of its compactions.
#[derive(Default)]
pub(in crate::table) struct Pressing(Vec<Option<Vec<u8>>>);

/// Parameters of the choice among the files of a tablet.
struct Choosing {
    options: ChooseOptions,
    /// Minimum number of files of a tablet.
    least: usize,
}

impl TableCore {
    /// Runs the most urgent compaction, if one is worth it. Returns whether it did.
    pub(crate) fn compact_once(&self) -> StoreResult<bool> {
        let version = self.version();
        let choosing = self.choosing();
        self.most_files
            .store(version.most_files(), Ordering::Relaxed);
        let Some(job) = self.most_pressing(&version, &choosing) else {
            return Ok(false);
        };
        self.run_chosen(job);
        Ok(true)
    }

    fn choosing(&self) -> Choosing {
        let config = self.config();
        let options = ChooseOptions {
            ratio: config.major_ratio,
            max_files: config.file_max,
        };
        // While writers fill memory they need the cores. Files may then accumulate up to the limit
        // and are merged many at a time, so that each entry is rewritten less often.
        let context = &self.context;
        let flush_bytes = context.options.flush_bytes();
        let filling = context
            .pressure
            .is_filling(flush_bytes / 2, &*context.clock);
        let least = if filling { options.max_files } else { 0 };
        Choosing { options, least }
    }

    fn most_pressing(&self, version: &TableVersion, choosing: &Choosing) -> Option<Job> {
        let mut pressing = self.pressing.lock();
        let mut is_fresh = false;
        loop {
            while let Some(end) = pressing.0.pop() {
                let Some(tablet) = version.with_end(end.as_deref()) else {
                    continue;
                };
                let is_late = tablet.files.len() > choosing.options.max_files;
                if !is_late && !is_fresh && version.most_files() > choosing.options.max_files {
                    // Other tablets have accumulated files since the list was made.
                    pressing.0.clear();
                } else if let Some(files) = self.choose_files(tablet, choosing) {
                    let files = tablet.files[files].to_vec();
                    return Some(Job::of_background(tablet.clone(), files));
                }
            }
            if is_fresh {
                return None;
            }
            pressing.0 = self.find_pressing(version, choosing);
            is_fresh = true;
        }
    }

    /// One pass over all tablets.
    fn find_pressing(&self, version: &TableVersion, choosing: &Choosing) -> Vec<Option<Vec<u8>>> {
        self.failures.keep_tablets(|extent| {
            let tablet = version.with_end_of(extent);
            tablet.is_some_and(|tablet| tablet.extent == *extent)
        });
        // Tablets with the most files are slowest to read: they come first, and of equals the first
        // in row order.
        let mut found: BinaryHeap<Reverse<(usize, Reverse<usize>)>> = BinaryHeap::new();
        for (at, tablet) in version.tablets().iter().enumerate() {
            let place = (tablet.files.len(), Reverse(at));
            let is_full = found.len() == NOTED_MOST;
            if is_full && found.peek().is_some_and(|Reverse(least)| *least >= place) {
                continue;
            }
            if self.choose_files(tablet, choosing).is_some() {
                if is_full {
                    found.pop();
                }
                found.push(Reverse(place));
            }
        }
        // In ascending order of `Reverse`: the most urgent first.
        let mut found = found.into_sorted_vec();
        found.reverse();
        let ends = found.into_iter().filter_map(|Reverse((_, Reverse(at)))| {
            let tablet = version.tablets().get(at)?;
            Some(tablet.extent.through.clone())
        });
        ends.collect()
    }

    /// Which files of a tablet to merge now; `None` if it is not worth it, or the tablet is
    /// claimed.
    fn choose_files(&self, tablet: &TabletView, choosing: &Choosing) -> Option<Range<usize>> {
        let Choosing { options, least } = *choosing;
        let extent = &tablet.extent;
        if tablet.files.is_empty()
            || tablet.files.len() < least
            || !self.may_compact(extent, tablet.files.len(), options)
        {
            return None;
        }
        let sizes: Vec<u64> = tablet
            .files
            .iter()
            .map(|file| file.reference.bytes)
            .collect();
        let is_allowed = |range: &Range<usize>| may_merge(tablet, range);
        let chosen = self.context.chooser.choose(&sizes, options, &is_allowed);
        chosen.filter(is_allowed)
    }

    fn may_compact(&self, extent: &Fence, files: usize, options: ChooseOptions) -> bool {
        let clock = &*self.context.clock;
        if !self
            .failures
            .is_due(Activity::Compaction, Some(extent), clock)
        {
            return false;
        }
        let busy = self.busy.lock();
        !busy.tablets.contains(&extent.through)
            && (files > options.max_files || !busy.is_wanted(extent))
    }

    /// Runs a compaction chosen by the background, unless the tablet is claimed by now. Returns
    /// whether it ran.
    pub(super) fn run_chosen(&self, job: Job) -> bool {
        {
            let mut busy = self.busy.lock();
            let extent = &job.tablet.extent;
            let is_late = job.tablet.files.len() > self.config().file_max;
            if (!is_late && busy.is_wanted(extent)) || !busy.tablets.insert(extent.through.clone())
            {
                return false;
            }
            busy.chosen.push((extent.clone(), job.cancel.clone()));
        }
        let _ended = AtEnd(|| {
            self.busy
                .lock()
                .chosen
                .retain(|(_, cancel)| !cancel.is(&job.cancel));
            self.release(&job.tablet.extent.through);
        });
        let outcome = caught(|| self.run_measured(&job));
        // A failure belongs to the tablet and was recorded. A cancelled compaction gives way to a
        // user's.
        let _ = self.note(Activity::Compaction, Some(&job.tablet.extent), outcome);
        true
    }

    /// The compaction backlog: files above the limit in the worst tablet, in percent of the limit.
    /// Tablets whose compactions fail do not count, because delaying writers would not help.
    #[must_use]
    pub(crate) fn debt_percent(&self) -> u64 {
        let limit = self.config().file_max;
        let clock = &*self.context.clock;
        let version = self.version();
        if version.most_files() <= limit {
            return 0;
        }
        let worst = version
            .tablets()
            .iter()
            .filter(|tablet| {
                let extent = Some(&tablet.extent);
                self.failures.is_due(Activity::Compaction, extent, clock)
            })
            .map(|tablet| tablet.files.len())
            .max();
        (worst.unwrap_or(0).saturating_sub(limit) * 100 / limit.max(1)) as u64
    }

    /// Splits tablets that are larger than the threshold. Returns whether there were any.
    pub(crate) fn split_large(&self) -> StoreResult<bool> {
        self.split_large_of(&Fence::ALL)
    }

    /// As [`split_large`](Self::split_large), for the tablets that overlap these rows.
    pub(super) fn split_large_of(&self, rows: &Fence) -> StoreResult<bool> {
        let config = self.config();
        let clock = &*self.context.clock;
        let mut points = Vec::new();
        for tablet in self.version().larger_than(config.split_threshold) {
            if tablet.extent.intersection(rows).is_some()
                && !self.busy.lock().tablets.contains(&tablet.extent.through)
                && self
                    .failures
                    .is_due(Activity::Split, Some(&tablet.extent), clock)
            {
                let found = split_points(tablet, config.split_threshold, config.split_row_max);
                // A file of it may be damaged: that affects its own reads, not other tablets.
                let noted = self.note(Activity::Split, Some(&tablet.extent), found);
                points.extend(noted.unwrap_or_default());
            }
        }
        if points.is_empty() {
            return Ok(false);
        }
        let outcome = self.split_at(&points);
        Ok(self.note(Activity::Split, None, outcome).is_ok())
    }

    pub(in crate::table) fn split_at(&self, rows: &[Vec<u8>]) -> StoreResult<()> {
        let _structure = self.structure.lock();
        self.check_online()?;
        self.split_under_structure(rows)
    }

    /// Splits if the tablets and their files are still those of `version`.
    pub(super) fn split_unless_changed(
        &self,
        version: &Arc<TableVersion>,
        rows: &[Vec<u8>],
    ) -> StoreResult<()> {
        let _structure = self.structure.lock();
        if Arc::ptr_eq(&self.version(), version) {
            self.split_under_structure(rows)?;
        }
        Ok(())
    }

    /// Under `structure`.
    fn split_under_structure(&self, rows: &[Vec<u8>]) -> StoreResult<()> {
        self.check_exists()?;
        let before = self.version().tablets().len();
        let _ = self.edit(|change| change.add_splits(self.id, rows), |_| ())?;
        self.context
            .metrics
            .splits
            .add((self.version().tablets().len() - before) as u64);
        Ok(())
    }
}

impl Busy {
    /// Whether a user's compaction covers these rows. It may take hours to reach them: tablets with
    /// too many files do not wait for it.
    pub(super) fn is_wanted(&self, extent: &Fence) -> bool {
        self.wanted
            .iter()
            .any(|wanted| wanted.intersection(extent).is_some())
    }
}
