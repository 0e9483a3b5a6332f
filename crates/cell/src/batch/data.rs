//! The batch itself.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::{EntryRef, Error, KeyRef, Result, same_bytes};

/// A run of bytes inside a batch's arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Number of bytes.
    pub len: u32,
}

/// One entry of a batch: where its parts lie in the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slot {
    /// The row.
    pub row: Span,
    /// The column family.
    pub family: Span,
    /// The column qualifier.
    pub qualifier: Span,
    /// The value.
    pub value: Span,
    /// The timestamp.
    pub timestamp: i64,
    /// Id in the batch's dictionary of visibilities; id 0 is always the empty label.
    pub visibility: u32,
    /// Whether the entry is a delete marker.
    pub deleted: bool,
}

/// How much [`next_batch`](crate::SortedKeyValueIterator::next_batch) may append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimit {
    /// Entries the batch may hold in all.
    pub entries: usize,
    /// Arena bytes after which no further entry is begun.
    pub bytes: usize,
}

impl Default for BatchLimit {
    /// 2,048 entries or 256 KiB: large enough to hide per-batch cost, small enough for L2.
    fn default() -> Self {
        Self {
            entries: 2048,
            bytes: 256 << 10,
        }
    }
}

/// A run of sorted entries; see the [module](crate::batch).
///
/// ```
/// use ostrakon_cell::{Batch, Key};
/// let mut batch = Batch::new();
/// batch.push(Key::new("alice", "edge", "bob").as_ref(), b"cited")?;
/// assert_eq!(batch.row(0), b"alice");
/// assert_eq!(batch.value(0), b"cited");
/// # Ok::<(), ostrakon_cell::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    /// Spans of the labels with ids 1, 2, …
    visibilities: Vec<Span>,
    /// Ids by label; filled only once there are several.
    visibility_ids: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// Up to this many labels a linear search beats hashing.
const LINEAR_LABELS: usize = 4;

impl Batch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Bytes in the arena.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.bytes.capacity() + self.slots.capacity() * size_of::<Slot>()
    }

    /// Empties the batch and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.slots.clear();
        self.visibilities.clear();
        self.visibility_ids.clear();
    }

    /// Whether `limit` is reached.
    #[must_use]
    pub fn is_full(&self, limit: BatchLimit) -> bool {
        self.slots.len() >= limit.entries || self.bytes.len() >= limit.bytes
    }

    /// The slots, in order.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The bytes of a span.
    ///
    /// # Panics
    /// When the span is not of this batch.
    #[must_use]
    #[inline]
    pub fn bytes(&self, span: Span) -> &[u8] {
        &self.bytes[span.start as usize..][..span.len as usize]
    }

    /// The row of entry `at`. Like all accessors by position it panics past the end.
    #[must_use]
    #[inline]
    pub fn row(&self, at: usize) -> &[u8] {
        self.bytes(self.slots[at].row)
    }

    /// The value of entry `at`.
    #[must_use]
    #[inline]
    pub fn value(&self, at: usize) -> &[u8] {
        self.bytes(self.slots[at].value)
    }

    /// The key of entry `at`.
    #[must_use]
    #[inline]
    pub fn key(&self, at: usize) -> KeyRef<'_> {
        let slot = &self.slots[at];
        KeyRef {
            row: self.bytes(slot.row),
            family: self.bytes(slot.family),
            qualifier: self.bytes(slot.qualifier),
            visibility: self.visibility(slot.visibility),
            timestamp: slot.timestamp,
            deleted: slot.deleted,
        }
    }

    /// Entry `at`.
    #[must_use]
    #[inline]
    pub fn entry(&self, at: usize) -> EntryRef<'_> {
        EntryRef {
            key: self.key(at),
            value: self.value(at),
        }
    }

    /// All entries in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = EntryRef<'_>> + ExactSizeIterator {
        (0..self.len()).map(|at| self.entry(at))
    }

    /// The label with dictionary id `id`.
    #[must_use]
    #[inline]
    pub fn visibility(&self, id: u32) -> &[u8] {
        if id == 0 {
            &[]
        } else {
            self.bytes(self.visibilities[id as usize - 1])
        }
    }

    /// Number of ids in use, the empty label's 0 included.
    #[must_use]
    pub fn visibility_count(&self) -> usize {
        self.visibilities.len() + 1
    }

    /// Appends one entry; shares the row and family of the entry before where they are equal.
    ///
    /// # Errors
    /// When the arena would pass 4 GiB.
    pub fn push(&mut self, key: KeyRef<'_>, value: &[u8]) -> Result<()> {
        let last = self.slots.last().copied();
        let row = self.share(last.map(|slot| slot.row), key.row)?;
        let family = self.share(last.map(|slot| slot.family), key.family)?;
        let qualifier = self.push_bytes(key.qualifier)?;
        let value = self.push_bytes(value)?;
        let visibility = self.intern_visibility(key.visibility)?;
        let slot = Slot {
            row,
            family,
            qualifier,
            value,
            timestamp: key.timestamp,
            visibility,
            deleted: key.deleted,
        };
        self.slots.push(slot);
        Ok(())
    }

    /// Appends entry `at` of another batch. `labels` remembers ids across calls for one such
    /// batch: clear it when that batch is refilled.
    ///
    /// # Errors
    /// When the arena would pass 4 GiB.
    pub fn push_from(&mut self, from: &Self, at: usize, labels: &mut LabelMap) -> Result<()> {
        let slot = &from.slots[at];
        let visibility = if slot.visibility == 0 {
            0
        } else {
            match labels.get(slot.visibility) {
                Some(id) => id,
                None => {
                    let id = self.intern_visibility(from.visibility(slot.visibility))?;
                    labels.set(slot.visibility, id);
                    id
                }
            }
        };
        let last = self.slots.last().copied();
        let row = self.share(last.map(|slot| slot.row), from.bytes(slot.row))?;
        let family = self.share(last.map(|slot| slot.family), from.bytes(slot.family))?;
        let qualifier = self.push_bytes(from.bytes(slot.qualifier))?;
        let value = self.push_bytes(from.bytes(slot.value))?;
        self.slots.push(Slot {
            row,
            family,
            qualifier,
            value,
            visibility,
            ..*slot
        });
        Ok(())
    }

    /// Appends a slot whose spans the caller made with [`push_bytes`](Self::push_bytes).
    #[inline]
    pub fn push_slot(&mut self, slot: Slot) {
        self.slots.push(slot);
    }

    /// Appends many slots at once; as [`push_slot`](Self::push_slot).
    #[inline]
    pub fn extend_slots(&mut self, slots: &[Slot]) {
        self.slots.extend_from_slice(slots);
    }

    /// Appends bytes to the arena. For decoders.
    ///
    /// # Errors
    /// When the arena would pass 4 GiB.
    #[inline]
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Result<Span> {
        let start = self.bytes.len();
        if start + bytes.len() > u32::MAX as usize {
            return Err(too_large());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(Span {
            start: start as u32,
            len: bytes.len() as u32,
        })
    }

    /// The arena, for decoders that append runs of bytes and then make spans of them. It must
    /// stay below 4 GiB.
    pub fn arena_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Makes room for `entries` more slots and `bytes` more arena bytes.
    pub fn reserve(&mut self, entries: usize, bytes: usize) {
        self.slots.reserve(entries);
        self.bytes.reserve(bytes);
    }

    /// The dictionary id of a label, adding it if new.
    ///
    /// # Errors
    /// When the arena would pass 4 GiB.
    pub fn intern_visibility(&mut self, label: &[u8]) -> Result<u32> {
        if label.is_empty() {
            return Ok(0);
        }
        if let Some(&last) = self.visibilities.last()
            && same_bytes(self.bytes(last), label)
        {
            return Ok(self.visibilities.len() as u32);
        }
        if self.visibilities.len() <= LINEAR_LABELS {
            if let Some(at) = self
                .visibilities
                .iter()
                .position(|&span| same_bytes(self.bytes(span), label))
            {
                return Ok(at as u32 + 1);
            }
        } else {
            if self.visibility_ids.is_empty() {
                for id in 1..=self.visibilities.len() as u32 {
                    self.index_label(id);
                }
            }
            let hash = self.hasher.hash_one(label);
            let found = self
                .visibility_ids
                .find(hash, |&id| self.visibility(id) == label)
                .copied();
            if let Some(id) = found {
                return Ok(id);
            }
        }
        let span = self.push_bytes(label)?;
        self.visibilities.push(span);
        let id = self.visibilities.len() as u32;
        if !self.visibility_ids.is_empty() {
            self.index_label(id);
        }
        Ok(id)
    }

    fn index_label(&mut self, id: u32) {
        let Self {
            bytes,
            visibilities,
            visibility_ids,
            hasher,
            ..
        } = self;
        let label = |id: u32| {
            let span = visibilities[id as usize - 1];
            &bytes[span.start as usize..][..span.len as usize]
        };
        let hash = hasher.hash_one(label(id));
        visibility_ids.insert_unique(hash, id, |&other| hasher.hash_one(label(other)));
    }

    #[inline]
    fn share(&mut self, last: Option<Span>, bytes: &[u8]) -> Result<Span> {
        match last {
            Some(span) if same_bytes(self.bytes(span), bytes) => Ok(span),
            _ => self.push_bytes(bytes),
        }
    }

    /// Keeps the entries from position `first` on for which `keep` says so; order stays.
    pub fn retain_from(&mut self, first: usize, mut keep: impl FnMut(&Self, usize) -> bool) {
        let mut kept = first;
        for at in first..self.slots.len() {
            if keep(self, at) {
                // Mostly everything is kept: then nothing moves.
                if kept != at {
                    self.slots[kept] = self.slots[at];
                }
                kept += 1;
            }
        }
        self.slots.truncate(kept);
    }

    /// Drops the entries from position `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.slots.truncate(len);
    }

    /// Drops the first `count` entries (their bytes stay until [`clear`](Self::clear)).
    pub fn drain_front(&mut self, count: usize) {
        self.slots.drain(..count.min(self.slots.len()));
    }

    /// Replaces the value of entry `at` (combiners, transformers).
    ///
    /// # Errors
    /// When the arena would pass 4 GiB.
    pub fn set_value(&mut self, at: usize, value: &[u8]) -> Result<()> {
        let span = self.push_bytes(value)?;
        self.slots[at].value = span;
        Ok(())
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values may be secret and long: the keys identify the entries.
        f.debug_list()
            .entries(self.iter().map(|entry| entry.key))
            .finish()
    }
}

/// Dictionary ids of one batch translated into another's; see [`Batch::push_from`].
#[derive(Debug, Clone, Default)]
pub struct LabelMap(Vec<u32>);

impl LabelMap {
    /// Forgets everything: the source batch, or the target's dictionary, was cleared.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    #[inline]
    fn get(&self, id: u32) -> Option<u32> {
        self.0.get(id as usize).copied().filter(|&to| to != 0)
    }

    fn set(&mut self, id: u32, to: u32) {
        if self.0.len() <= id as usize {
            self.0.resize(id as usize + 1, 0);
        }
        self.0[id as usize] = to;
    }
}

fn too_large() -> Error {
    Error::invalid("a batch holds at most 4 GiB: lower the batch limit or the size of the values")
}
