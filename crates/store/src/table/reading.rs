//! The view of a table that scans use.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::core::TableCore;
use crate::clock::Clock;
use crate::error::{Error, StoreResult};
use crate::memtable::MemtableSnapshot;
use crate::metrics::Metrics;
use crate::read::{Readable, ScanMemory, ScanThreads, Snapshot};
use crate::tablet::IteratorStackBuilder;

impl Readable for TableCore {
    fn snapshot(&self) -> Snapshot {
        Self::snapshot(self)
    }

    fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    fn stacker(&self) -> IteratorStackBuilder {
        Self::stacker(self)
    }

    fn check_readable(&self) -> StoreResult<()> {
        if self.readable.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.check_online()
    }

    fn metrics(&self) -> &Metrics {
        &self.context.metrics
    }

    fn clock(&self) -> &dyn Clock {
        &*self.context.clock
    }

    fn scan_memory(&self) -> &Arc<ScanMemory> {
        &self.context.scan_memory
    }

    fn failed(&self, error: &Error) {
        self.note_read(error);
    }

    fn returned(&self, confined: bool) {
        self.report_malformed(confined);
    }

    fn scan_threads(&self) -> &Arc<ScanThreads> {
        &self.context.scan_threads
    }
}

impl TableCore {
    /// A timestamp that no entry in memory or in files exceeds; `None` if there is no entry.
    pub(super) fn newest_timestamp(&self) -> StoreResult<Option<i64>> {
        self.check_readable()?;
        let snapshot = Self::snapshot(self);
        let memory = snapshot.memtables.iter();
        let mut newest = memory.filter_map(MemtableSnapshot::newest).max();
        for tablet in snapshot.version.tablets().iter() {
            for file in &tablet.files {
                let of_file = match file.file.times() {
                    Some((_, newest)) => newest,
                    None => file.file.reader().summary()?.newest,
                };
                newest = newest.max(Some(of_file));
            }
        }
        Ok(newest)
    }

    /// Makes running scans check the table and its store before they continue.
    pub(crate) fn stop_readers(&self) {
        self.readable.store(false, Ordering::Relaxed);
    }
}
