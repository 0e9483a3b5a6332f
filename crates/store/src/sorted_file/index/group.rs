//! An index in memory: one list of separators, or a root over partitions that are loaded and
//! evicted.

use std::cmp::Ordering;
use std::sync::Arc;

use ostrakon_cell::Key;

use super::format::{BlockPlace, Separators};
use crate::sorted_file::block::{Block, CachedBlockIndex, Home, IntLane};
use crate::sorted_file::bound::Bound;

/// A list of separators between blocks: a whole index, or one partition of it.
#[derive(Debug)]
pub(crate) struct IndexPartition {
    separators: Separators,
    residents: Arc<CachedBlockIndex<Block>>,
    /// The slot through which it is found without the cache.
    home: Option<Home<IndexPartition>>,
}

/// The index of a locality group.
#[derive(Debug)]
pub(crate) struct GroupIndex {
    blocks: usize,
    entries: u64,
    top: Top,
}

#[derive(Debug)]
enum Top {
    One(Arc<IndexPartition>),
    Root {
        separators: Separators,
        blocks_before: IntLane,
        partitions: Arc<CachedBlockIndex<IndexPartition>>,
    },
}

impl IndexPartition {
    /// `None` if the bytes are not a valid partition.
    pub(crate) fn parse(bytes: Vec<u8>) -> Option<Self> {
        let separators = Separators::parse(bytes)?;
        Some(Self {
            residents: CachedBlockIndex::new(separators.blocks()),
            separators,
            home: None,
        })
    }

    /// Sets the slot of the partition.
    pub(in crate::sorted_file) fn settle(&mut self, home: Home<Self>) {
        self.home = Some(home);
    }

    /// Number of its blocks.
    #[inline]
    pub(crate) fn blocks(&self) -> usize {
        self.separators.blocks()
    }

    /// Entries of its blocks.
    pub(crate) fn entries(&self) -> u64 {
        self.separators.entries()
    }

    /// Memory held, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.separators.memory() + self.residents.memory() + size_of::<Self>()
    }

    /// Its blocks that are in the cache.
    #[inline]
    pub(in crate::sorted_file) fn cached(&self) -> &Arc<CachedBlockIndex<Block>> {
        &self.residents
    }

    // Blocks are numbered from the first one of the partition.

    pub(crate) fn place(&self, block: usize) -> Option<BlockPlace> {
        self.separators.place(block)
    }

    /// Entries of the partition in the blocks before `block`.
    pub(crate) fn entries_before(&self, block: usize) -> Option<u64> {
        self.separators.entries_before(block)
    }

    /// The row of the separator before `block`: every row of an earlier block is at most this one.
    pub(crate) fn separator_row(&self, block: usize) -> Option<Vec<u8>> {
        self.separators.separator_row(block)
    }

    /// The separator before `block` if its block begins inside a row; `key` is set then.
    pub(crate) fn inside_row(&self, block: usize, key: &mut Key) -> Option<bool> {
        self.separators.inside_row(block, key)
    }

    /// Orders the separator before `block`, a place directly before a key, relative to `bound`.
    #[inline]
    pub(in crate::sorted_file) fn compare(
        &self,
        block: usize,
        bound: Bound<'_>,
    ) -> Option<Ordering> {
        self.separators.compare(block, bound)
    }

    /// The block that contains the first key after `bound`, unless that is the very first key of
    /// the next block.
    #[inline]
    pub(in crate::sorted_file) fn find(&self, bound: Bound<'_>) -> Option<usize> {
        self.separators.find(bound)
    }
}

impl GroupIndex {
    /// An index that is one list, or the root of a partitioned one; `None` if the bytes are
    /// neither.
    pub(crate) fn parse(bytes: Vec<u8>, partitioned: bool) -> Option<Self> {
        if !partitioned {
            let one = IndexPartition::parse(bytes)?;
            return Some(Self {
                blocks: one.blocks(),
                entries: one.entries(),
                top: Top::One(Arc::new(one)),
            });
        }
        let (separators, blocks, blocks_before) = Separators::parse_root(bytes)?;
        let partitions = CachedBlockIndex::new(separators.blocks());
        let index = Self {
            blocks,
            entries: separators.entries(),
            top: Top::Root {
                separators,
                blocks_before,
                partitions,
            },
        };
        // Partitions are not empty, and are contiguous.
        let count = index.partitions();
        let mut first = 0;
        for partition in 0..count {
            let next = index.blocks_of(partition)?;
            if next.start != first || next.is_empty() {
                return None;
            }
            first = next.end;
        }
        (count > 0).then_some(index)
    }

    /// Blocks of the whole group.
    #[inline]
    pub(crate) fn blocks(&self) -> usize {
        self.blocks
    }

    /// Entries of the whole group.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// Memory held, in bytes, without the partitions.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Self>()
            + match &self.top {
                Top::One(one) => one.memory(),
                Top::Root {
                    separators,
                    partitions,
                    ..
                } => separators.memory() + partitions.memory(),
            }
    }

    /// The index as one list, if it is not partitioned.
    #[inline]
    pub(crate) fn one(&self) -> Option<&Arc<IndexPartition>> {
        match &self.top {
            Top::One(one) => Some(one),
            Top::Root { .. } => None,
        }
    }

    /// Number of partitions.
    pub(crate) fn partitions(&self) -> usize {
        match &self.top {
            Top::One(_) => 1,
            Top::Root { separators, .. } => separators.blocks(),
        }
    }

    /// The partitions that are in the cache.
    #[inline]
    pub(in crate::sorted_file) fn cached(&self) -> Option<&Arc<CachedBlockIndex<IndexPartition>>> {
        match &self.top {
            Top::One(_) => None,
            Top::Root { partitions, .. } => Some(partitions),
        }
    }

    /// The blocks of a partition.
    #[inline]
    pub(crate) fn blocks_of(&self, partition: usize) -> Option<std::ops::Range<usize>> {
        let Top::Root {
            separators,
            blocks_before,
            ..
        } = &self.top
        else {
            return (partition == 0).then_some(0..self.blocks);
        };
        let first = separators.behind(blocks_before, partition)?;
        let next = match partition + 1 < separators.blocks() {
            true => separators.behind(blocks_before, partition + 1)?,
            false => self.blocks,
        };
        Some(first..next)
    }

    /// Entries of the group before a partition, and in it.
    pub(crate) fn entries_of(&self, partition: usize) -> Option<std::ops::Range<u64>> {
        let Top::Root { separators, .. } = &self.top else {
            return (partition == 0).then_some(0..self.entries);
        };
        Some(separators.entries_before(partition)?..separators.entries_before(partition + 1)?)
    }

    /// The position of a partition, if the index is partitioned.
    pub(crate) fn place_of(&self, partition: usize) -> Option<BlockPlace> {
        match &self.top {
            Top::One(_) => None,
            Top::Root { separators, .. } => separators.place(partition),
        }
    }

    /// The partition with a block.
    pub(crate) fn partition_with(&self, block: usize) -> Option<usize> {
        let Top::Root {
            separators,
            blocks_before,
            ..
        } = &self.top
        else {
            return Some(0);
        };
        let (mut low, mut high) = (0, separators.blocks());
        while low + 1 < high {
            let middle = low.midpoint(high);
            if separators.behind(blocks_before, middle)? <= block {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(low)
    }

    /// The partition with the block that [`IndexPartition::find`] would find if it had all blocks.
    #[inline]
    pub(in crate::sorted_file) fn find_partition(&self, bound: Bound<'_>) -> Option<usize> {
        match &self.top {
            Top::One(_) => Some(0),
            Top::Root { separators, .. } => separators.find(bound),
        }
    }

    /// Orders the first separator of a partition relative to `bound`; `None` also if the index is
    /// not partitioned.
    pub(in crate::sorted_file) fn compare_partition(
        &self,
        partition: usize,
        bound: Bound<'_>,
    ) -> Option<Ordering> {
        match &self.top {
            Top::One(_) => None,
            Top::Root { separators, .. } => separators.compare(partition, bound),
        }
    }
}
