//! Which parts of table files the system is asked to load around blocks that were missing.
//!
//! Table files bypass the page cache when they are written, so a process that starts finds none of
//! their blocks in memory, and each random read waits for the disk. Disks read half a megabyte in
//! little more time than one block. So after a miss the system loads the rest of the region into
//! the page cache, in the background: once for each region, and for at most a part of the memory.
//! Data that fits in memory is there after about one read per region; of larger data that part is
//! loaded in vain.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::vfs::machine_memory_bytes;

/// Bytes of a region, which begins at a multiple of this. A disk with 1.5 GB/s reads them in the
/// time of two or three random reads.
const REGION_BYTES: u64 = 512 << 10;

/// The first misses load nothing: a command that reads a few rows does not return.
const MISSES_BEFORE: u64 = 64;

/// Maximum bytes for a store.
const BYTES_MAX: u64 = 16 << 30;

/// The regions that were requested, and how many more may be.
#[derive(Debug)]
pub(crate) struct ReadAround {
    misses: AtomicU64,
    left: AtomicU64,
    /// By file and number.
    requested: Mutex<HashSet<(u64, u64)>>,
}

impl ReadAround {
    /// For a part of the machine's memory.
    pub(super) fn of_machine() -> Self {
        Self::new((machine_memory_bytes() / 4).min(BYTES_MAX))
    }

    fn new(bytes: u64) -> Self {
        Self {
            misses: AtomicU64::new(0),
            left: AtomicU64::new(bytes / REGION_BYTES),
            requested: Mutex::default(),
        }
    }

    /// The bytes to load after a block at `offset` was read from the disk: those of its region, the
    /// first time. They may end after the file.
    pub(crate) fn after_miss(&self, file: u64, offset: u64) -> Option<Range<u64>> {
        if self.left.load(Ordering::Relaxed) == 0
            || self.misses.fetch_add(1, Ordering::Relaxed) < MISSES_BEFORE
        {
            return None;
        }
        let region = offset / REGION_BYTES;
        if !self.requested.lock().insert((file, region)) {
            return None;
        }
        let less = |left: u64| left.checked_sub(1);
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .ok()?;
        let start = region * REGION_BYTES;
        Some(start..start.saturating_add(REGION_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_loaded_once_and_not_after_the_first_misses() {
        let around = ReadAround::new(2 * REGION_BYTES);
        for at in 0..MISSES_BEFORE {
            assert_eq!(around.after_miss(1, at * REGION_BYTES), None);
        }
        let second = REGION_BYTES..2 * REGION_BYTES;
        assert_eq!(around.after_miss(1, REGION_BYTES + 5), Some(second.clone()));
        assert_eq!(around.after_miss(1, 2 * REGION_BYTES - 1), None);
        assert_eq!(around.after_miss(2, REGION_BYTES), Some(second));
        // The memory for it is used up.
        assert_eq!(around.after_miss(3, 0), None);
        assert_eq!(around.after_miss(u64::MAX, u64::MAX), None);
    }

    #[test]
    fn the_last_region_of_all_numbers_is_a_range() {
        let around = ReadAround::new(u64::MAX);
        let all = (0..=MISSES_BEFORE).map(|_| around.after_miss(1, u64::MAX));
        let last = all.last().flatten();
        assert!(last.is_some_and(|range| range.end == u64::MAX && range.start < range.end));
    }
}
