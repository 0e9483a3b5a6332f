//! The compaction of one tablet, from its files to the catalog.

use std::sync::Arc;

use ostrakon_cell::{Activity, BoxedIterator, IteratorScope, IteratorSetting};

use super::at_end::AtEnd;
use crate::catalog::{AgeRange, CatalogTransaction, FileId, FileRecord, FileReference};
use crate::compaction::{Cancel, StoppableIterator, rewrite, rewrite_on_two_threads};
use crate::error::{Error, StoreResult};
use crate::memtable::{MemtableIterator, MemtableSnapshot};
use crate::sorted_file::SortedFileWriter;
use crate::table::core::TableCore;
use crate::tablet::{
    IteratorStackBuilder, TabletFile, TabletView, file_record, file_sources, writer_options,
};

/// One compaction: a tablet and the files to merge.
pub(super) struct Job {
    pub(super) tablet: Arc<TabletView>,
    pub(super) files: Vec<TabletFile>,
    /// The memtables it includes, newest first; newer than the files.
    pub(super) memory: Vec<MemtableSnapshot>,
    /// The ages of these memtables; `None` without any.
    pub(super) memory_ages: Option<AgeRange>,
    pub(super) user: bool,
    pub(super) iterators: Vec<IteratorSetting>,
    pub(super) cancel: Cancel,
    /// Whether a second thread may help.
    pub(super) helped: bool,
}

/// Smaller compactions finish before a second thread would help.
const HELPED_BYTES: u64 = 16 << 20;

impl TableCore {
    /// [`run_job`](Self::run_job) with its duration measured.
    pub(super) fn run_measured(&self, job: &Job) -> StoreResult<bool> {
        self.measured(|| self.run_job(job))
    }

    /// Counts `work` as one running compaction.
    pub(super) fn measured<T>(&self, work: impl FnOnce() -> T) -> T {
        let (metrics, clock) = (&self.context.metrics, &self.context.clock);
        let begun = clock.monotonic_nanos();
        metrics.compactions_running.add(1);
        let _ended = AtEnd(|| {
            metrics.compactions_running.subtract(1);
            metrics
                .compaction_nanos
                .add(clock.monotonic_nanos() - begun);
        });
        work()
    }

    /// Writes the merged output of the job's sources to a new file; `None` if there is no output.
    /// Nothing is published.
    pub(super) fn write_job(&self, job: &Job) -> StoreResult<Option<FileRecord>> {
        let context = &self.context;
        context.health.check_open()?;
        let _running = self.begin_compaction(&job.tablet.extent, &job.iterators, &job.cancel);
        let stacker = self.stacker().stopped_by(&job.cancel);
        let full = job.files.len() == job.tablet.files.len();
        let mut stack = stacker.majc(
            job.sources(&stacker, |source, _| source)?,
            full,
            job.user,
            &job.iterators,
        )?;
        let id = context.catalog.new_file_id();
        let options = writer_options(&stacker.config, IteratorScope::Majc);
        let options = options.written_as(id, self.id);
        let mut writer = SortedFileWriter::create(&context.vfs, &context.files.path(id), options)?;
        let range = job.tablet.range();
        let entries = if job.helped && job.bytes() >= HELPED_BYTES {
            rewrite_on_two_threads(&mut stack, &range, &mut writer, &job.cancel)?
        } else {
            rewrite(&mut stack, &range, &mut writer, &job.cancel)?
        };
        drop(stack);
        if entries == 0 {
            return Ok(None);
        }
        let records = || job.files.iter().map(|file| file.file.record());
        let generation = records().map(|file| file.generation).max().unwrap_or(0) + 1;
        let ages = records().map(|file| file.ages).chain(job.memory_ages);
        let ages = AgeRange::hull_of(ages).unwrap_or_default();
        Ok(Some(file_record(
            id,
            writer.finish()?,
            generation,
            ages,
            stacker.now_millis,
        )))
    }

    /// Merges and publishes. `false` when the tablet changed meanwhile and the output was
    /// discarded.
    fn run_job(&self, job: &Job) -> StoreResult<bool> {
        let context = &self.context;
        let output = self.write_job(job)?;
        let take = job.taken();
        let give: Vec<FileReference> = output.iter().map(FileReference::whole).collect();
        let _structure = self.structure.lock();
        let change = |change: &mut CatalogTransaction<'_>| {
            // Splits and merges change the references, so that the replacement fails.
            let now = change.tablet(self.id, job.tablet.extent.through.as_deref())?;
            if now.extent != job.tablet.extent {
                return Err(Error::not_found("the tablet changed"));
            }
            if let Some(file) = &output {
                change.add_file(file)?;
            }
            change.replace_files(self.id, job.tablet.extent.through.as_deref(), &take, &give)
        };
        match self.edit(change, |_| ()) {
            Ok(committed) => {
                // A full compaction has read all files.
                self.failures
                    .succeeded(Activity::Compaction, Some(&job.tablet.extent));
                if job.files.len() == job.tablet.files.len() {
                    self.failures
                        .succeeded(Activity::Read, Some(&job.tablet.extent));
                }
                self.after_compaction(&take, &give, &committed.unreferenced);
                Ok(true)
            }
            Err(error) => {
                context.discard(&output.iter().map(|file| file.id).collect::<Vec<_>>());
                if error.kind().is_not_found() {
                    Ok(false)
                } else {
                    Err(error)
                }
            }
        }
    }

    /// Counts a published compaction, and releases files that are no longer referenced.
    pub(super) fn after_compaction(
        &self,
        taken: &[FileReference],
        given: &[FileReference],
        unreferenced: &[FileId],
    ) {
        let context = &self.context;
        context.files.retire(unreferenced);
        let metrics = &context.metrics;
        metrics.compactions.increment();
        metrics
            .compaction_entries_read
            .add(taken.iter().map(|file| file.entries).sum());
        metrics
            .compaction_bytes_read
            .add(taken.iter().map(|file| file.bytes).sum());
        metrics
            .compaction_entries_written
            .add(given.iter().map(|file| file.entries).sum());
        metrics
            .compaction_bytes_written
            .add(given.iter().map(|file| file.bytes).sum());
        context.wakeups.maintenance.wake();
        // The merged tablet may be large enough to be split.
        context.wakeups.compact.wake();
    }

    /// Claims a tablet for one compaction, once it is free.
    pub(super) fn claim(&self, end: &Option<Vec<u8>>) {
        let mut busy = self.busy.lock();
        while !busy.tablets.insert(end.clone()) {
            self.idle.wait(&mut busy);
        }
    }

    pub(super) fn release(&self, end: &Option<Vec<u8>>) {
        self.busy.lock().tablets.remove(end);
        self.idle.notify_all();
    }
}

impl Job {
    /// A compaction started by the background.
    pub(super) fn of_background(tablet: Arc<TabletView>, files: Vec<TabletFile>) -> Self {
        Self {
            tablet,
            files,
            memory: Vec::new(),
            memory_ages: None,
            user: false,
            iterators: Vec::new(),
            cancel: Cancel::default(),
            helped: false,
        }
    }

    /// The sources to merge, newest first, each wrapped by `wrap`, which receives whether the
    /// source is in memory. Sources in memory have already passed through the flush iterators.
    pub(super) fn sources(
        &self,
        stacker: &IteratorStackBuilder,
        wrap: impl Fn(BoxedIterator, bool) -> BoxedIterator,
    ) -> StoreResult<Vec<BoxedIterator>> {
        let stoppable = |source, in_memory| -> BoxedIterator {
            let source = wrap(source, in_memory);
            Box::new(StoppableIterator::new(source, self.cancel.clone()))
        };
        let mut sources = Vec::with_capacity(self.memory.len() + self.files.len());
        for memtable in &self.memory {
            let source = stoppable(Box::new(MemtableIterator::new(memtable.clone())), true);
            sources.push(stacker.minc(vec![source])?);
        }
        let files = file_sources(&self.files, false).into_iter();
        sources.extend(files.map(|source| stoppable(source, false)));
        Ok(sources)
    }

    /// Upper bound of the bytes it reads.
    fn bytes(&self) -> u64 {
        let memory: u64 = self.memory.iter().map(MemtableSnapshot::memory).sum();
        self.tablet.bytes() + memory
    }

    /// The files that its output replaces.
    pub(super) fn taken(&self) -> Vec<FileReference> {
        let references = self.files.iter().map(|file| &file.reference);
        references.cloned().collect()
    }
}
