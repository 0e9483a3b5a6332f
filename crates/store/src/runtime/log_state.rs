//! The state of the log, shared by the log thread, flushes and closing.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::wal::LogOrigin;

/// The state of a store's log.
pub(crate) struct LogState {
    /// The store and the opening of it that write the log.
    pub(crate) origin: LogOrigin,
    /// Number of the log segment that is being written.
    pub(crate) segment: AtomicU64,
    /// Bytes of that segment that were on the disk when the log ended; 0 before, and for a new one.
    pub(crate) end: AtomicU64,
    /// Checksum of its last record then.
    pub(crate) sum: AtomicU32,
    /// From this segment number on there are no gaps in the log.
    pub(crate) gapless_from: AtomicU64,
    /// Log segments below this were deleted.
    pub(crate) oldest_segment: AtomicU64,
    /// Whether the next flush is of a table with an old log segment rather than of a large one.
    pub(crate) old_log_first: AtomicBool,
    /// The last sequence number that was issued.
    sequence: AtomicU64,
}

impl LogState {
    /// The state before recovery.
    pub(crate) fn new(origin: LogOrigin) -> Self {
        Self {
            origin,
            segment: AtomicU64::new(0),
            end: AtomicU64::new(0),
            sum: AtomicU32::new(0),
            gapless_from: AtomicU64::new(0),
            oldest_segment: AtomicU64::new(0),
            old_log_first: AtomicBool::new(false),
            sequence: AtomicU64::new(0),
        }
    }

    /// The next sequence number: of a batch, or of a memtable or an import as its age.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.sequence.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Makes all further sequence numbers greater than `sequence`.
    pub(crate) fn advance_sequence(&self, sequence: u64) {
        self.sequence.fetch_max(sequence, Ordering::SeqCst);
    }

    /// The sequence of the last batch.
    pub(crate) fn last_sequence(&self) -> u64 {
        self.sequence.load(Ordering::SeqCst)
    }
}
