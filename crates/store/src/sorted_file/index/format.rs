//! The bytes of an index, and its lanes.
//!
//! An index is one list of separators, or a root over partitions, each of which is such a list. The list:
//!
//! ```text
//! blocks             varint
//! entries            varint: in these blocks
//! row prefix         varint length, bytes: what the rows of all separators begin with
//! order prefixes     8 bytes a block, big-endian: the first bytes of the separator's row behind the prefix
//! key ends           integer lane: where each separator ends
//! keys               varint length, bytes
//! offsets            integer lane: where in the file the block begins
//! lengths            integer lane: stored bytes of the block
//! entries before     integer lane: entries of the list in earlier blocks
//! ```
//!
//! The root is such a list, in which a partition stands where a block stands in others: its first separator, its place,
//! and the entries of the group before it. Behind the list:
//!
//! ```text
//! all blocks         varint: blocks of the group
//! blocks before      integer lane: for each partition, the blocks of the group before it
//! ```
//!
//! A separator is the smallest of the short keys that lie behind the last key of the block before and not behind the
//! first key of its own. Its first byte tells how much of a key it has:
//!
//! ```text
//! 0  row (to the end)
//! 1  row (varint length), family (to the end)
//! 2  row, family (each with length), qualifier (to the end)
//! 3  row, family, qualifier, visibility (each with length), timestamp (8 bytes), deleted (1 byte)
//! ```
//!
//! Parts that are absent stand for the smallest possible ones. Rows are without the row prefix.

#![deny(clippy::indexing_slicing)]

use ostrakon_cell::{Key, KeyRef};
use std::cmp::Ordering;

use crate::codec::order_prefix;
use crate::codec::put_length_prefixed;
use crate::codec::{ByteReader, common_prefix_len, varint};
use crate::sorted_file::block::{IntLane, put_ints_u64};
use crate::sorted_file::bound::Bound;

/// The position of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockPlace {
    /// Offset in the file.
    pub(crate) offset: u64,
    /// Stored bytes.
    pub(crate) bytes: u32,
}

/// Separators in memory, searched in place, with the position of each block.
#[derive(Debug)]
pub(super) struct Separators {
    bytes: Vec<u8>,
    blocks: usize,
    entries: u64,
    row_prefix: (usize, usize),
    order_prefixes: usize,
    key_ends: IntLane,
    keys: (usize, usize),
    offsets: IntLane,
    lens: IntLane,
    entries_before: IntLane,
}

impl Separators {
    /// Finds the lanes; `None` if the bytes are not a valid list.
    pub(super) fn parse(bytes: Vec<u8>) -> Option<Self> {
        let list = Self::parse_first(bytes)?;
        list.1.is_empty().then_some(list.0)
    }

    /// Finds the lanes of a root: also the blocks of the group, and those before each partition.
    pub(super) fn parse_root(bytes: Vec<u8>) -> Option<(Self, usize, IntLane)> {
        let (list, rest) = Self::parse_first(bytes)?;
        let whole = list.bytes.as_slice();
        let mut reader = ByteReader::new(whole.get(rest)?);
        let all = usize::try_from(reader.varint_u64()?).ok()?;
        let before = IntLane::parse(whole, &mut reader, list.blocks)?;
        reader.is_empty().then_some((list, all, before))
    }

    /// A number of a lane after the list.
    #[inline]
    pub(super) fn behind(&self, lane: &IntLane, at: usize) -> Option<usize> {
        if at >= self.blocks {
            return None;
        }
        usize::try_from(lane.get(&self.bytes, at)?).ok()
    }

    /// The list at the beginning of some bytes, and the position of the rest.
    fn parse_first(bytes: Vec<u8>) -> Option<(Self, std::ops::Range<usize>)> {
        let whole = bytes.as_slice();
        let mut reader = ByteReader::new(whole);
        let r = &mut reader;
        let blocks = usize::try_from(r.varint_u64()?).ok()?;
        // Every block has an order prefix, which bounds the count also for lanes that take no
        // bytes.
        if blocks > whole.len() / 8 {
            return None;
        }
        let entries = r.varint_u64()?;
        let row_prefix = take_run(whole, r)?;
        let order_prefixes = whole.len() - r.remaining();
        r.take(blocks.checked_mul(8)?)?;
        let key_ends = IntLane::parse(whole, r, blocks)?;
        let keys = take_run(whole, r)?;
        let offsets = IntLane::parse(whole, r, blocks)?;
        let lens = IntLane::parse(whole, r, blocks)?;
        let entries_before = IntLane::parse(whole, r, blocks)?;
        let rest = whole.len() - r.remaining()..whole.len();
        let list = Self {
            blocks,
            entries,
            row_prefix,
            order_prefixes,
            key_ends,
            keys,
            offsets,
            lens,
            entries_before,
            bytes,
        };
        Some((list, rest))
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    /// Entries of all its blocks.
    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// Memory held, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    pub(super) fn place(&self, block: usize) -> Option<BlockPlace> {
        if block >= self.blocks {
            return None;
        }
        Some(BlockPlace {
            offset: self.offsets.get(&self.bytes, block)?,
            bytes: u32::try_from(self.lens.get(&self.bytes, block)?).ok()?,
        })
    }

    /// Entries in the blocks before `block`.
    pub(super) fn entries_before(&self, block: usize) -> Option<u64> {
        if block >= self.blocks {
            return Some(self.entries);
        }
        self.entries_before.get(&self.bytes, block)
    }

    /// The common prefix of all separators' rows.
    fn row_prefix(&self) -> Option<&[u8]> {
        self.bytes.get(self.row_prefix.0..self.row_prefix.1)
    }

    /// The separator before `block` if its block begins inside a row: the key with the whole row
    /// but perhaps a shortened column, in a buffer.
    pub(super) fn inside_row(&self, block: usize, key: &mut Key) -> Option<bool> {
        let (kind, separator) = self.separator(block)?;
        if kind == ROW {
            return Some(false);
        }
        key.set(separator);
        let prefix = self.row_prefix()?;
        key.row.splice(..0, prefix.iter().copied());
        Some(true)
    }

    /// The separator before `block`: its first byte, and the key with its row without the prefix.
    fn separator(&self, block: usize) -> Option<(u8, KeyRef<'_>)> {
        let start = match block.checked_sub(1) {
            None => 0,
            Some(before) => usize::try_from(self.key_ends.get(&self.bytes, before)?).ok()?,
        };
        let end = usize::try_from(self.key_ends.get(&self.bytes, block)?).ok()?;
        let keys = self.bytes.get(self.keys.0..self.keys.1)?;
        let separator = keys.get(start..end)?;
        Some((*separator.first()?, read_separator(separator)?))
    }

    /// The row of the separator before `block`: every row of an earlier block is at most this one.
    pub(super) fn separator_row(&self, block: usize) -> Option<Vec<u8>> {
        let mut row = self.row_prefix()?.to_vec();
        row.extend_from_slice(self.separator(block)?.1.row);
        Some(row)
    }

    /// Orders the separator before `block`, a place directly before a key, relative to `bound`.
    pub(super) fn compare(&self, block: usize, bound: Bound<'_>) -> Option<Ordering> {
        let prefix = self.row_prefix()?;
        let shared = common_prefix_len(prefix, bound.key.row);
        if shared < prefix.len() {
            return Some(match bound.key.row.get(shared) {
                Some(byte) => prefix.get(shared)?.cmp(byte),
                None => Ordering::Greater,
            });
        }
        let target = KeyRef {
            row: bound.key.row.get(shared..)?,
            ..bound.key
        };
        let word = u64::from_be_bytes(*self.words()?.get(block)?);
        match word.cmp(&order_prefix(target.row)) {
            Ordering::Equal => self.compare_key(block, target, bound.after),
            order => Some(order),
        }
    }

    /// The order prefixes.
    #[inline]
    fn words(&self) -> Option<&[[u8; 8]]> {
        let end = self.order_prefixes + self.blocks * 8;
        Some(self.bytes.get(self.order_prefixes..end)?.as_chunks::<8>().0)
    }

    fn compare_key(&self, block: usize, target: KeyRef<'_>, after: bool) -> Option<Ordering> {
        let (kind, separator) = self.separator(block)?;
        Some(match separator.cmp(&target) {
            Ordering::Equal if after => Ordering::Less,
            // Equal keys may repeat across blocks; then the separator is one of them, and those in
            // the previous block are after the place too.
            Ordering::Equal if kind == FULL => Ordering::Greater,
            order => order,
        })
    }

    /// The block that contains the first key after `bound`, unless that is the very first key of
    /// the next block.
    pub(super) fn find(&self, bound: Bound<'_>) -> Option<usize> {
        let prefix = self.row_prefix()?;
        let shared = common_prefix_len(prefix, bound.key.row);
        if shared < prefix.len() {
            return Some(match bound.key.row.get(shared) {
                Some(byte) if byte > prefix.get(shared)? => self.blocks.saturating_sub(1),
                _ => 0,
            });
        }
        let target = KeyRef {
            row: bound.key.row.get(shared..)?,
            ..bound.key
        };
        let order = order_prefix(target.row);
        let words = self.words()?;
        // First by the words alone, then by whole keys among those with equal words.
        let mut low = words.partition_point(|word| u64::from_be_bytes(*word) < order);
        let mut high = low;
        if words
            .get(low)
            .is_some_and(|word| u64::from_be_bytes(*word) == order)
        {
            high = low
                + words
                    .get(low..)?
                    .partition_point(|word| u64::from_be_bytes(*word) == order);
        }
        while low < high {
            let middle = low.midpoint(high);
            if self.compare_key(middle, target, bound.after)? != Ordering::Greater {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some(low.saturating_sub(1))
    }
}

fn take_run(whole: &[u8], reader: &mut ByteReader<'_>) -> Option<(usize, usize)> {
    let len = usize::try_from(reader.varint_u64()?).ok()?;
    let start = whole.len() - reader.remaining();
    reader.take(len)?;
    Some((start, start + len))
}

const ROW: u8 = 0;
const FAMILY: u8 = 1;
const QUALIFIER: u8 = 2;
const FULL: u8 = 3;

fn read_separator(bytes: &[u8]) -> Option<KeyRef<'_>> {
    let mut reader = ByteReader::new(bytes);
    let r = &mut reader;
    let mut key = KeyRef {
        row: &[],
        family: &[],
        qualifier: &[],
        visibility: &[],
        timestamp: i64::MAX,
        deleted: true,
    };
    let kind = r.u8()?;
    if kind == ROW {
        key.row = r.rest();
        return Some(key);
    }
    key.row = r.length_prefixed()?;
    if kind == FAMILY {
        key.family = r.rest();
        return Some(key);
    }
    key.family = r.length_prefixed()?;
    if kind == QUALIFIER {
        key.qualifier = r.rest();
        return Some(key);
    }
    if kind != FULL {
        return None;
    }
    key.qualifier = r.length_prefixed()?;
    key.visibility = r.length_prefixed()?;
    key.timestamp = r.i64()?;
    key.deleted = r.u8()? != 0;
    r.is_empty().then_some(key)
}

/// Appends the part of a separator after the row's prefix. `kind` is as on disk.
fn put_separator(kind: u8, key: KeyRef<'_>, out: &mut Vec<u8>) {
    out.push(kind);
    if kind == ROW {
        out.extend_from_slice(key.row);
        return;
    }
    put_length_prefixed(out, key.row);
    if kind == FAMILY {
        out.extend_from_slice(key.family);
        return;
    }
    put_length_prefixed(out, key.family);
    if kind == QUALIFIER {
        out.extend_from_slice(key.qualifier);
        return;
    }
    put_length_prefixed(out, key.qualifier);
    put_length_prefixed(out, key.visibility);
    out.extend_from_slice(&key.timestamp.to_le_bytes());
    out.push(u8::from(key.deleted));
}

/// Appends the shortest separator between `last` and `next`, which must not be less. Without
/// `last`, the separator is `next`'s whole row.
pub(super) fn put_shortest(last: Option<KeyRef<'_>>, next: KeyRef<'_>, out: &mut Vec<u8>) {
    fn beyond<'a>(last: &[u8], next: &'a [u8]) -> &'a [u8] {
        next.get(..=common_prefix_len(last, next)).unwrap_or(next)
    }
    let Some(last) = last else {
        return put_separator(ROW, next, out);
    };
    if last.row != next.row {
        let row = beyond(last.row, next.row);
        put_separator(ROW, KeyRef { row, ..next }, out);
    } else if last.family != next.family {
        let family = beyond(last.family, next.family);
        put_separator(FAMILY, KeyRef { family, ..next }, out);
    } else if last.qualifier != next.qualifier {
        let qualifier = beyond(last.qualifier, next.qualifier);
        put_separator(QUALIFIER, KeyRef { qualifier, ..next }, out);
    } else {
        put_separator(FULL, next, out);
    }
}

/// The lanes of an index that is being written. Rows of the separators in `keys` are complete.
#[derive(Debug, Default)]
pub(super) struct IndexLanes {
    pub(super) keys: Vec<u8>,
    pub(super) key_ends: Vec<u64>,
    pub(super) offsets: Vec<u64>,
    pub(super) lens: Vec<u64>,
    pub(super) entries_before: Vec<u64>,
    pub(super) entries: u64,
}

impl IndexLanes {
    /// Adds the block after the last separator.
    pub(super) fn put(&mut self, place: BlockPlace, entries: u64) {
        self.offsets.push(place.offset);
        self.lens.push(u64::from(place.bytes));
        self.entries_before.push(self.entries);
        self.entries += entries;
    }

    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.key_ends.clear();
        self.offsets.clear();
        self.lens.clear();
        self.entries_before.clear();
        self.entries = 0;
    }

    /// Approximate bytes of the list.
    pub(super) fn estimate(&self) -> usize {
        self.keys.len() + 20 * self.key_ends.len()
    }

    /// The bytes of the list.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.keys.len() + 32 * self.key_ends.len() + 64);
        varint::put_u64(&mut out, self.key_ends.len() as u64);
        varint::put_u64(&mut out, self.entries);
        let mut start = 0;
        let mut separators = self.key_ends.iter().filter_map(|&end| {
            let separator = self.keys.get(start as usize..end as usize);
            start = end;
            let separator = separator?;
            Some((*separator.first()?, read_separator(separator)?))
        });
        // Separators ascend, so the first and the last share the shortest prefix.
        let first = separators.next();
        let prefix: &[u8] = match (first, separators.last()) {
            (Some((_, first)), Some((_, last))) => {
                let shared = common_prefix_len(first.row, last.row);
                first.row.get(..shared).unwrap_or_default()
            }
            (Some((_, first)), None) => first.row,
            (None, _) => &[],
        };
        put_length_prefixed(&mut out, prefix);
        let mut keys = Vec::with_capacity(self.keys.len());
        let mut key_ends = Vec::with_capacity(self.key_ends.len());
        let mut start = 0;
        for &end in &self.key_ends {
            let separator = self
                .keys
                .get(start as usize..end as usize)
                .unwrap_or_default();
            start = end;
            if let (Some(kind), Some(key)) = (separator.first(), read_separator(separator)) {
                let row = key.row.get(prefix.len()..).unwrap_or_default();
                out.extend_from_slice(&order_prefix(row).to_be_bytes());
                put_separator(*kind, KeyRef { row, ..key }, &mut keys);
            }
            key_ends.push(keys.len() as u64);
        }
        put_ints_u64(&key_ends, &mut out);
        put_length_prefixed(&mut out, &keys);
        put_ints_u64(&self.offsets, &mut out);
        put_ints_u64(&self.lens, &mut out);
        put_ints_u64(&self.entries_before, &mut out);
        out
    }
}
