//! Finds the cached blocks of an index by number.
//!
//! Finding a block in the cache costs a hash and two cache misses. A point read knows the block's
//! number, so here it takes one step. Blocks are not kept alive: a block evicted from the cache is
//! dropped here too. The cache does not see these uses; that costs no more reads than telling it
//! does (decision 0038).

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::codec::prefetch_pointed;

/// The blocks of one index, or the leaves of one root, that were put into the cache and still
/// exist.
#[derive(Debug)]
pub(in crate::sorted_file) struct CachedBlockIndex<T> {
    places: Box<[Mutex<Weak<T>>]>,
}

impl<T> CachedBlockIndex<T> {
    pub(in crate::sorted_file) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self {
            places: (0..places).map(|_| Mutex::default()).collect(),
        })
    }

    /// Memory held, in bytes.
    pub(in crate::sorted_file) fn memory(&self) -> usize {
        size_of_val(&*self.places) + size_of::<Self>()
    }

    /// Block `at` if it is here.
    #[inline]
    pub(in crate::sorted_file) fn get(&self, at: usize) -> Option<Arc<T>> {
        let place = self.places.get(at)?.lock();
        prefetch_pointed(place.as_ptr());
        place.upgrade()
    }

    /// Adds a cached block that [knows](Home::new) its slot here.
    pub(in crate::sorted_file) fn put(&self, at: usize, block: &Arc<T>) {
        if let Some(place) = self.places.get(at) {
            *place.lock() = Arc::downgrade(block);
        }
    }
}

impl<T> CachedBlockIndex<T> {
    /// Frees the slot of a dropped block, unless another one uses it.
    fn forget(&self, at: usize) {
        if let Some(place) = self.places.get(at) {
            let mut place = place.lock();
            if place.strong_count() == 0 {
                *place = Weak::new();
            }
        }
    }
}

/// The slot of a block, which is freed when the block is dropped; otherwise its header would stay
/// allocated.
#[derive(Debug)]
pub(in crate::sorted_file) struct Home<T> {
    /// Weak, because it belongs to the index, whose memory is counted.
    residents: Weak<CachedBlockIndex<T>>,
    at: usize,
}

impl<T> Home<T> {
    pub(in crate::sorted_file) fn new(residents: &Arc<CachedBlockIndex<T>>, at: usize) -> Self {
        Self {
            residents: Arc::downgrade(residents),
            at,
        }
    }
}

impl<T> Drop for Home<T> {
    fn drop(&mut self) {
        if let Some(residents) = self.residents.upgrade() {
            residents.forget(self.at);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use ostrakon_cell::Key;

    use super::*;
    use crate::cache::{BlockCache, CacheOptions};
    use crate::metrics::Metrics;
    use crate::sorted_file::block::{Block, BlockBuilder};

    fn block(residents: &Arc<CachedBlockIndex<Block>>, at: usize) -> Arc<Block> {
        let mut builder = BlockBuilder::new();
        builder
            .push(Key::new("row", "f", "q").as_ref(), &[7; 2000], false)
            .unwrap();
        let mut raw = Vec::new();
        builder.finish(&mut raw);
        let len = raw.len();
        let mut block = Block::parse(raw, 0, len).unwrap();
        block.settle(Home::new(residents, at));
        Arc::new(block)
    }

    #[test]
    fn a_block_is_found_as_long_as_it_lives() {
        let residents = CachedBlockIndex::<Block>::new(10);
        let block = block(&residents, 3);
        assert!(residents.get(3).is_none());
        residents.put(3, &block);
        assert!(Arc::ptr_eq(&residents.get(3).unwrap(), &block));
        for other in [0, 2, 4, 9, 10, usize::MAX] {
            residents.put(10, &block);
            assert!(residents.get(other).is_none());
        }
        let weak = Arc::downgrade(&block);
        assert_eq!(weak.weak_count(), 2);
        drop(block);
        assert!(residents.get(3).is_none());
        // Its header is not held either.
        assert_eq!(weak.weak_count(), 0);
        assert_eq!(residents.places[3].lock().weak_count(), 0);
    }

    #[test]
    fn dropping_a_block_keeps_its_successor() {
        let residents = CachedBlockIndex::<Block>::new(10);
        let (old, new) = (block(&residents, 3), block(&residents, 3));
        residents.put(3, &old);
        residents.put(3, &new);
        drop(old);
        assert!(Arc::ptr_eq(&residents.get(3).unwrap(), &new));
        drop(residents);
        // No slot to free.
        drop(new);
    }

    #[test]
    fn lent_memory_is_returned_although_point_reads_use_all_of_it() {
        let options = CacheOptions {
            bytes: 100_000,
            ..CacheOptions::default()
        };
        let cache = BlockCache::new(options, Arc::new(Metrics::default())).unwrap();
        let residents = CachedBlockIndex::<Block>::new(1000);
        cache.lend(900_000);
        for at in 0..1000 {
            let block = block(&residents, at);
            cache.put_block(1, at as u64, block.clone());
            residents.put(at, &block);
        }
        let held = cache.usage().0;
        assert!((900_000..=1_000_000).contains(&held), "{held}");
        (0..1000).for_each(|at| drop(residents.get(at)));
        cache.lend(400_000);
        let held = cache.usage().0;
        assert!((450_000..=500_000).contains(&held), "{held}");
        (0..1000).for_each(|at| drop(residents.get(at)));
        cache.lend(0);
        let held = cache.usage().0;
        assert!((80_000..=100_000).contains(&held), "{held}");
        // No other references exist.
        let alive = (0..1000).filter(|&at| residents.get(at).is_some()).count();
        assert!(alive < 60, "{alive}");
    }

    #[test]
    fn the_buffer_of_an_evicted_block_is_reused_unless_in_use() {
        let options = CacheOptions {
            bytes: 10_000,
            ..CacheOptions::default()
        };
        let cache = BlockCache::new(options, Arc::new(Metrics::default())).unwrap();
        let residents = CachedBlockIndex::<Block>::new(100);
        let mut read = Vec::new();
        let mut back = 0;
        for at in 0..100 {
            let block = block(&residents, at);
            if at < 50 {
                read.push(block.clone());
            }
            if let Some(buffer) = cache.put_block(1, at as u64, block) {
                assert!(buffer.capacity() >= 2000);
                back += 1;
            }
        }
        assert!((40..=50).contains(&back), "{back}");
        assert_eq!(read.len(), 50);
    }
}
