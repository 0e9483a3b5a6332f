//! The part of a table that scans depend on.

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
    /// The state that a scan sees if it begins now.
    fn snapshot(&self) -> Snapshot;

    /// A number that changes whenever a new snapshot would differ.
    fn epoch(&self) -> u64;

    /// Builds stacks according to the table's present properties.
    fn stacker(&self) -> IteratorStackBuilder;

    /// Returns an error once the table is off-line or deleted, or its store closed. Running scans
    /// call it after each batch, so it must be cheap.
    fn check_readable(&self) -> StoreResult<()>;

    /// Counters.
    fn metrics(&self) -> &Metrics;

    /// Time.
    fn clock(&self) -> &dyn Clock;

    /// The memory that open scans of the store share.
    fn scan_memory(&self) -> &Arc<ScanMemory>;

    /// Records that a scan failed.
    fn failed(&self, error: &Error);

    /// Called when a scan has returned a batch; `confined` if its reader must not learn what is hidden.
    fn returned(&self, confined: bool);

    /// The threads that unordered scans of the store share.
    fn scan_threads(&self) -> &Arc<ScanThreads>;
}

/// The immutable state that a scan sees.
pub(crate) struct Snapshot {
    pub(crate) version: Arc<TableVersion>,
    /// Newest first.
    pub(crate) memtables: Vec<MemtableSnapshot>,
    pub(crate) epoch: u64,
}

/// Starts a scan for each list of ranges, all of one snapshot.
pub(crate) fn start_parts(
    source: &Arc<dyn Readable>,
    parts: &[Vec<Range>],
    options: &ScanOptions,
) -> StoreResult<Vec<Box<dyn Scan>>> {
    let snapshot = Arc::new(source.snapshot());
    let scan_of = |ranges: &Vec<Range>| {
        source.metrics().scans_started.increment();
        let scan = SerialScan::of(source.clone(), snapshot.clone(), ranges, options)?;
        Ok(Box::new(scan) as Box<dyn Scan>)
    };
    parts.iter().map(scan_of).collect()
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
