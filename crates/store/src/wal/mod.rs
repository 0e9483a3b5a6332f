//! The write-ahead log, with which an acknowledged write survives a crash.
//!
//! One log serves all tables of a store. It is a sequence of segment files; a segment is deleted
//! when everything in it has been flushed to sorted files. A record is a mutation batch as its
//! writer encoded it, so that nothing is encoded twice.

mod format;
mod log;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use format::{RECORD_HEADER_BYTES, RecordHeader, SEGMENT_HEADER_BYTES, SegmentEnd};
pub use log::{KnownLog, LogPart, LogReader, file_of, list_segments, missing_segments};
pub use reader::{Damage, SegmentPlace, SegmentReader};
pub use writer::{LogOrigin, OpenEnd, WalWriter};
