//! The batch of entries.

use super::labels::Labels;
use crate::{EntryRef, Error, KeyRef, Result, same_bytes};

/// A run of bytes inside a batch's arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Number of bytes.
    pub len: u32,
}

/// One entry of a batch: the positions of its parts in the arena.
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

impl Slot {
    /// Bytes of the entry, without those of its label.
    #[inline]
    fn content_without_label(&self) -> usize {
        self.row.len as usize
            + self.family.len as usize
            + self.qualifier.len as usize
            + self.value.len as usize
    }
}

/// How many entries and bytes [`next_batch`](crate::SortedKeyValueIterator::next_batch) may append.
///
/// Both count the entries that are in the batch, never dropped ones: an empty batch is not full for
/// any limit above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimit {
    /// Maximum number of entries in the batch.
    pub entries: usize,
    /// [Content bytes](Batch::content_len) after which no further entry is begun. A larger entry
    /// becomes the last one of its batch.
    pub bytes: usize,
}

impl Default for BatchLimit {
    /// 2,048 entries or 256 KiB: large enough to hide the cost per batch, small enough for the L2
    /// cache.
    fn default() -> Self {
        Self {
            entries: 2048,
            bytes: 256 << 10,
        }
    }
}

impl BatchLimit {
    /// The limit, raised to at least one entry: a batch that is full from the start could not be
    /// distinguished from the end.
    #[must_use]
    pub fn at_least_one(self) -> Self {
        Self {
            entries: self.entries.max(1),
            bytes: self.bytes.max(1),
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
    pub(super) bytes: Vec<u8>,
    pub(super) slots: Vec<Slot>,
    pub(super) labels: Labels,
    /// Bytes of the entries: row, family, qualifier, label and value of each, whether shared or
    /// not.
    pub(super) content: usize,
    /// How often entries or values were dropped; see [`Mark`](super::Mark).
    pub(super) drops: u64,
    /// How often the content of the arena was moved.
    pub(super) rebuilds: u64,
    /// The buffer into which the arena is rebuilt.
    pub(super) spare: Vec<u8>,
}

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

    /// Bytes in the arena: less than [`content_len`](Self::content_len) where entries share bytes,
    /// more where entries were dropped. The layout in the arena depends on the source of the
    /// entries; nothing that leaves the process may depend on it.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of the entries: row, family, qualifier, label and value of each. Depends on the
    /// entries alone.
    #[must_use]
    #[inline]
    pub fn content_len(&self) -> usize {
        self.content
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.bytes.capacity() + self.spare.capacity() + self.slots.capacity() * size_of::<Slot>()
    }

    /// Empties the batch and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.slots.clear();
        self.labels.clear();
        self.content = 0;
    }

    /// Whether `limit` is reached.
    #[must_use]
    #[inline]
    pub fn is_full(&self, limit: BatchLimit) -> bool {
        self.slots.len() >= limit.entries || self.content >= limit.bytes
    }

    /// The slots, in order.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The bytes of a span.
    ///
    /// # Panics
    /// If the span is not of this batch.
    #[must_use]
    #[inline]
    pub fn bytes(&self, span: Span) -> &[u8] {
        &self.bytes[span.start as usize..][..span.len as usize]
    }

    /// The row of entry `at`. Like all accessors by position it panics if `at` is out of range.
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
        self.labels.get(&self.bytes, id)
    }

    /// Number of ids in use, including id 0 of the empty label.
    #[must_use]
    pub fn visibility_count(&self) -> usize {
        self.labels.len() + 1
    }

    /// Appends one entry; shares the row and family with the entry before it if they are equal.
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
        self.push_slot(slot);
        Ok(())
    }

    /// Appends entry `at` of another batch. `labels` caches ids across calls for one such batch:
    /// clear it when that batch is refilled.
    ///
    /// # Errors
    /// When the arena would pass 4 GiB.
    pub fn push_from(&mut self, from: &Self, at: usize, labels: &mut LabelMap) -> Result<()> {
        let slot = &from.slots[at];
        let visibility = self.visibility_from(from, slot.visibility, labels)?;
        let last = self.slots.last().copied();
        let row = self.share(last.map(|slot| slot.row), from.bytes(slot.row))?;
        let family = self.share(last.map(|slot| slot.family), from.bytes(slot.family))?;
        let qualifier = self.push_bytes(from.bytes(slot.qualifier))?;
        let value = self.push_bytes(from.bytes(slot.value))?;
        self.push_slot(Slot {
            row,
            family,
            qualifier,
            value,
            visibility,
            ..*slot
        });
        Ok(())
    }

    /// The id here of label `id` of another batch, which is added if new. `labels` as in [`push_from`](Self::push_from).
    ///
    /// # Errors
    /// When the arena would pass 4 GiB.
    #[inline]
    pub fn visibility_from(&mut self, from: &Self, id: u32, labels: &mut LabelMap) -> Result<u32> {
        if id == 0 {
            return Ok(0);
        }
        if let Some(known) = labels.get(id) {
            return Ok(known);
        }
        let new = self.intern_visibility(from.visibility(id))?;
        labels.set(id, new);
        Ok(new)
    }

    /// Appends a slot whose spans the caller made with [`push_bytes`](Self::push_bytes).
    #[inline]
    pub fn push_slot(&mut self, slot: Slot) {
        self.content += self.content_of(&slot);
        self.slots.push(slot);
    }

    /// Appends many slots at once; as [`push_slot`](Self::push_slot).
    #[inline]
    pub fn extend_slots(&mut self, slots: &[Slot]) {
        // Neighbours mostly have one label: its length is looked up once for all of them.
        let (mut label, mut label_len) = (0, 0);
        for slot in slots {
            if slot.visibility != label {
                label = slot.visibility;
                label_len = self.labels.len_of(label);
            }
            self.content += slot.content_without_label() + label_len;
        }
        self.slots.extend_from_slice(slots);
    }

    /// Bytes of the entry at `slot`.
    #[inline]
    pub(super) fn content_of(&self, slot: &Slot) -> usize {
        slot.content_without_label() + self.labels.len_of(slot.visibility)
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

    /// Reserves capacity for `entries` more slots and `bytes` more arena bytes.
    pub fn reserve(&mut self, entries: usize, bytes: usize) {
        self.slots.reserve(entries);
        self.bytes.reserve(bytes);
    }

    /// The dictionary id of a label, which is added if new.
    ///
    /// # Errors
    /// When the arena would pass 4 GiB.
    pub fn intern_visibility(&mut self, label: &[u8]) -> Result<u32> {
        if label.is_empty() {
            return Ok(0);
        }
        if let Some(id) = self.labels.find(&self.bytes, label) {
            return Ok(id);
        }
        let span = self.push_bytes(label)?;
        Ok(self.labels.add(&self.bytes, span))
    }

    #[inline]
    fn share(&mut self, last: Option<Span>, bytes: &[u8]) -> Result<Span> {
        match last {
            Some(span) if same_bytes(self.bytes(span), bytes) => Ok(span),
            _ => self.push_bytes(bytes),
        }
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values may be secret and long; the keys identify the entries.
        f.debug_list()
            .entries(self.iter().map(|entry| entry.key))
            .finish()
    }
}

/// A map from dictionary ids of one batch to those of another; see [`Batch::push_from`].
#[derive(Debug, Clone, Default)]
pub struct LabelMap(Vec<u32>);

impl LabelMap {
    /// Clears the map, when the source batch or the target's dictionary was cleared.
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

pub(super) fn too_large() -> Error {
    Error::invalid("a batch holds at most 4 GiB: lower the batch limit or the size of the values")
}
