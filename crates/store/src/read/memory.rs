//! Memory for reading ahead, shared by all open scans.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum bytes that one scan reads ahead per tablet, while few scans are open.
const MOST_BYTES: u64 = 512 << 10;

/// One scan takes one part in this many of the free memory, so that many scans can share it.
const SHARE: u64 = 16;

/// The memory for reading ahead of all scans of a store. A scan that finds little left reads ahead
/// less, and is slower; it is never rejected.
#[derive(Debug)]
pub(crate) struct ScanMemory {
    limit: u64,
    used: AtomicU64,
}

/// The share of one scan, until it is dropped.
#[derive(Debug)]
pub(super) struct ScanShare {
    memory: Arc<ScanMemory>,
    bytes: u64,
}

impl ScanMemory {
    /// At most `limit` bytes, except for the small minimum of each scan.
    pub(crate) fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self {
            limit,
            used: AtomicU64::new(0),
        })
    }

    /// A share for one more scan.
    pub(super) fn share(self: &Arc<Self>) -> ScanShare {
        let mut bytes = 0;
        let _ = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                bytes = (self.limit.saturating_sub(used) / SHARE).min(MOST_BYTES);
                Some(used + bytes)
            });
        ScanShare {
            memory: self.clone(),
            bytes,
        }
    }
}

impl ScanShare {
    /// The bytes; the reader raises them to its minimum.
    pub(super) fn bytes(&self) -> usize {
        self.bytes as usize
    }
}

impl Drop for ScanShare {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_shrink_and_never_pass_the_limit() {
        let memory = ScanMemory::new(8 << 20);
        let shares: Vec<ScanShare> = (0..1_000).map(|_| memory.share()).collect();
        assert_eq!(shares[0].bytes, MOST_BYTES);
        assert!(shares.windows(2).all(|pair| pair[1].bytes <= pair[0].bytes));
        assert!(shares.iter().map(|share| share.bytes).sum::<u64>() <= memory.limit);
        drop(shares);
        assert_eq!(memory.used.load(Ordering::Relaxed), 0);
        assert_eq!(memory.share().bytes, MOST_BYTES);
    }
}
