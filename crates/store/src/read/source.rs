//! What a scan reads: a table, as far as reading needs to know it.

use std::sync::Arc;

use ostrakon_cell::{Range, Scan, ScanOptions};

use super::memory::ScanMemory;
use super::parallel::ParallelScan;
use super::serial::SerialScan;
use super::threads::ScanThreads;
use crate::clock::Clock;
use crate::error::{Error, StoreResult};
use crate::memtable::MemtableSnapshot;
use crate::metrics::Metrics;
use crate::tablet::{IteratorStackBuilder, TableVersion};

/// A table that can be read.
pub(crate) trait Readable: Send + Sync {
    /// What a scan that begins now sees.
    fn snapshot(&self) -> Snapshot;

    /// A number that changes whenever a new snapshot would see something else.
    fn epoch(&self) -> u64;

    /// Builds stacks as the table's properties say now.
    fn stacker(&self) -> IteratorStackBuilder;

    /// An error once the table is off-line or deleted, or its store closed. Running scans ask after each batch, so it
    /// is cheap while all is well.
    fn check_readable(&self) -> StoreResult<()>;

    /// Counters.
    fn metrics(&self) -> &Metrics;

    /// Time.
    fn clock(&self) -> &dyn Clock;

    /// The memory that open scans of the store share.
    fn scan_memory(&self) -> &Arc<ScanMemory>;

    /// Remembers that a scan failed.
    fn failed(&self, error: &Error);

    /// The threads that unordered scans of the store share.
    fn scan_threads(&self) -> &Arc<ScanThreads>;
}

/// What a scan sees: it never changes.
pub(crate) struct Snapshot {
    pub(crate) version: Arc<TableVersion>,
    /// Newest first.
    pub(crate) memtables: Vec<MemtableSnapshot>,
    pub(crate) epoch: u64,
}

/// Starts a scan of `ranges`.
pub(crate) fn start_scan(
    source: Arc<dyn Readable>,
    ranges: &[Range],
    options: &ScanOptions,
) -> StoreResult<Box<dyn Scan>> {
    source.metrics().scans_started.increment();
    let scan = SerialScan::new(source, ranges, options)?;
    if options.ordered {
        return Ok(Box::new(scan));
    }
    Ok(Box::new(ParallelScan::new(scan)))
}
