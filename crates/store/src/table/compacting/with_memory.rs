//! A compaction of a whole table that takes along what is in memory, so that it is written once: a
//! flush would write it, and the compaction behind it would read it and write it again.

use std::sync::Arc;

use ostrakon_cell::{Activity, CompactOptions};
use parking_lot::Mutex;

use super::at_end::AtEnd;
use super::job::Job;
use super::request::bytes_of;
use crate::catalog::{AgeRange, CatalogTransaction, Fence, FileRecord, FileReference};
use crate::compaction::Cancel;
use crate::error::StoreResult;
use crate::memtable::{Memtable, MemtableSnapshot};
use crate::table::core::TableCore;
use crate::tablet::{TableVersion, TabletView};

/// Files may hold so many times the bytes that are in memory. The old files and the new ones are on the
/// disk together until all tablets are done, and memory is given back only then; and whoever wants to
/// flush meanwhile makes all of it vain.
const FILES_PER_MEMORY: u64 = 2;

/// With more in memory than this, and fewer tablets than threads, which a split could not change, a flush comes first:
/// it cuts a tablet into pieces for all threads, which a compaction into one file cannot.
const ONE_THREAD_BYTES: u64 = 32 << 20;

/// What such a compaction reads.
struct Inputs {
    version: Arc<TableVersion>,
    /// Oldest first.
    frozen: Vec<Arc<Memtable>>,
    /// Newest first.
    memory: Vec<MemtableSnapshot>,
    /// Of the last batch in memory.
    sequence: u64,
    /// The ages of memory.
    ages: Option<AgeRange>,
}

impl TableCore {
    /// Compacts all tablets together with what is in memory and publishes the outcome in one step.
    /// `false` when that is not worth it, tablets changed meanwhile, or somebody wanted to flush: then
    /// nothing came of it, and a flush and a compaction behind it are the way.
    pub(super) fn compact_with_memory(
        &self,
        wanted: &Fence,
        options: &CompactOptions,
        cancel: &Cancel,
    ) -> StoreResult<bool> {
        let version = self.version();
        if !is_whole(&version, wanted) || !self.is_memory_worth_it(&version) {
            return Ok(false);
        }
        let ends = self.claim_all(&version);
        let stop = Cancel::default();
        let _ended = AtEnd(|| {
            self.busy.lock().cancels.retain(|other| !other.is(&stop));
            for end in &ends {
                self.release(end);
            }
        });
        // Stopping what users asked for stops this too.
        self.busy.lock().cancels.push(stop.clone());
        // What was stopped before that, while this waited for tablets, does not begin.
        let outcome = cancel
            .check()
            .and_then(|()| self.measured(|| self.compact_claimed(&ends, options, &stop)));
        match outcome {
            // Somebody wanted to flush, unless it was to stop altogether. An iterator may have made an
            // error of its own of it.
            Err(_) if stop.is_cancelled() => cancel.check().map(|()| false),
            outcome => outcome,
        }
    }

    fn is_memory_worth_it(&self, version: &TableVersion) -> bool {
        self.is_much_in_memory(version) && !self.lacks_tablets(version)
    }

    /// Whether enough is in memory, compared to the files.
    pub(super) fn is_much_in_memory(&self, version: &TableVersion) -> bool {
        let files = version.bytes();
        let (memory, _) = self.unflushed();
        memory > 0 && files <= memory.saturating_mul(FILES_PER_MEMORY)
    }

    /// Whether so much is in memory that all threads should have a tablet, and there are not as many.
    pub(super) fn lacks_tablets(&self, version: &TableVersion) -> bool {
        let (memory, _) = self.unflushed();
        version.tablets().len() < self.context.options.compaction_threads
            && memory > ONE_THREAD_BYTES
    }

    /// Claims all tablets; returns where they end.
    pub(super) fn claim_all(&self, version: &TableVersion) -> Vec<Option<Vec<u8>>> {
        let tablets = version.tablets().iter();
        let ends: Vec<_> = tablets
            .map(|tablet| tablet.extent.through.clone())
            .collect();
        // In row order, as every other that claims several.
        for end in &ends {
            self.claim(end);
        }
        ends
    }

    fn compact_claimed(
        &self,
        ends: &[Option<Vec<u8>>],
        options: &CompactOptions,
        stop: &Cancel,
    ) -> StoreResult<bool> {
        let _turn = self.flushing.take_yielding(stop);
        stop.check()?;
        self.check_exists()?;
        self.freeze();
        let inputs = self.inputs();
        let tablets = inputs.version.tablets();
        if !end_there(ends, &inputs.version)
            || inputs.memory.is_empty()
            || !self.is_memory_worth_it(&inputs.version)
        {
            return Ok(false);
        }
        let mut jobs = Vec::with_capacity(tablets.len());
        for tablet in tablets {
            let (memory, _) = in_memory(&inputs.memory, &tablet.extent)?;
            if memory > 0 || !tablet.files.is_empty() {
                jobs.push((memory, bytes_of(tablet), tablet.clone()));
            }
        }
        // The largest first, so that no thread is left alone with it in the end.
        jobs.sort_by_key(|(memory, files, _)| std::cmp::Reverse((*memory, *files)));
        let written = Mutex::new(Vec::with_capacity(jobs.len()));
        let outcome = self.on_all_threads(&jobs, |(memory, _, tablet), helped| {
            let job = Job {
                tablet: tablet.clone(),
                files: tablet.files.clone(),
                memory: if *memory > 0 {
                    inputs.memory.clone()
                } else {
                    Vec::new()
                },
                memory_ages: inputs.ages.filter(|_| *memory > 0),
                user: true,
                iterators: options.iterators.clone(),
                cancel: stop.clone(),
                helped,
            };
            let file = self.write_job(&job)?;
            written.lock().push((job, file));
            Ok(())
        });
        let written = written.into_inner();
        let published = outcome.and_then(|()| self.publish_with_memory(&inputs, &written));
        if !matches!(published, Ok(true)) {
            let files = written.iter().filter_map(|(_, file)| file.as_ref());
            self.context
                .discard(&files.map(|file| file.id).collect::<Vec<_>>());
        }
        published
    }

    fn inputs(&self) -> Inputs {
        let data = self.data.read();
        let (version, frozen) = (data.version.clone(), data.frozen.clone());
        drop(data);
        let mut memory: Vec<_> = frozen.iter().rev().map(|table| table.snapshot()).collect();
        memory.retain(|memtable| !memtable.is_empty());
        Inputs {
            version,
            ages: AgeRange::hull_of(frozen.iter().map(|table| AgeRange::at(table.age()))),
            sequence: frozen.last().map_or(0, |newest| newest.last_sequence()),
            frozen,
            memory,
        }
    }

    /// Puts the new files in place of the old ones and of memory. `false` when the tablets or their
    /// files are not those that were read.
    fn publish_with_memory(
        &self,
        inputs: &Inputs,
        written: &[(Job, Option<FileRecord>)],
    ) -> StoreResult<bool> {
        let context = &self.context;
        let _structure = self.structure.lock();
        // Splits and merges leave other references behind.
        if !Arc::ptr_eq(&self.version(), &inputs.version) {
            return Ok(false);
        }
        let time = self.time.last();
        let mut taken = Vec::new();
        let mut given = Vec::new();
        let change = |change: &mut CatalogTransaction<'_>| {
            for (job, file) in written {
                let (take, give) = (job.taken(), file.as_ref().map(FileReference::whole));
                if let Some(file) = file {
                    change.add_file(file)?;
                }
                let end = job.tablet.extent.through.as_deref();
                change.replace_files(self.id, end, &take, give.as_slice())?;
                taken.extend(take);
                given.extend(give);
            }
            change.set_flushed(self.id, inputs.sequence, time)
        };
        let committed = self.edit(change, |data| {
            data.frozen
                .retain(|one| !inputs.frozen.iter().any(|gone| Arc::ptr_eq(one, gone)));
        })?;
        for (job, _) in written {
            self.failures
                .succeeded(Activity::Compaction, Some(&job.tablet.extent));
        }
        self.after_compaction(&taken, &given, &committed.unreferenced);
        let memory: usize = inputs.frozen.iter().map(|table| table.memory()).sum();
        context.pressure.give(memory as u64);
        context.metrics.flushes.add(inputs.frozen.len() as u64);
        Ok(true)
    }
}

/// Whether `wanted` has rows of every tablet.
pub(super) fn is_whole(version: &TableVersion, wanted: &Fence) -> bool {
    let wants = |tablet: &Arc<TabletView>| tablet.extent.intersection(wanted).is_some();
    version.tablets().iter().all(wants)
}

/// Whether the tablets end where they did when they were claimed.
pub(super) fn end_there(ends: &[Option<Vec<u8>>], version: &TableVersion) -> bool {
    let tablets = version.tablets().iter();
    tablets.map(|tablet| &tablet.extent.through).eq(ends)
}

/// Entries of these rows that are in memory, and an estimate of the bytes they hold there.
pub(super) fn in_memory(memory: &[MemtableSnapshot], rows: &Fence) -> StoreResult<(u64, u64)> {
    let (mut entries, mut bytes) = (0, 0);
    for memtable in memory {
        let through = memtable.count_up_to(rows.through.as_deref())?;
        let before = match &rows.after {
            Some(row) => memtable.count_up_to(Some(row))?,
            None => (0, 0),
        };
        entries += through.0 - before.0;
        bytes += through.1 - before.1;
    }
    Ok((entries, bytes))
}
