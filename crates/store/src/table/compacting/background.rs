//! Compactions and splits that a table starts by itself.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ostrakon_cell::Activity;

use super::at_end::AtEnd;
use super::job::Job;
use crate::catalog::Fence;
use crate::compaction::{Cancel, ChooseOptions, caught};
use crate::error::StoreResult;
use crate::table::core::{Busy, TableCore};
use crate::tablet::{Layout, split_points};
use crate::version::may_merge;

impl TableCore {
    /// Runs the most pressing compaction, if one is worth it. Returns whether it did something.
    pub(crate) fn compact_once(&self) -> StoreResult<bool> {
        let config = self.config();
        let options = ChooseOptions {
            ratio: config.major_ratio,
            max_files: config.file_max,
        };
        // While writers fill memory they need the cores: files then may come together up to the
        // limit and are merged many at a time, and each entry is rewritten less often.
        let flush_bytes = self.context.options.flush_bytes();
        let filling = self
            .context
            .pressure
            .is_filling(flush_bytes / 2, &*self.context.clock);
        let least = if filling { options.max_files } else { 0 };
        let layout = self.layout();
        let failures = &self.failures;
        let clock = &*self.context.clock;
        failures.keep_tablets(|extent| {
            let tablet = layout.with_end_of(extent);
            tablet.is_some_and(|tablet| tablet.extent == *extent)
        });
        let most = layout.tablets().iter().map(|tablet| tablet.files.len());
        self.most_files
            .store(most.max().unwrap_or(0), Ordering::Relaxed);
        let mut best: Option<(usize, Job)> = None;
        {
            let busy = self.busy.lock();
            for tablet in layout.tablets() {
                if tablet.files.len() < least
                    || busy.tablets.contains(&tablet.extent.through)
                    || (tablet.files.len() <= options.max_files && busy.is_wanted(&tablet.extent))
                    || !failures.is_due(Activity::Compaction, Some(&tablet.extent), clock)
                {
                    continue;
                }
                let sizes: Vec<u64> = tablet
                    .files
                    .iter()
                    .map(|file| file.reference.bytes)
                    .collect();
                let is_allowed = |range: &Range<usize>| may_merge(tablet, range);
                let chosen = self.context.chooser.choose(&sizes, options, &is_allowed);
                let Some(range) = chosen.filter(is_allowed) else {
                    continue;
                };
                // Tablets with most files are slowest to read: they come first.
                if best
                    .as_ref()
                    .is_none_or(|(files, _)| tablet.files.len() > *files)
                {
                    let job = Job {
                        tablet: tablet.clone(),
                        files: tablet.files[range].to_vec(),
                        memory: Vec::new(),
                        memory_ages: None,
                        user: false,
                        iterators: Vec::new(),
                        cancel: Cancel::default(),
                        helped: false,
                    };
                    best = Some((tablet.files.len(), job));
                }
            }
        }
        let Some((_, job)) = best else {
            return Ok(false);
        };
        {
            let mut busy = self.busy.lock();
            let extent = &job.tablet.extent;
            let is_wanted = job.tablet.files.len() <= options.max_files && busy.is_wanted(extent);
            if is_wanted || !busy.tablets.insert(extent.through.clone()) {
                return Ok(true);
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
        // A failure is the tablet's own, and was recorded. A cancelled one gives way to a user's compaction.
        let _ = self.note(Activity::Compaction, Some(&job.tablet.extent), outcome);
        Ok(true)
    }

    /// How far compaction is behind: files above the limit in the worst tablet, in percent of it. Tablets of which
    /// compactions fail do not count: waiting for them helps no writer.
    #[must_use]
    pub(crate) fn debt_percent(&self) -> u64 {
        let limit = self.config().file_max;
        let clock = &*self.context.clock;
        let version = self.layout();
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

    /// Splits tablets that have grown past the threshold. Returns whether some were.
    pub(crate) fn split_large(&self) -> StoreResult<bool> {
        self.split_large_of(&Fence::ALL)
    }

    /// As [`split_large`](Self::split_large), of the tablets with some of these rows.
    pub(super) fn split_large_of(&self, rows: &Fence) -> StoreResult<bool> {
        let config = self.config();
        let clock = &*self.context.clock;
        let mut points = Vec::new();
        for tablet in self.layout().tablets() {
            if tablet.bytes() > config.split_threshold
                && tablet.extent.intersection(rows).is_some()
                && !self.busy.lock().tablets.contains(&tablet.extent.through)
                && self
                    .failures
                    .is_due(Activity::Split, Some(&tablet.extent), clock)
            {
                let found = split_points(tablet, config.split_threshold, config.split_row_max);
                // A file of it may be damaged: that is met by its own reads, not by other tablets.
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

    /// Splits if the tablets and their files are still those of `layout`.
    pub(super) fn split_unless_changed(
        &self,
        layout: &Arc<Layout>,
        rows: &[Vec<u8>],
    ) -> StoreResult<()> {
        let _structure = self.structure.lock();
        if Arc::ptr_eq(&self.layout(), layout) {
            self.split_under_structure(rows)?;
        }
        Ok(())
    }

    /// Under `structure`.
    fn split_under_structure(&self, rows: &[Vec<u8>]) -> StoreResult<()> {
        self.check_exists()?;
        let before = self.layout().tablets().len();
        let _ = self.edit(|change| change.add_splits(self.id, rows), |_| ())?;
        self.context
            .metrics
            .splits
            .add((self.layout().tablets().len() - before) as u64);
        Ok(())
    }
}

impl Busy {
    /// Whether a user's compaction takes care of these rows. It may take hours to come to them: tablets with too many
    /// files do not wait for it.
    fn is_wanted(&self, extent: &Fence) -> bool {
        self.wanted
            .iter()
            .any(|wanted| wanted.intersection(extent).is_some())
    }
}
