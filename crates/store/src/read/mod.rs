//! Reading a table: scans on one thread or several, their ranges, and their limits.

mod divide;
mod first_error;
mod limits;
mod memory;
mod parallel;
mod ranges;
mod serial;
mod source;
mod threads;
mod warm;

pub(crate) use divide::divide;
pub(crate) use memory::ScanMemory;
pub(crate) use serial::SerialScan;
pub(crate) use source::{Readable, Snapshot, start_parts, start_scan};
pub(crate) use threads::ScanThreads;
