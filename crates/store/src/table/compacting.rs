//! Major compaction and splitting of a table's tablets.

use std::sync::Arc;

use ostrakon_cell::{CompactOptions, IteratorScope, IteratorSetting};

use super::core::{Busy, TableCore};
use crate::catalog::{Fence, FileReference};
use crate::compaction::{Cancel, ChooseOptions, choose, rewrite, rewrite_on_two_threads};
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
    /// Whether a second thread may help.
    helped: bool,
}

/// Compactions of less are done before a second thread is under way.
const HELPED_BYTES: u64 = 16 << 20;

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
        let outcome = self.run_measured(&job);
        self.busy
            .lock()
            .chosen
            .retain(|(_, cancel)| !cancel.is(&job.cancel));
        self.release(&job.tablet.extent.through);
        match outcome {
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
        {
            let mut busy = self.busy.lock();
            busy.cancels.push(cancel.clone());
            busy.wanted.push(wanted.clone());
            // What the background merges now would be merged again at once.
            for (extent, chosen) in &busy.chosen {
                if extent.intersection(&wanted).is_some() {
                    chosen.cancel();
                }
            }
        }
        let outcome = self.compact_tablets(&wanted, options, &cancel);
        let mut busy = self.busy.lock();
        busy.cancels.retain(|other| !other.is(&cancel));
        if let Some(at) = busy.wanted.iter().position(|other| *other == wanted) {
            busy.wanted.swap_remove(at);
        }
        drop(busy);
        outcome
    }

    fn compact_tablets(
        &self,
        wanted: &Fence,
        options: &CompactOptions,
        cancel: &Cancel,
    ) -> StoreResult<()> {
        let layout = self.layout();
        let mut tablets: Vec<_> = layout
            .tablets()
            .iter()
            .filter(|tablet| tablet.extent.intersection(wanted).is_some())
            .collect();
        // The largest first, so that no thread is left alone with it in the end.
        tablets.sort_by_cached_key(|tablet| std::cmp::Reverse(bytes_of(tablet)));
        let ends: Vec<Option<Vec<u8>>> = tablets
            .into_iter()
            .map(|tablet| tablet.extent.through.clone())
            .collect();
        let next = std::sync::atomic::AtomicUsize::new(0);
        let threads_most = self.context.options.compaction_threads;
        let work = || {
            loop {
                let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let Some(end) = ends.get(at) else {
                    return Ok(());
                };
                // The last one has threads beside it that find nothing more to do.
                let helped = threads_most > 1 && at + 1 == ends.len();
                self.compact_whole(end, options, cancel, helped)?;
            }
        };
        let count = threads_most.clamp(1, ends.len().max(1));
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
        helped: bool,
    ) -> StoreResult<()> {
        loop {
            cancel.check()?;
            self.check_exists()?;
            self.claim(end);
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
                helped,
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
        let range = job.tablet.range();
        let entries = if job.helped && job.tablet.bytes() >= HELPED_BYTES {
            rewrite_on_two_threads(&mut stack, &range, &mut writer, &job.cancel)?
        } else {
            rewrite(&mut stack, &range, &mut writer, &job.cancel)?
        };
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

    /// Takes a tablet for one compaction, when nobody else has it any more.
    fn claim(&self, end: &Option<Vec<u8>>) {
        let mut busy = self.busy.lock();
        while !busy.tablets.insert(end.clone()) {
            self.idle.wait(&mut busy);
        }
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

impl Busy {
    /// Whether a user's compaction takes care of these rows.
    fn is_wanted(&self, extent: &Fence) -> bool {
        self.wanted
            .iter()
            .any(|wanted| wanted.intersection(extent).is_some())
    }
}

/// Bytes of a tablet's files, with a look into the index of those it shares with others.
fn bytes_of(tablet: &TabletView) -> u64 {
    let shares = tablet.files.iter().map(|file| {
        let fence = file.reference.fence.intersection(&tablet.extent);
        let share = fence.and_then(|fence| file.file.reader().estimate(&fence).ok());
        share.map_or(file.reference.bytes, |(bytes, _)| bytes)
    });
    shares.sum()
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
