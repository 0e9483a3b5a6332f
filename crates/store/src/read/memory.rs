//! What open scans read ahead, all together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that one scan reads ahead for each tablet at most, while few scans are open.
const MOST_BYTES: u64 = 512 << 10;

/// One scan takes this part of what is left, so that many share it.
const SHARE: u64 = 16;

/// The memory that the scans of a store may read ahead. A scan that finds little left reads ahead little, and is slower;
/// it is never refused.
#[derive(Debug)]
pub(crate) struct ScanMemory {
    limit: u64,
    used: AtomicU64,
}

/// What one scan may read ahead, until it is dropped.
#[derive(Debug)]
pub(super) struct ScanShare {
    memory: Arc<ScanMemory>,
    bytes: u64,
}

impl ScanMemory {
    /// At most `limit` bytes, but for a little that each scan needs.
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
    /// The bytes; what is too little to read at all is for the reader to raise.
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
