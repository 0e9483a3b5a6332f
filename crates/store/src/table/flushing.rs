//! Flushing a table's memtables, and publishing what came of it.

use std::sync::Arc;

use super::core::{TableCore, TableData};
use crate::catalog::{Fence, FileRecord, FileReference};
use crate::error::StoreResult;
use crate::memtable::Memtable;
use crate::tablet::{Flush, Layout};

impl TableCore {
    /// Writes everything that is in memory now to files.
    pub(crate) fn flush_memtables(&self) -> StoreResult<()> {
        let _flushing = self.flushing.take();
        self.freeze();
        self.flush_frozen()
    }

    /// Writes the active memtable to files if it has grown to `at_least` bytes.
    pub(crate) fn flush_if_large(&self, at_least: u64) -> StoreResult<bool> {
        let _flushing = self.flushing.take();
        if (self.data.read().active.memory() as u64) < at_least
            && self.data.read().frozen.is_empty()
        {
            return Ok(false);
        }
        self.freeze();
        self.flush_frozen().map(|()| true)
    }

    /// Puts a fresh memtable in place of the active one. Under `flushing`.
    pub(super) fn freeze(&self) {
        let mut data = self.data.write();
        if !data.active.is_empty() {
            let full = std::mem::take(&mut data.active);
            data.frozen.push(full);
        }
        drop(data);
        self.touch();
    }

    /// Flushes frozen memtables, oldest first. Under `flushing`. A memtable stays readable, and its
    /// log is kept, until its files are in the catalog.
    pub(super) fn flush_frozen(&self) -> StoreResult<()> {
        loop {
            let Some(memtable) = self.data.read().frozen.first().cloned() else {
                return Ok(());
            };
            self.flush_one(&memtable)?;
        }
    }

    fn flush_one(&self, memtable: &Arc<Memtable>) -> StoreResult<()> {
        let context = &self.context;
        if self.check_exists().is_err() {
            // Deleted meanwhile: there is no table to flush into.
            self.drop_memtables();
            return Ok(());
        }
        let layout = self.layout();
        let sequence = memtable.last_sequence();
        let snapshot = memtable.snapshot();
        let stacker = self.stacker();
        let begun = context.clock.monotonic_nanos();
        context.metrics.flushes_running.add(1);
        let files = Flush {
            memtable: &snapshot,
            layout: &layout,
            sequence,
            catalog: &context.catalog,
            registry: &context.files,
            stacker: &stacker,
            threads: context.options.compaction_threads,
        }
        .run();
        context.metrics.flushes_running.subtract(1);
        let mut files = files?;
        let published = {
            let _structure = self.structure.lock();
            if self.check_exists().is_err() {
                // There are no tablets to give the files to.
                context.discard(&files.iter().map(|file| file.id).collect::<Vec<_>>());
                self.drop_memtables();
                return Ok(());
            }
            self.stay_newest(&mut files);
            self.publish_flush(memtable, &files, sequence)
        };
        if published.is_err() {
            context.discard(&files.iter().map(|file| file.id).collect::<Vec<_>>());
        }
        published?;
        let metrics = &context.metrics;
        metrics.flushes.increment();
        metrics
            .flush_entries
            .add(files.iter().map(|file| file.entries).sum());
        metrics
            .flush_bytes
            .add(files.iter().map(|file| file.bytes).sum());
        metrics
            .flush_nanos
            .add(context.clock.monotonic_nanos() - begun);
        context.pressure.give(memtable.memory() as u64);
        // Whatever kept the background from it, writers need not be told any more.
        context.health.report_background(&Ok(()));
        context.wakeups.compact.wake();
        context.wakeups.keep.wake();
        Ok(())
    }

    /// What was in memory was read as newer than every file, also than one that was imported while
    /// this was written: let it stay so. Under `structure`.
    fn stay_newest(&self, files: &mut [FileRecord]) {
        let layout = self.layout();
        let others = layout.tablets().iter().flat_map(|tablet| &tablet.files);
        let newest = others.map(|file| file.file.record().sequence).max();
        if let Some(newest) = newest
            && files.iter().any(|file| file.sequence <= newest)
        {
            let sequence = self.context.next_sequence();
            for file in files {
                file.sequence = sequence;
            }
        }
    }

    /// Gives the files to the tablets as they are now, which may have been split or merged since
    /// the flush began. Under `structure`.
    fn publish_flush(
        &self,
        memtable: &Arc<Memtable>,
        files: &[FileRecord],
        sequence: u64,
    ) -> StoreResult<()> {
        let context = &self.context;
        let layout = self.layout();
        let time = self.time.last();
        let _ = context.catalog.transaction(|transaction| {
            for file in files {
                transaction.add_file(file)?;
                let shares = shares(file, &layout);
                for (end, share) in &shares {
                    transaction.replace_files(
                        self.id,
                        end.as_deref(),
                        &[],
                        std::slice::from_ref(share),
                    )?;
                }
            }
            transaction.set_flushed(self.id, sequence, time)
        })?;
        self.reload(|data| data.frozen.retain(|frozen| !Arc::ptr_eq(frozen, memtable)))
    }

    /// Reads the tablets from the catalog again and publishes them together with `change`. Under
    /// `structure`.
    pub(super) fn reload(&self, change: impl FnOnce(&mut TableData)) -> StoreResult<()> {
        let context = &self.context;
        let loaded = context
            .catalog
            .view()
            .and_then(|view| Layout::load(&view, self.id, &context.files));
        let layout = match loaded {
            Ok(layout) => Arc::new(layout),
            Err(error) => {
                // The catalog has moved on and memory cannot follow: writing on would flush or
                // compact a second time what the catalog already has.
                context.health.fail(error.duplicate());
                return Err(error);
            }
        };
        let mut data = self.data.write();
        let old = std::mem::replace(&mut data.layout, layout);
        change(&mut data);
        drop(data);
        self.touch();
        drop(old);
        Ok(())
    }

    /// Forgets everything in memory, after the table was deleted.
    pub(crate) fn drop_memtables(&self) {
        let mut data = self.data.write();
        let mut memory = data.active.memory();
        memory += data
            .frozen
            .drain(..)
            .map(|memtable| memtable.memory())
            .sum::<usize>();
        data.active = Arc::default();
        drop(data);
        self.context.pressure.give(memory as u64);
        self.touch();
    }
}

/// The tablets that share in a new file, by end row. Where several do, sizes are dealt out evenly
/// by tablet.
pub(super) fn shares(file: &FileRecord, layout: &Layout) -> Vec<(Option<Vec<u8>>, FileReference)> {
    let tablets = layout.tablets();
    let first = layout.position(&file.first_row);
    let last = layout.position(&file.last_row);
    let count = (last - first + 1) as u64;
    tablets[first..=last]
        .iter()
        .map(|tablet| {
            let share = FileReference {
                file: file.id,
                fence: Fence::ALL,
                bytes: file.bytes / count,
                entries: file.entries / count,
            };
            (tablet.extent.through.clone(), share)
        })
        .collect()
}
