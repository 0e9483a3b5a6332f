//! Which blocks long reads saw recently.
//!
//! A long read sees each block once. Caching all of them would evict what point reads need and cost
//! more, for fresh memory, than reading them from a fast disk. So a long read bypasses the cache,
//! unless it sees a block again before as much was read as the cache holds: then the data fits, and
//! the next read will find it there. Data larger than the cache, read repeatedly, is never cached.
//! (The idea is that of the queue for evicted pages in 2Q, Johnson and Shasha, 1994; here it
//! records blocks that were never cached.)

use std::sync::atomic::{AtomicU64, Ordering};

/// A slot records one block: part of its hash, and when it was seen. Half the size of a usual
/// block.
const BYTES_PER_PLACE: u64 = 16 << 10;

/// Slots that a block may use: one cache line.
const BUCKET: usize = 8;

/// Time is measured in units of this many bytes read.
const TICK_SHIFT: u32 = 12;

/// The range of a time.
const TICKS: u64 = u32::MAX as u64;

/// A table of blocks by their hashes. A full bucket drops the block seen longest ago.
#[derive(Debug)]
pub(super) struct GhostList {
    buckets: Box<[Bucket]>,
    /// Bytes read by long reads.
    read: AtomicU64,
    /// Bytes after which a block is dropped.
    window: u64,
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct Bucket([AtomicU64; BUCKET]);

impl GhostList {
    /// For a cache of this many bytes.
    pub(super) fn new(bytes: u64) -> Self {
        let places = (bytes / BYTES_PER_PLACE).clamp(64, 1 << 20) as usize;
        let buckets = (places / BUCKET).next_power_of_two();
        Self {
            buckets: (0..buckets).map(|_| Bucket::default()).collect(),
            read: AtomicU64::new(0),
            window: bytes,
        }
    }

    /// Records that a block with this many bytes in memory was read, and returns whether it was
    /// read recently. Two threads may overwrite each other's records, which costs a later read a
    /// little time.
    pub(super) fn again(&self, file: u64, offset: u64, bytes: u64) -> bool {
        let now = self.read.fetch_add(bytes, Ordering::Relaxed) >> TICK_SHIFT & TICKS;
        let hash = mixed(file ^ mixed(offset));
        let Some(bucket) = self.buckets.get(hash as usize & (self.buckets.len() - 1)) else {
            return false;
        };
        // The low bit distinguishes a block from an empty slot, which has the greatest age.
        let name = hash >> 32 | 1;
        let (mut chosen, mut oldest) = (&bucket.0[0], 0);
        for place in &bucket.0 {
            let known = place.load(Ordering::Relaxed);
            let age = match known {
                0 => u64::MAX,
                _ => now.wrapping_sub(known) & TICKS,
            };
            if known >> 32 == name {
                place.store(name << 32 | now, Ordering::Relaxed);
                return age << TICK_SHIFT <= self.window;
            }
            if age > oldest {
                (chosen, oldest) = (place, age);
            }
        }
        chosen.store(name << 32 | now, Ordering::Relaxed);
        false
    }
}

/// The finalizer of `SplitMix64` (Steele, Lea and Flood, 2014).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: u64 = 32 << 10;

    /// How many of this many blocks are recognized in the second round.
    fn again(seen: &GhostList, file: u64, blocks: u64) -> u64 {
        let round = || (0..blocks).filter(|block| seen.again(file, block * 17_000, BLOCK));
        assert_eq!(round().count(), 0);
        round().count() as u64
    }

    #[test]
    fn blocks_are_recognized_if_they_fit() {
        let blocks = 1000;
        let seen = GhostList::new(blocks * BLOCK);
        let met = again(&seen, 1, blocks * 9 / 10);
        assert!(met > blocks * 8 / 10, "{met}");
        assert_eq!(again(&seen, 2, blocks * 11 / 10), 0);
        // Other files may come in between as long as all together fit.
        assert!(!seen.again(3, 0, BLOCK));
        assert!(!seen.again(4, 0, BLOCK));
        assert!(seen.again(3, 0, BLOCK));
    }
}
