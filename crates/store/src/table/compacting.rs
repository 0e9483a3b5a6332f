//! Major compaction and splitting of a table's tablets.

use std::sync::Arc;

use ostrakon_cell::{CompactOptions, IteratorScope, IteratorSetting};

use super::core::TableCore;
use crate::catalog::{Fence, FileReference};
use crate::compaction::{Cancel, ChooseOptions, choose, rewrite};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::sorted_file::SortedFileWriter;
use crate::tablet::{
    TabletFile, TabletView, file_record, file_sources, split_points, writer_options,
};
use crate::threads;

/// One compaction: which files of which tablet.
struct Job {
    tablet: Arc<TabletView>,
    files: Vec<TabletFile>,
    user: bool,
    iterators: Vec<IteratorSetting>,
    cancel: Cancel,
}

impl TableCore {
    /// Runs the most pressing compaction, if one is worth it. Returns whether it did something.
    pub(crate) fn compact_once(&self) -> StoreResult<bool> {
        let config = self.config();
        let options = ChooseOptions {
            ratio: config.major_ratio,
            max_files: config.file_max,
        };
        let layout = self.layout();
        let mut best: Option<(usize, Job)> = None;
        {
            let busy = self.busy.lock();
            for tablet in layout.tablets() {
                if busy.tablets.contains(&tablet.extent.through) {
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
                        user: false,
                        iterators: Vec::new(),
                        cancel: Cancel::default(),
                    };
                    best = Some((tablet.files.len(), job));
                }
            }
        }
        let Some((_, job)) = best else {
            return Ok(false);
        };
        if !self.claim(&job.tablet.extent.through, false) {
            return Ok(true);
        }
        let outcome = self.run_measured(&job);
        self.release(&job.tablet.extent.through);
        outcome.map(|_| true)
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
        let config = self.config();
        let mut points = Vec::new();
        for tablet in self.layout().tablets() {
            if tablet.bytes() > config.split_threshold
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

    pub(super) fn split_at(&self, rows: &[Vec<u8>]) -> StoreResult<()> {
        let _structure = self.structure.lock();
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

    /// Merges all files of each tablet in the range into one, as a user asked.
    pub(super) fn compact_range(&self, options: &CompactOptions) -> StoreResult<()> {
        let wanted = Fence::new(options.start.clone(), options.end.clone());
        let cancel = Cancel::default();
        self.busy.lock().cancels.push(cancel.clone());
        let outcome = self.compact_tablets(&wanted, options, &cancel);
        self.busy.lock().cancels.retain(|other| !other.is(&cancel));
        outcome
    }

    fn compact_tablets(
        &self,
        wanted: &Fence,
        options: &CompactOptions,
        cancel: &Cancel,
    ) -> StoreResult<()> {
        let layout = self.layout();
        let ends: Vec<Option<Vec<u8>>> = layout
            .tablets()
            .iter()
            .filter(|tablet| tablet.extent.intersection(wanted).is_some())
            .map(|tablet| tablet.extent.through.clone())
            .collect();
        let next = std::sync::atomic::AtomicUsize::new(0);
        let work = || {
            loop {
                let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let Some(end) = ends.get(at) else {
                    return Ok(());
                };
                self.compact_whole(end, options, cancel)?;
            }
        };
        let count = self
            .context
            .options
            .compaction_threads
            .clamp(1, ends.len().max(1));
        let panicked = || Error::new(ErrorKind::Internal, "a compaction thread panicked");
        threads::run_on_all(count, panicked, work)
    }

    /// Compacts all files of the tablet that ends with `end`. One that was split or merged away
    /// meanwhile is passed over: its data was rewritten or is read with others.
    fn compact_whole(
        &self,
        end: &Option<Vec<u8>>,
        options: &CompactOptions,
        cancel: &Cancel,
    ) -> StoreResult<()> {
        loop {
            cancel.check()?;
            self.check_exists()?;
            if !self.claim(end, true) {
                continue;
            }
            let Some(tablet) = self.layout().ending_with(end.as_deref()).cloned() else {
                self.release(end);
                return Ok(());
            };
            if tablet.files.is_empty() {
                self.release(end);
                return Ok(());
            }
            let job = Job {
                files: tablet.files.clone(),
                tablet,
                user: true,
                iterators: options.iterators.clone(),
                cancel: cancel.clone(),
            };
            let outcome = self.run_measured(&job);
            self.release(end);
            if outcome? {
                return Ok(());
            }
        }
    }

    fn run_measured(&self, job: &Job) -> StoreResult<bool> {
        let (metrics, clock) = (&self.context.metrics, &self.context.clock);
        let begun = clock.monotonic_nanos();
        metrics.compactions_running.add(1);
        let outcome = self.run_job(job);
        metrics.compactions_running.subtract(1);
        metrics
            .compaction_nanos
            .add(clock.monotonic_nanos() - begun);
        outcome
    }

    /// Merges and publishes. `false` when the tablet changed meanwhile and the work was in vain.
    fn run_job(&self, job: &Job) -> StoreResult<bool> {
        let context = &self.context;
        let stacker = self.stacker();
        let full = job.files.len() == job.tablet.files.len();
        let sources = file_sources(&job.files, false);
        let mut stack = stacker.majc(sources, full, job.user, &job.iterators)?;
        let id = context.catalog.new_file_id();
        let options = writer_options(&stacker.config, IteratorScope::Majc);
        let mut writer = SortedFileWriter::create(&context.vfs, &context.files.path(id), options)?;
        let entries = rewrite(&mut stack, &job.tablet.range(), &mut writer, &job.cancel)?;
        drop(stack);
        let output = if entries == 0 {
            drop(writer);
            None
        } else {
            let records = || job.files.iter().map(|file| file.file.record());
            let generation = records().map(|file| file.generation).max().unwrap_or(0) + 1;
            let sequence = records().map(|file| file.sequence).max().unwrap_or(0);
            Some(file_record(
                id,
                writer.finish()?,
                generation,
                sequence,
                stacker.now_millis,
            ))
        };
        let take: Vec<FileReference> = job
            .files
            .iter()
            .map(|file| file.reference.clone())
            .collect();
        let give: Vec<FileReference> = output.iter().map(FileReference::whole).collect();
        let _structure = self.structure.lock();
        let committed = context.catalog.transaction(|change| {
            // Splits and merges leave other references behind, and replacing fails.
            let now = change.tablet(self.id, job.tablet.extent.through.as_deref())?;
            if now.extent != job.tablet.extent {
                return Err(Error::not_found("the tablet changed"));
            }
            if let Some(file) = &output {
                change.add_file(file)?;
            }
            change.replace_files(self.id, job.tablet.extent.through.as_deref(), &take, &give)
        });
        match committed {
            Ok(committed) => {
                self.reload(|_| ())?;
                context.files.retire(&committed.unreferenced);
                let metrics = &context.metrics;
                metrics.compactions.increment();
                metrics
                    .compaction_entries_read
                    .add(take.iter().map(|file| file.entries).sum());
                metrics
                    .compaction_bytes_read
                    .add(take.iter().map(|file| file.bytes).sum());
                metrics
                    .compaction_entries_written
                    .add(give.iter().map(|file| file.entries).sum());
                metrics
                    .compaction_bytes_written
                    .add(give.iter().map(|file| file.bytes).sum());
                context.wakeups.keep.wake();
                Ok(true)
            }
            Err(error) => {
                context.discard(&[id]);
                if error.kind() == ErrorKind::NotFound {
                    Ok(false)
                } else {
                    Err(error)
                }
            }
        }
    }

    /// Takes a tablet for one compaction; with `wait` waits until nobody else has it.
    fn claim(&self, end: &Option<Vec<u8>>, wait: bool) -> bool {
        let mut busy = self.busy.lock();
        while !busy.tablets.insert(end.clone()) {
            if !wait {
                return false;
            }
            self.idle.wait(&mut busy);
        }
        true
    }

    fn release(&self, end: &Option<Vec<u8>>) {
        self.busy.lock().tablets.remove(end);
        self.idle.notify_all();
    }

    /// Stops the compactions that users asked for.
    pub(crate) fn cancel_user_compactions(&self) {
        for cancel in &self.busy.lock().cancels {
            cancel.cancel();
        }
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
