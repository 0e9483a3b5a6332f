//! Flushes a table's memtables and publishes the files.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::core::{TableCore, TableData};
use super::trouble::FlushIterators;
use crate::catalog::{AgeRange, CatalogTransaction, Committed, Fence, FileRecord, FileReference};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::memtable::Memtable;
use crate::tablet::{Flush, FlushedFile, TableVersion};

/// How often an off-line table checks whether its last batches were published, which takes about as
/// long as a sync.
const SUBMITTED_POLL: Duration = Duration::from_millis(1);

impl TableCore {
    /// Writes everything that is in memory now to files.
    pub(crate) fn flush_memtables(&self) -> StoreResult<()> {
        let _flushing = self.flushing.take();
        self.freeze();
        self.flush_frozen()
    }

    /// As [`flush_memtables`](Self::flush_memtables), for an off-line table, including batches
    /// submitted before it went off-line: these may still be acknowledged.
    pub(crate) fn flush_for_clone(self: &Arc<Self>) -> StoreResult<()> {
        while self.check_online().is_err() && self.submitted.load(Ordering::SeqCst) > 0 {
            self.check_open()?;
            self.context.clock.sleep(SUBMITTED_POLL);
        }
        self.flush_bounded()
    }

    /// Replaces the active memtable by an empty one. Under `flushing`.
    pub(super) fn freeze(&self) {
        let mut data = self.data.write();
        self.freeze_active(&mut data);
        drop(data);
        self.touch();
    }

    fn freeze_active(&self, data: &mut TableData) {
        self.flush_wanted.store(false, Ordering::Release);
        if !data.active.is_empty() {
            // The age is taken while nothing can be published, so that ages order what is
            // published.
            let age = self.context.log.next_sequence();
            let next = Arc::new(Memtable::following(&data.active, age));
            let full = std::mem::replace(&mut data.active, next);
            data.frozen.push(full);
        }
    }

    /// Reserves `count` ascending ages for the files of an import: newer than everything
    /// acknowledged before, older than everything published from now on. Memory is flushed, so that
    /// it stays newer than every file. Under `flushing`.
    pub(super) fn ages_of_import(&self, count: usize) -> StoreResult<Vec<AgeRange>> {
        let ages = {
            let mut data = self.data.write();
            self.freeze_active(&mut data);
            let places = (0..count).map(|_| AgeRange::at(self.context.log.next_sequence()));
            let ages = places.collect();
            // The active one is empty here: a full one was frozen just now.
            let age = self.context.log.next_sequence();
            data.active = Arc::new(Memtable::following(&data.active, age));
            ages
        };
        self.touch();
        self.flush_all_frozen()?;
        Ok(ages)
    }

    /// Flushes frozen memtables, oldest first, with or without the table's iterators. Under
    /// `flushing`. A memtable stays readable, and its log is kept, until its files are in the
    /// catalog. `Ok` only when no frozen memtable is left.
    pub(super) fn flush_frozen_by(&self, iterators: FlushIterators) -> StoreResult<()> {
        loop {
            let Some(memtable) = self.data.read().frozen.first().cloned() else {
                return Ok(());
            };
            self.flush_one(&memtable, iterators)?;
        }
    }

    fn flush_one(&self, memtable: &Arc<Memtable>, iterators: FlushIterators) -> StoreResult<()> {
        let context = &self.context;
        if self.check_exists().is_err() {
            // Deleted meanwhile: there is no table to flush into.
            self.drop_memtables();
            return Ok(());
        }
        let version = self.version();
        let sequence = memtable.last_sequence();
        let snapshot = memtable.snapshot();
        context.health.check_open()?;
        let running = self.begin_flush(iterators);
        let mut stacker = self.stacker().stopped_by(running.cancel());
        if iterators == FlushIterators::None {
            stacker = stacker.without_flush_iterators();
        }
        let begun = context.clock.monotonic_nanos();
        let files = Flush {
            memtable: &snapshot,
            version: &version,
            table: self.id,
            ages: AgeRange::at(memtable.age()),
            catalog: &context.catalog,
            registry: &context.files,
            stacker: &stacker,
            threads: context.options.compaction_threads,
            cuts: context.options.file_cuts,
            cancel: running.cancel(),
        }
        .run();
        drop(running);
        let files = match files {
            // Stopped because the table was deleted: nothing has to be written any more.
            Err(_) if self.check_exists().is_err() => {
                self.drop_memtables();
                return Ok(());
            }
            files => files?,
        };
        let ids = || files.iter().map(|file| file.record.id).collect::<Vec<_>>();
        let published = {
            let _structure = self.structure.lock();
            if self.check_exists().is_err() {
                // There are no tablets to assign the files to.
                context.discard(&ids());
                self.drop_memtables();
                return Ok(());
            }
            self.publish_flush(memtable, &files, sequence)
        };
        if published.is_err() {
            context.discard(&ids());
        }
        published?;
        let metrics = &context.metrics;
        metrics.flushes.increment();
        metrics
            .flush_entries
            .add(files.iter().map(|file| file.record.entries).sum());
        metrics
            .flush_bytes
            .add(files.iter().map(|file| file.record.bytes).sum());
        metrics
            .flush_nanos
            .add(context.clock.monotonic_nanos() - begun);
        context.pressure.give(memtable.memory() as u64);
        if iterators == FlushIterators::None {
            metrics.flushes_without_iterators.increment();
        }
        context.wakeups.compact.wake();
        context.wakeups.maintenance.wake();
        Ok(())
    }

    /// Assigns the files to the present tablets, which may have been split or merged since the
    /// flush began. Under `structure`.
    fn publish_flush(
        &self,
        memtable: &Arc<Memtable>,
        files: &[FlushedFile],
        sequence: u64,
    ) -> StoreResult<()> {
        let version = self.version();
        let time = self.time.last();
        let change = |transaction: &mut CatalogTransaction<'_>| {
            for file in files {
                transaction.add_file(&file.record)?;
                for (end, share) in file.shares(&version) {
                    transaction.replace_files(self.id, end.as_deref(), &[], &[share])?;
                }
            }
            transaction.set_flushed(self.id, sequence, time)
        };
        let _ = self.edit(change, |data| {
            data.frozen.retain(|frozen| !Arc::ptr_eq(frozen, memtable));
        })?;
        Ok(())
    }

    /// Commits `change` to the catalog and publishes the resulting version, together with
    /// `publish`. The version is made, and its invariants are checked, before the commit, so that
    /// updating memory cannot fail after it. Under `structure`.
    pub(super) fn edit<T>(
        &self,
        change: impl FnOnce(&mut CatalogTransaction<'_>) -> StoreResult<T>,
        publish: impl FnOnce(&mut TableData),
    ) -> StoreResult<Committed<T>> {
        let context = &self.context;
        let version = self.version();
        let committed = context.catalog.transaction(|transaction| {
            let value = change(transaction)?;
            let changes = transaction.changes_of(self.id)?;
            let next = version
                .apply(&changes, |id| {
                    let record = transaction.file(id)?.ok_or_else(|| {
                        Error::new(
                            ErrorKind::Internal,
                            "a tablet refers to a file that is not in the catalog",
                        )
                        .with("file", id)
                    })?;
                    context.files.file(&record)
                })
                .map_err(|error| error.with("table", self.id))?;
            let is_removed = changes.iter().any(|change| change.files.is_none());
            Ok((value, next, is_removed))
        })?;
        let (value, next, is_removed) = committed.value;
        let mut data = self.data.write();
        if is_removed || next.tablets().len() != data.version.tablets().len() {
            data.layout_version += 1;
        }
        let old = std::mem::replace(&mut data.version, Arc::new(next));
        publish(&mut data);
        drop(data);
        self.touch();
        context.attention.changed(self.id);
        drop(old);
        Ok(Committed {
            value,
            unreferenced: committed.unreferenced,
        })
    }

    /// Drops everything in memory, after the table was deleted.
    pub(crate) fn drop_memtables(&self) {
        let mut data = self.data.write();
        let mut memory = data.active.memory();
        memory += data
            .frozen
            .drain(..)
            .map(|memtable| memtable.memory())
            .sum::<usize>();
        data.active = Arc::new(Memtable::new(self.context.log.next_sequence()));
        drop(data);
        self.context.pressure.give(memory as u64);
        self.touch();
    }
}

/// The tablets that share a file of which only the first and the last row are known, by end row. If
/// there are several, its size is divided evenly among them.
pub(super) fn shares(
    file: &FileRecord,
    version: &TableVersion,
) -> Vec<(Option<Vec<u8>>, FileReference)> {
    let tablets = version.tablets();
    let first = version.position(&file.first_row);
    let last = version.position(&file.last_row);
    let count = (last - first + 1) as u64;
    (first..=last)
        .filter_map(|at| tablets.get(at))
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
