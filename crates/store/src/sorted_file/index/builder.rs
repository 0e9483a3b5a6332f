//! Collects the index of a locality group while its blocks are written.

use ostrakon_cell::KeyRef;

use super::format::{BlockPlace, IndexLanes, put_shortest};
use crate::codec::varint;
use crate::sorted_file::block::put_ints_u64;

/// Collects an index, one partition at a time: about thirty bytes of memory per block of the
/// present one.
#[derive(Debug)]
pub(crate) struct IndexBuilder {
    /// Size at which a partition is full, in bytes.
    full: usize,
    /// The present partition.
    lanes: IndexLanes,
    /// One separator for each written partition.
    root: IndexLanes,
    /// Blocks before each written partition.
    blocks_before: Vec<u64>,
    /// Blocks in the written partitions.
    blocks: u64,
}

impl IndexBuilder {
    /// With partitions of about this many bytes.
    pub(crate) fn new(full: usize) -> Self {
        Self {
            full,
            lanes: IndexLanes::default(),
            root: IndexLanes::default(),
            blocks_before: Vec::new(),
            blocks: 0,
        }
    }

    /// Begins a block whose first key is `next`; `last` is the last key of the previous block.
    pub(crate) fn begin(&mut self, last: Option<KeyRef<'_>>, next: KeyRef<'_>) {
        put_shortest(last, next, &mut self.lanes.keys);
        self.lanes.key_ends.push(self.lanes.keys.len() as u64);
    }

    /// Ends the block that was begun, after it was written.
    pub(crate) fn end(&mut self, place: BlockPlace, entries: u64) {
        self.lanes.put(place, entries);
    }

    /// Entries of the blocks written.
    pub(crate) fn entries(&self) -> u64 {
        self.root.entries + self.lanes.entries
    }

    /// Number of blocks written.
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks + self.lanes.offsets.len() as u64
    }

    /// Whether the partition should be written before the next block begins.
    pub(crate) fn is_full(&self) -> bool {
        self.lanes.estimate() >= self.full
    }

    /// Whether some partition was written, so that there is a root.
    pub(crate) fn is_partitioned(&self) -> bool {
        !self.blocks_before.is_empty()
    }

    /// Whether some blocks are not in a written partition.
    pub(crate) fn has_rest(&self) -> bool {
        !self.lanes.offsets.is_empty()
    }

    /// The bytes of the present partition.
    pub(crate) fn partition(&self) -> Vec<u8> {
        self.lanes.encode()
    }

    /// Ends the present partition after it was written; the next one begins.
    pub(crate) fn end_partition(&mut self, place: BlockPlace) {
        let first = self.lanes.key_ends.first().map_or(0, |end| *end as usize);
        let separator = self.lanes.keys.get(..first).unwrap_or_default();
        self.root.keys.extend_from_slice(separator);
        self.root.key_ends.push(self.root.keys.len() as u64);
        self.blocks_before.push(self.blocks);
        self.blocks += self.lanes.offsets.len() as u64;
        self.root.put(place, self.lanes.entries);
        self.lanes.clear();
    }

    /// The bytes of the root.
    pub(crate) fn root(&self) -> Vec<u8> {
        let mut out = self.root.encode();
        varint::put_u64(&mut out, self.blocks);
        put_ints_u64(&self.blocks_before, &mut out);
        out
    }
}
