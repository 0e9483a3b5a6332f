//! A compaction of a whole table that includes the memtables, so that their entries are written
//! once: otherwise a flush would write them, and a compaction after it would read and rewrite them.

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

/// Limit of the bytes in files per byte in memory. The old and the new files are on the disk
/// together until all tablets are done, and memory is freed only then; a flush in the meantime
/// makes all of the work useless.
const FILES_PER_MEMORY: u64 = 2;

/// If more than this is in memory, and there are fewer tablets than threads, which a split could
/// not change, memory is flushed first: a flush cuts a tablet into pieces for all threads, which a
/// compaction into one file cannot do.
const ONE_THREAD_BYTES: u64 = 32 << 20;

/// The input of such a compaction.
struct Inputs {
    version: Arc<TableVersion>,
    /// Oldest first.
    frozen: Vec<Arc<Memtable>>,
    /// Newest first.
    memory: Vec<MemtableSnapshot>,
    /// Sequence of the last batch in memory.
    sequence: u64,
    /// The ages of the memtables.
    ages: Option<AgeRange>,
}

impl TableCore {
    /// Compacts all tablets together with the memtables and publishes the result in one step.
    /// `false` when that is not worth it, tablets changed meanwhile, or a flush was requested: then
    /// nothing was changed, and the caller must flush and compact separately.
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
        // Stopping the compactions of users stops this too.
        self.busy.lock().cancels.push(stop.clone());
        // If it was stopped earlier, while it waited for tablets, it does not begin.
        let outcome = cancel
            .check()
            .and_then(|()| self.measured(|| self.compact_claimed(&ends, options, &stop)));
        match outcome {
            // A flush was requested, unless all work is to stop. A stopped iterator may have
            // returned a different error.
            Err(_) if stop.is_cancelled() => cancel.check().map(|()| false),
            outcome => outcome,
        }
    }

    fn is_memory_worth_it(&self, version: &TableVersion) -> bool {
        self.is_much_in_memory(version) && !self.lacks_tablets(version)
    }

    /// Whether enough data is in memory, compared to the files.
    pub(super) fn is_much_in_memory(&self, version: &TableVersion) -> bool {
        let files = version.bytes();
        let (memory, _) = self.unflushed();
        memory > 0 && files <= memory.saturating_mul(FILES_PER_MEMORY)
    }

    /// Whether so much data is in memory that each thread should have a tablet, and there are
    /// fewer.
    pub(super) fn lacks_tablets(&self, version: &TableVersion) -> bool {
        let (memory, _) = self.unflushed();
        version.tablets().len() < self.context.options.compaction_threads
            && memory > ONE_THREAD_BYTES
    }

    /// Claims all tablets; returns their end rows.
    pub(super) fn claim_all(&self, version: &TableVersion) -> Vec<Option<Vec<u8>>> {
        let tablets = version.tablets().iter();
        let ends: Vec<_> = tablets
            .map(|tablet| tablet.extent.through.clone())
            .collect();
        // In row order, like every thread that claims several.
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
        // The largest first, so that the last one does not occupy a single thread for long.
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

    /// Replaces the old files and the memtables by the new files. `false` when the tablets or their
    /// files have changed since they were read.
    fn publish_with_memory(
        &self,
        inputs: &Inputs,
        written: &[(Job, Option<FileRecord>)],
    ) -> StoreResult<bool> {
        let context = &self.context;
        let _structure = self.structure.lock();
        // Splits and merges change the references.
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

/// Whether `wanted` overlaps every tablet.
pub(super) fn is_whole(version: &TableVersion, wanted: &Fence) -> bool {
    let wants = |tablet: &Arc<TabletView>| tablet.extent.intersection(wanted).is_some();
    version.tablets().iter().all(wants)
}

/// Whether the end rows of the tablets are those that were claimed.
pub(super) fn end_there(ends: &[Option<Vec<u8>>], version: &TableVersion) -> bool {
    let tablets = version.tablets().iter();
    tablets.map(|tablet| &tablet.extent.through).eq(ends)
}

/// Entries of these rows in memory, and an estimate of their bytes there.
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
