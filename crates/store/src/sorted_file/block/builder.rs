//! Collects entries and encodes them as one block.

use std::cmp::Ordering;

use hashbrown::HashTable;
use ostrakon_cell::{Key, KeyRef, same_bytes};
use xxhash_rust::xxh3::xxh3_64;

use super::format::{DELETES_ALL, DELETES_NONE, DELETES_SOME, ENTRIES_MAX, SIGN};
use super::lane::{RESTART_INTERVAL, put_dictionary, put_ints_u32, put_ints_u64, put_plain};
use crate::codec::{common_prefix_len, varint};

/// An entry came before its predecessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrderViolation;

/// Collects the entries of one block at a time.
#[derive(Debug)]
pub(crate) struct BlockBuilder {
    row_lens: Vec<u32>,
    shared: Vec<u32>,
    /// Per restart, the start of its row in `suffixes`.
    suffix_starts: Vec<u32>,
    /// Whole rows at restarts, else the bytes after those shared with the previous row.
    suffixes: Vec<u8>,
    last_row: Vec<u8>,
    /// Bytes of the common prefix of all rows.
    prefix: usize,
    family: ColumnBuilder,
    qualifier: ColumnBuilder,
    visibility: ColumnBuilder,
    value: ColumnBuilder,
    timestamps: Vec<u64>,
    deletes: Vec<bool>,
    deleted: u64,
    scratch_starts: Vec<u64>,
    scratch_suffixes: Vec<u8>,
}

/// Counts of a finished block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockCounts {
    pub(crate) entries: u64,
    pub(crate) deletes: u64,
    pub(crate) oldest: i64,
    pub(crate) newest: i64,
}

impl BlockBuilder {
    pub(crate) fn new() -> Self {
        Self {
            row_lens: Vec::new(),
            shared: Vec::new(),
            suffix_starts: Vec::new(),
            suffixes: Vec::new(),
            last_row: Vec::new(),
            prefix: 0,
            family: ColumnBuilder::new(DictionaryLimit::UpTo(24)),
            qualifier: ColumnBuilder::new(DictionaryLimit::UpTo(24)),
            visibility: ColumnBuilder::new(DictionaryLimit::None),
            value: ColumnBuilder::new(DictionaryLimit::UpTo(4)),
            timestamps: Vec::new(),
            deletes: Vec::new(),
            deleted: 0,
            scratch_starts: Vec::new(),
            scratch_suffixes: Vec::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.row_lens.is_empty()
    }

    /// Whether no further entry may be added.
    pub(crate) fn is_full(&self) -> bool {
        self.row_lens.len() >= ENTRIES_MAX
    }

    /// Approximate number of raw bytes of the block.
    #[inline]
    pub(crate) fn raw_estimate(&self) -> usize {
        self.suffixes.len()
            + self.family.data.len()
            + self.qualifier.data.len()
            + self.value.data.len()
            + self.visibility.data.len()
            + 4 * self.row_lens.len()
    }

    /// Adds an entry. `same_row` says that its row is known to equal the previous entry's.
    #[inline]
    pub(crate) fn push(
        &mut self,
        key: KeyRef<'_>,
        value: &[u8],
        same_row: bool,
    ) -> Result<(), OrderViolation> {
        let entries = self.row_lens.len();
        let shared = if entries == 0 {
            self.prefix = key.row.len();
            0
        } else {
            let shared = if same_row {
                key.row.len()
            } else {
                common_prefix_len(&self.last_row, key.row)
            };
            if shared == key.row.len() {
                if self.last_row.len() != shared || self.last_column_is_greater(key) {
                    return Err(OrderViolation);
                }
            } else {
                match (self.last_row.get(shared), key.row.get(shared)) {
                    (Some(last), Some(next)) if last > next => return Err(OrderViolation),
                    _ => {}
                }
                self.prefix = self.prefix.min(shared);
            }
            shared
        };
        let kept = if entries.is_multiple_of(RESTART_INTERVAL) {
            self.suffix_starts.push(self.suffixes.len() as u32);
            0
        } else {
            shared
        };
        self.shared.push(kept as u32);
        self.row_lens.push(key.row.len() as u32);
        if let Some(suffix) = key.row.get(kept..) {
            self.suffixes.extend_from_slice(suffix);
        }
        if entries == 0 || shared != key.row.len() {
            self.last_row.truncate(shared);
            if let Some(rest) = key.row.get(shared..) {
                self.last_row.extend_from_slice(rest);
            }
        }
        self.family.push(key.family);
        self.qualifier.push(key.qualifier);
        self.visibility.push(key.visibility);
        self.value.push(value);
        self.timestamps.push(key.timestamp as u64 ^ SIGN);
        self.deletes.push(key.deleted);
        self.deleted += u64::from(key.deleted);
        Ok(())
    }

    /// Whether the last entry, whose row is `key`'s, comes after `key`.
    fn last_column_is_greater(&self, key: KeyRef<'_>) -> bool {
        let order = self
            .family
            .last()
            .cmp(key.family)
            .then_with(|| self.qualifier.last().cmp(key.qualifier))
            .then_with(|| self.visibility.last().cmp(key.visibility))
            .then_with(|| {
                let newest = self.timestamps.last().copied().unwrap_or(u64::MAX);
                (key.timestamp as u64 ^ SIGN).cmp(&newest)
            })
            .then_with(|| {
                let deleted = self.deletes.last().copied().unwrap_or(true);
                key.deleted.cmp(&deleted)
            });
        order == Ordering::Greater
    }

    /// Copies the key of the last entry.
    pub(crate) fn last_key(&self, into: &mut Key) {
        into.set(KeyRef {
            row: &self.last_row,
            family: self.family.last(),
            qualifier: self.qualifier.last(),
            visibility: self.visibility.last(),
            timestamp: (self.timestamps.last().copied().unwrap_or(SIGN) ^ SIGN) as i64,
            deleted: self.deletes.last().copied().unwrap_or(false),
        });
    }

    /// Appends the raw block to `out` and begins a new one.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) -> BlockCounts {
        let entries = self.row_lens.len();
        out.reserve(self.raw_estimate() + 8 * entries);
        varint::put_u64(out, entries as u64);
        self.put_rows(out);
        self.family.finish(out, &mut self.scratch_starts);
        self.qualifier.finish(out, &mut self.scratch_starts);
        self.visibility.finish(out, &mut self.scratch_starts);
        put_ints_u64(&self.timestamps, out);
        if self.deleted == 0 {
            out.push(DELETES_NONE);
        } else if self.deleted == entries as u64 {
            out.push(DELETES_ALL);
        } else {
            out.push(DELETES_SOME);
            out.extend(self.deletes.chunks(8).map(|group| {
                group
                    .iter()
                    .enumerate()
                    .fold(0, |bits, (at, &deleted)| bits | (u8::from(deleted) << at))
            }));
        }
        self.value.finish(out, &mut self.scratch_starts);
        let oldest = self.timestamps.iter().copied().min().unwrap_or(SIGN);
        let newest = self.timestamps.iter().copied().max().unwrap_or(SIGN);
        let counts = BlockCounts {
            entries: entries as u64,
            deletes: self.deleted,
            oldest: (oldest ^ SIGN) as i64,
            newest: (newest ^ SIGN) as i64,
        };
        self.row_lens.clear();
        self.shared.clear();
        self.suffix_starts.clear();
        self.suffixes.clear();
        self.last_row.clear();
        self.timestamps.clear();
        self.deletes.clear();
        self.deleted = 0;
        counts
    }

    fn put_rows(&mut self, out: &mut Vec<u8>) {
        let prefix = self.prefix;
        varint::put_u64(out, prefix as u64);
        out.extend_from_slice(self.suffixes.get(..prefix).unwrap_or_default());
        put_ints_u32(&self.row_lens, out);
        for (at, shared) in self.shared.iter_mut().enumerate() {
            if at % RESTART_INTERVAL != 0 {
                // No row shares less with the previous one than all rows share.
                *shared -= prefix as u32;
            }
        }
        put_ints_u32(&self.shared, out);
        // Rows at restarts are complete here; on disk they begin after the prefix.
        self.scratch_suffixes.clear();
        self.scratch_starts.clear();
        for (at, &start) in self.suffix_starts.iter().enumerate() {
            let end = self
                .suffix_starts
                .get(at + 1)
                .map_or(self.suffixes.len(), |&end| end as usize);
            self.scratch_starts.push(self.scratch_suffixes.len() as u64);
            let group = self.suffixes.get(start as usize + prefix..end);
            self.scratch_suffixes
                .extend_from_slice(group.unwrap_or_default());
        }
        put_ints_u64(&self.scratch_starts, out);
        varint::put_u64(out, self.scratch_suffixes.len() as u64);
        out.extend_from_slice(&self.scratch_suffixes);
    }
}

/// When a column stops using its dictionary.
#[derive(Clone, Copy, Debug)]
enum DictionaryLimit {
    /// Never.
    None,
    /// Above this many words, unless there are four times as many entries.
    UpTo(usize),
}

/// Blocks written plainly before a dictionary is tried again.
const PLAIN_BLOCKS: u32 = 15;

/// Byte strings, with a dictionary while it saves space.
#[derive(Debug)]
struct ColumnBuilder {
    limit: DictionaryLimit,
    plain: bool,
    plain_blocks_left: u32,
    /// Plain: the strings. Dictionary: the words.
    data: Vec<u8>,
    /// Plain: length of each string.
    lens: Vec<u32>,
    /// Dictionary: the end of each word.
    ends: Vec<u32>,
    ids: Vec<u32>,
    by_hash: HashTable<u32>,
}

impl ColumnBuilder {
    fn new(limit: DictionaryLimit) -> Self {
        Self {
            limit,
            plain: false,
            plain_blocks_left: 0,
            data: Vec::new(),
            lens: Vec::new(),
            ends: Vec::new(),
            ids: Vec::new(),
            by_hash: HashTable::new(),
        }
    }

    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        if self.plain {
            self.lens.push(bytes.len() as u32);
            self.data.extend_from_slice(bytes);
        } else if let Some(&id) = self.ids.last()
            && same_bytes(self.word(id), bytes)
        {
            self.ids.push(id);
        } else {
            self.push_word(bytes);
        }
    }

    fn word(&self, id: u32) -> &[u8] {
        word(&self.ends, &self.data, id)
    }

    #[cold]
    fn give_up(&mut self) {
        let ids = std::mem::take(&mut self.ids);
        let ends = std::mem::take(&mut self.ends);
        let words = std::mem::take(&mut self.data);
        for &id in &ids {
            let word = word(&ends, &words, id);
            self.lens.push(word.len() as u32);
            self.data.extend_from_slice(word);
        }
        self.by_hash.clear();
        self.plain = true;
        self.plain_blocks_left = PLAIN_BLOCKS;
        // Keep the buffers.
        self.ids = ids;
        self.ids.clear();
        self.ends = ends;
        self.ends.clear();
    }

    fn push_word(&mut self, bytes: &[u8]) {
        let hash = xxh3_64(bytes);
        let Self {
            data,
            ends,
            by_hash,
            ids,
            limit,
            ..
        } = self;
        if let Some(&id) = by_hash.find(hash, |&id| same_bytes(word(ends, data, id), bytes)) {
            ids.push(id);
            return;
        }
        if let DictionaryLimit::UpTo(words) = *limit
            && ends.len() >= words
            && ends.len() * 4 > ids.len()
        {
            self.give_up();
            self.push(bytes);
            return;
        }
        let id = ends.len() as u32;
        data.extend_from_slice(bytes);
        ends.push(data.len() as u32);
        by_hash.insert_unique(hash, id, |&id| xxh3_64(word(ends, data, id)));
        ids.push(id);
    }

    /// The last string.
    fn last(&self) -> &[u8] {
        if self.plain {
            let len = self.lens.last().copied().unwrap_or(0) as usize;
            self.data.get(self.data.len() - len..).unwrap_or_default()
        } else {
            self.ids.last().map_or(&[], |&id| self.word(id))
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>, starts: &mut Vec<u64>) {
        if self.plain {
            put_plain(&self.lens, &self.data, out, starts);
            match self.plain_blocks_left.checked_sub(1) {
                Some(left) => self.plain_blocks_left = left,
                None => self.plain = false,
            }
        } else {
            put_dictionary(&self.ends, &self.data, &self.ids, out);
        }
        self.data.clear();
        self.lens.clear();
        self.ends.clear();
        self.ids.clear();
        self.by_hash.clear();
    }
}

#[inline]
fn word<'a>(ends: &[u32], data: &'a [u8], id: u32) -> &'a [u8] {
    let id = id as usize;
    let start = id
        .checked_sub(1)
        .and_then(|before| ends.get(before))
        .map_or(0, |&end| end as usize);
    let end = ends.get(id).map_or(start, |&end| end as usize);
    data.get(start..end).unwrap_or_default()
}
