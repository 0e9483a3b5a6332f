//! Blocks that look-ups met before.

use std::sync::{Arc, Weak};

use super::block::Block;
use crate::cache::BlockCache;

/// So many single rows must have been sought before blocks are remembered: a table of them is worth building then.
const MET_FROM: u32 = 256;

/// Blocks of an index that are remembered at most, which takes half a megabyte.
const MET_BLOCKS: usize = 1 << 16;

/// Blocks that look-ups met in the cache, by number: found without asking the cache, whose tables are two more waits
/// for memory. They are not kept alive (only their heads, a fiftieth of them, stay allocated), and all forgotten when
/// the cache has evicted something, since only a question to the cache tells it that a block is used.
#[derive(Debug, Default)]
pub(super) struct Met {
    sought: u32,
    evictions: u64,
    blocks: Vec<Weak<Block>>,
}

impl Met {
    /// Block `at`, if it is known to be in the cache.
    #[inline]
    pub(super) fn get(&mut self, cache: &BlockCache, at: usize) -> Option<Arc<Block>> {
        if self.blocks.is_empty() {
            return None;
        }
        if self.evictions != cache.evictions() {
            *self = Self::default();
            return None;
        }
        self.blocks.get(at)?.upgrade()
    }

    /// Remembers block `at` of so many.
    pub(super) fn put(&mut self, cache: &BlockCache, at: usize, blocks: usize, block: &Arc<Block>) {
        self.sought += 1;
        if self.sought < MET_FROM || blocks > MET_BLOCKS {
            self.sought = self.sought.min(MET_FROM);
            return;
        }
        if self.blocks.is_empty() {
            self.evictions = cache.evictions();
            self.blocks.resize_with(blocks, Weak::new);
        }
        if let Some(place) = self.blocks.get_mut(at) {
            *place = Arc::downgrade(block);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use ostrakon_cell::Key;

    use super::*;
    use crate::cache::CacheOptions;
    use crate::metrics::Metrics;
    use crate::sorted_file::block::BlockBuilder;

    fn block() -> Arc<Block> {
        let mut builder = BlockBuilder::new();
        builder
            .push(Key::new("row", "f", "q").as_ref(), &[7; 2000], false)
            .unwrap();
        let mut raw = Vec::new();
        builder.finish(&mut raw);
        let len = raw.len();
        Arc::new(Block::parse(raw, 0, len).unwrap())
    }

    fn cache(bytes: u64) -> Arc<BlockCache> {
        let options = CacheOptions {
            bytes,
            ..CacheOptions::default()
        };
        BlockCache::new(options, Arc::new(Metrics::default())).unwrap()
    }

    #[test]
    fn nothing_is_remembered_before_a_table_is_worth_it() {
        let (cache, block) = (cache(1 << 20), block());
        let mut met = Met::default();
        for _ in 1..MET_FROM {
            met.put(&cache, 3, 10, &block);
            assert!(met.get(&cache, 3).is_none());
        }
        met.put(&cache, 3, 10, &block);
        assert!(Arc::ptr_eq(&met.get(&cache, 3).unwrap(), &block));
        for other in [0, 2, 4, 9, 10, 1000] {
            assert!(met.get(&cache, other).is_none());
        }
        let mut met = Met::default();
        for _ in 0..2 * MET_FROM {
            met.put(&cache, 3, MET_BLOCKS + 1, &block);
        }
        assert!(met.get(&cache, 3).is_none());
    }

    #[test]
    fn what_is_evicted_is_not_kept_alive_and_all_is_forgotten() {
        let (cache, block) = (cache(100_000), block());
        let mut met = Met::default();
        let remember = |met: &mut Met, block: &Arc<Block>| {
            for _ in 0..MET_FROM {
                met.put(&cache, 3, 10, block);
            }
        };
        cache.put_block(1, 0, block.clone());
        remember(&mut met, &block);
        assert!(met.get(&cache, 3).is_some());
        // A user still holds the block, the cache does not, and does not learn of uses.
        for at in 1..100 {
            cache.put_block(1, at, self::block());
        }
        assert!(cache.evictions() > 0);
        assert!(met.get(&cache, 3).is_none());
        remember(&mut met, &block);
        assert!(met.get(&cache, 3).is_some());
        drop(block);
        cache.clear();
        assert!(met.get(&cache, 3).is_none());
        // The cache drops a block without an eviction when another one takes its place.
        let old = self::block();
        cache.put_block(2, 0, old.clone());
        remember(&mut met, &old);
        drop(old);
        assert!(met.get(&cache, 3).is_some());
        cache.put_block(2, 0, self::block());
        assert!(met.get(&cache, 3).is_none());
    }
}
