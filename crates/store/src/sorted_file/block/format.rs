//! The bytes of a block, and the positions of its lanes.
//!
//! ```text
//! entries            varint, at least 1
//! row prefix         varint length, bytes: what all rows of the block begin with
//! row lengths        integer lane, whole rows
//! shared             integer lane: bytes shared with the row before, behind the prefix; 0 at every restart
//! suffix starts      integer lane, one per restart: where its suffix begins
//! suffixes           varint length, bytes
//! family             byte-string lane
//! qualifier          byte-string lane
//! visibility         byte-string lane, always a dictionary
//! timestamps         integer lane of two's-complement numbers with the sign bit flipped
//! deletes            1 byte: 0 none, 1 all, 2 a bitmap follows (lowest bit first)
//! value              byte-string lane
//! ```
//!
//! Every 16th entry, the first included, is a restart. Lanes are described in `lane.rs`.

#![deny(clippy::indexing_slicing)]

use super::cached_blocks::Home;
use super::front::Front;
use super::lane::{BytesLane, IntLane, RESTART_INTERVAL, Run};
use crate::codec::ByteReader;

/// Flipping the sign bit makes unsigned order the order of timestamps.
pub(super) const SIGN: u64 = 1 << 63;

/// Which entries are delete markers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Deletes {
    None,
    All,
    Some { start: usize },
}

pub(super) const DELETES_NONE: u8 = 0;
pub(super) const DELETES_ALL: u8 = 1;
pub(super) const DELETES_SOME: u8 = 2;

/// The positions of a block's lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockLayout {
    pub(super) entries: usize,
    pub(super) row_prefix: Run,
    pub(super) row_lens: IntLane,
    pub(super) shared: IntLane,
    pub(super) suffix_starts: IntLane,
    pub(super) suffixes: Run,
    pub(super) family: BytesLane,
    pub(super) qualifier: BytesLane,
    pub(super) visibility: BytesLane,
    pub(super) timestamps: IntLane,
    pub(super) deletes: Deletes,
    pub(super) value: BytesLane,
}

impl BlockLayout {
    /// Finds the lanes. `None` if the bytes are not a valid block. All lanes are then inside the
    /// bytes; their content is checked when it is read.
    pub(crate) fn parse(raw: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(raw);
        let r = &mut reader;
        let entries = usize::try_from(r.varint_u64()?).ok()?;
        // A constant lane takes no bytes, so that the number of entries must be bounded explicitly.
        if entries == 0 || entries > ENTRIES_MAX {
            return None;
        }
        let layout = Self {
            entries,
            row_prefix: Run::parse(raw, r)?,
            row_lens: IntLane::parse(raw, r, entries)?,
            shared: IntLane::parse(raw, r, entries)?,
            suffix_starts: IntLane::parse(raw, r, entries.div_ceil(RESTART_INTERVAL))?,
            suffixes: Run::parse(raw, r)?,
            family: BytesLane::parse(raw, r, entries)?,
            qualifier: BytesLane::parse(raw, r, entries)?,
            visibility: BytesLane::parse(raw, r, entries)?,
            timestamps: IntLane::parse(raw, r, entries)?,
            deletes: match r.u8()? {
                DELETES_NONE => Deletes::None,
                DELETES_ALL => Deletes::All,
                DELETES_SOME => {
                    let start = super::lane::offset_of(raw, r);
                    r.take(entries.div_ceil(8))?;
                    Deletes::Some { start }
                }
                _ => return None,
            },
            value: BytesLane::parse(raw, r, entries)?,
        };
        (reader.is_empty() && layout.visibility.words().is_some()).then_some(layout)
    }
}

/// Maximum number of entries in a block; bounds the work that a wrong count can cause.
pub(super) const ENTRIES_MAX: usize = 1 << 20;

/// A block in memory, uncompressed: its bytes and where the lanes lie.
// In this order, to keep the fields that a search needs together.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Block {
    /// The raw bytes are `bytes[start..start + len]`.
    bytes: Vec<u8>,
    start: usize,
    len: usize,
    front: Front,
    layout: BlockLayout,
    /// The slot through which it is found without the cache.
    home: Option<Home<Block>>,
}

impl Block {
    /// The block whose raw bytes are the given part of `bytes`; returns the bytes if they are not a
    /// valid block.
    pub(crate) fn parse(bytes: Vec<u8>, start: usize, len: usize) -> Result<Self, Vec<u8>> {
        let parts = bytes.get(start..start.saturating_add(len)).and_then(|raw| {
            let layout = BlockLayout::parse(raw)?;
            let front = Front::of(raw, &layout)?;
            Some((layout, front))
        });
        match parts {
            Some((layout, front)) => Ok(Self {
                bytes,
                start,
                len,
                layout,
                front,
                home: None,
            }),
            None => Err(bytes),
        }
    }

    /// Returns the buffer for reuse.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Sets the slot of the block.
    pub(in crate::sorted_file) fn settle(&mut self, home: Home<Self>) {
        self.home = Some(home);
    }

    /// Memory held, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity() + size_of::<Self>()
    }

    /// Number of entries.
    #[inline]
    pub(crate) fn entries(&self) -> usize {
        self.layout.entries
    }

    /// Uncompressed size in bytes.
    #[inline]
    pub(crate) fn raw_len(&self) -> usize {
        self.len
    }

    /// Length of the row of entry `at`.
    #[inline]
    pub(crate) fn row_len(&self, at: usize) -> usize {
        let len = self.layout.row_lens.get(self.raw(), at);
        len.and_then(|len| usize::try_from(len).ok()).unwrap_or(0)
    }

    #[inline]
    pub(super) fn raw(&self) -> &[u8] {
        self.bytes
            .get(self.start..self.start + self.len)
            .unwrap_or_default()
    }

    #[inline]
    pub(super) fn layout(&self) -> &BlockLayout {
        &self.layout
    }

    #[inline]
    pub(super) fn front(&self) -> &Front {
        &self.front
    }

    /// The distinct labels of the block.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &[u8]> {
        let lane = self.layout.visibility;
        (0..lane.words().unwrap_or(0)).filter_map(move |id| lane.word(self.raw(), id))
    }
}
