//! Collects the index of a locality group while its blocks are written.

use ostrakon_cell::KeyRef;

use super::format::{BlockPlace, IndexLanes, put_shortest};

/// Collects an index: about thirty bytes of memory a block.
#[derive(Debug, Default)]
pub(crate) struct IndexBuilder {
    lanes: IndexLanes,
}

impl IndexBuilder {
    /// A block begins whose first key is `next`; `last` is the last key of the block before.
    pub(crate) fn begin(&mut self, last: Option<KeyRef<'_>>, next: KeyRef<'_>) {
        put_shortest(last, next, &mut self.lanes.keys);
        self.lanes.key_ends.push(self.lanes.keys.len() as u64);
    }

    /// The block begun was written.
    pub(crate) fn end(&mut self, place: BlockPlace, entries: u64) {
        self.lanes.offsets.push(place.offset);
        self.lanes.lens.push(u64::from(place.bytes));
        self.lanes.entries_before.push(self.lanes.entries);
        self.lanes.entries += entries;
    }

    /// Entries of the blocks written.
    pub(crate) fn entries(&self) -> u64 {
        self.lanes.entries
    }

    /// Number of blocks written.
    pub(crate) fn blocks(&self) -> u64 {
        self.lanes.offsets.len() as u64
    }

    /// The bytes of the index.
    pub(crate) fn encode(&self) -> Vec<u8> {
        self.lanes.encode()
    }
}
