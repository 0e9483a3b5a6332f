//! Compactions and splits that a table starts by itself.

use std::sync::Arc;

use super::at_end::AtEnd;
use super::job::Job;
use crate::catalog::Fence;
use crate::compaction::{Cancel, ChooseOptions, choose};
use crate::error::{ErrorKind, StoreResult};
use crate::table::core::{Busy, TableCore};
use crate::tablet::{Layout, TabletFile, TabletView, split_points};

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
        let mut best: Option<(usize, Job)> = None;
        {
            let busy = self.busy.lock();
            for tablet in layout.tablets() {
                if tablet.files.len() < least
                    || busy.tablets.contains(&tablet.extent.through)
                    || busy.is_wanted(&tablet.extent)
                {
                    continue;
                }
                let sizes: Vec<u64> = tablet
                    .files
                    .iter()
                    .map(|file| file.reference.bytes)
                    .collect();
                let Some(range) = choose(&sizes, options) else {
                    continue;
                };
                // Tablets with most files are slowest to read: they come first.
                if best
                    .as_ref()
                    .is_none_or(|(files, _)| tablet.files.len() > *files)
                {
                    let job = Job {
                        tablet: tablet.clone(),
                        files: whole_files(tablet, range),
                        memory: Vec::new(),
                        memory_sequence: 0,
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
            if busy.is_wanted(extent) || !busy.tablets.insert(extent.through.clone()) {
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
        match self.run_measured(&job) {
            // Somebody wanted all files of the tablet merged.
            Err(error) if error.kind() == ErrorKind::Cancelled => Ok(true),
            outcome => outcome.map(|_| true),
        }
    }

    /// How far compaction is behind: files above the limit in the worst tablet, in percent of it.
    #[must_use]
    pub(crate) fn debt_percent(&self) -> u64 {
        let limit = self.config().file_max;
        let worst = self
            .layout()
            .tablets()
            .iter()
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
        let mut points = Vec::new();
        for tablet in self.layout().tablets() {
            if tablet.bytes() > config.split_threshold
                && tablet.extent.intersection(rows).is_some()
                && !self.busy.lock().tablets.contains(&tablet.extent.through)
            {
                points.extend(split_points(
                    tablet,
                    config.split_threshold,
                    config.split_row_max,
                )?);
            }
        }
        if points.is_empty() {
            return Ok(false);
        }
        self.split_at(&points)?;
        Ok(true)
    }

    pub(in crate::table) fn split_at(&self, rows: &[Vec<u8>]) -> StoreResult<()> {
        let _structure = self.structure.lock();
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
        let catalog = &self.context.catalog;
        let _ = catalog.transaction(|change| change.add_splits(self.id, rows))?;
        self.reload(|_| ())?;
        self.context
            .metrics
            .splits
            .add((self.layout().tablets().len() - before) as u64);
        Ok(())
    }
}

impl Busy {
    /// Whether a user's compaction takes care of these rows.
    fn is_wanted(&self, extent: &Fence) -> bool {
        self.wanted
            .iter()
            .any(|wanted| wanted.intersection(extent).is_some())
    }
}

/// The files at those positions, and with each all the tablet's references to it: one file must
/// not be half merged.
fn whole_files(tablet: &TabletView, range: std::ops::Range<usize>) -> Vec<TabletFile> {
    let chosen = &tablet.files[range];
    tablet
        .files
        .iter()
        .filter(|file| {
            chosen
                .iter()
                .any(|one| one.reference.file == file.reference.file)
        })
        .cloned()
        .collect()
}
