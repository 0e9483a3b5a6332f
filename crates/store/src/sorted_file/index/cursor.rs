//! A reader's cursor in an index: finds blocks by their number in the group, in whichever partition
//! they are.

use std::cmp::Ordering;
use std::sync::Arc;

use ostrakon_cell::Key;

use super::format::BlockPlace;
use super::group::{GroupIndex, IndexPartition};
use crate::error::{Error, StoreResult};
use crate::sorted_file::bound::Bound;
use crate::sorted_file::reader::SortedFile;

/// Looks up blocks. It keeps the most recent partition.
#[derive(Debug)]
pub(in crate::sorted_file) struct IndexCursor {
    index: Arc<GroupIndex>,
    partition: Option<Arc<IndexPartition>>,
    /// Its number, and its blocks.
    number: usize,
    first: usize,
    end: usize,
}

impl IndexCursor {
    pub(in crate::sorted_file) fn new(index: Arc<GroupIndex>) -> Self {
        let one = index.one().cloned();
        Self {
            end: one.as_ref().map_or(0, |_| index.blocks()),
            partition: one,
            index,
            number: 0,
            first: 0,
        }
    }

    pub(in crate::sorted_file) fn index(&self) -> &Arc<GroupIndex> {
        &self.index
    }

    /// Blocks of the group.
    #[inline]
    pub(in crate::sorted_file) fn blocks(&self) -> usize {
        self.index.blocks()
    }

    /// The partition with a block, and the block's number in it. `fill` adds it to the cache.
    #[inline]
    pub(in crate::sorted_file) fn at(
        &mut self,
        file: &SortedFile,
        block: usize,
        fill: bool,
    ) -> StoreResult<(&Arc<IndexPartition>, usize)> {
        if !(self.first..self.end).contains(&block) {
            let number = self
                .index
                .partition_with(block)
                .filter(|_| block < self.index.blocks())
                .ok_or_else(|| malformed(file))?;
            self.enter(file, number, fill)?;
        }
        match &self.partition {
            Some(partition) => Ok((partition, block - self.first)),
            None => Err(malformed(file)),
        }
    }

    fn enter(&mut self, file: &SortedFile, number: usize, fill: bool) -> StoreResult<()> {
        let blocks = self.index.blocks_of(number);
        let blocks = blocks.ok_or_else(|| malformed(file))?;
        // Released first, so that only one is held at a time.
        self.partition = None;
        (self.first, self.end) = (0, 0);
        self.partition = Some(file.partition(&self.index, number, fill)?);
        (self.number, self.first, self.end) = (number, blocks.start, blocks.end);
        Ok(())
    }

    /// The block that contains the first key after `bound`, unless that is the very first key of
    /// the next block.
    #[inline]
    pub(in crate::sorted_file) fn find(
        &mut self,
        file: &SortedFile,
        bound: Bound<'_>,
        fill: bool,
    ) -> StoreResult<usize> {
        let number = self.index.find_partition(bound);
        let number = number.ok_or_else(|| malformed(file))?;
        if self.number != number || self.partition.is_none() {
            self.enter(file, number, fill)?;
        }
        let found = self.partition.as_ref().and_then(|one| one.find(bound));
        Ok(self.first + found.ok_or_else(|| malformed(file))?)
    }

    /// Orders the separator before `block`, a place directly before a key, relative to `bound`.
    #[inline]
    pub(in crate::sorted_file) fn compare(
        &mut self,
        file: &SortedFile,
        block: usize,
        bound: Bound<'_>,
        fill: bool,
    ) -> StoreResult<Ordering> {
        // The first block after this partition: the root has its separator too.
        let order = if block == self.end && self.partition.is_some() {
            self.index.compare_partition(self.number + 1, bound)
        } else {
            let (partition, at) = self.at(file, block, fill)?;
            partition.compare(at, bound)
        };
        order.ok_or_else(|| malformed(file))
    }

    pub(in crate::sorted_file) fn place(
        &mut self,
        file: &SortedFile,
        block: usize,
        fill: bool,
    ) -> StoreResult<BlockPlace> {
        let (partition, at) = self.at(file, block, fill)?;
        partition.place(at).ok_or_else(|| malformed(file))
    }

    /// Entries of the group in the blocks before `block`.
    pub(in crate::sorted_file) fn entries_before(
        &mut self,
        file: &SortedFile,
        block: usize,
    ) -> StoreResult<u64> {
        if block >= self.index.blocks() {
            return Ok(self.index.entries());
        }
        let (partition, at) = self.at(file, block, true)?;
        let inside = partition.entries_before(at);
        let before = self.index.entries_of(self.number).map(|of| of.start);
        let sum = before.zip(inside).map(|(a, b)| a.saturating_add(b));
        sum.ok_or_else(|| malformed(file))
    }

    /// The row of the separator before `block`: every row of an earlier block is at most this one.
    pub(in crate::sorted_file) fn separator_row(
        &mut self,
        file: &SortedFile,
        block: usize,
    ) -> StoreResult<Vec<u8>> {
        let (partition, at) = self.at(file, block, true)?;
        partition.separator_row(at).ok_or_else(|| malformed(file))
    }

    /// Whether `block` begins inside a row; then `key` becomes the separator before it.
    pub(in crate::sorted_file) fn inside_row(
        &mut self,
        file: &SortedFile,
        block: usize,
        key: &mut Key,
        fill: bool,
    ) -> StoreResult<bool> {
        let (partition, at) = self.at(file, block, fill)?;
        partition.inside_row(at, key).ok_or_else(|| malformed(file))
    }
}

#[cold]
fn malformed(file: &SortedFile) -> Error {
    file.corrupt(0, "an index is malformed")
}
