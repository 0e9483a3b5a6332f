//! Decodes a range of a block's entries into a batch, lane by lane.

use std::ops::Range;

use ostrakon_cell::{Batch, Slot, Span, same_bytes};

use super::format::{Block, Deletes, SIGN};
use super::lane::BytesLane;

/// Buffers kept between calls.
#[derive(Debug, Default)]
pub(crate) struct DecodeScratch {
    pub(super) slots: Vec<Slot>,
    pub(super) shared: Vec<u32>,
    pub(super) lens: Vec<u32>,
    ids: Vec<u32>,
    pub(super) ends: Vec<u32>,
    pub(super) row: Vec<u8>,
    /// Entries of the block whose row is known to be `row`.
    known: Range<usize>,
    pub(super) words: Vec<Span>,
    pub(super) labels: Vec<u32>,
}

impl DecodeScratch {
    /// Sets the known row of `entries` of the block that is decoded next.
    pub(crate) fn know_row(&mut self, row: &[u8], entries: Range<usize>) {
        self.row.clear();
        self.row.extend_from_slice(row);
        self.known = entries;
    }

    /// Clears the known row, because another block is decoded next.
    pub(crate) fn forget_row(&mut self) {
        self.known = 0..0;
    }
}

/// An error of decoding a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecodeError {
    /// The bytes are not a valid block.
    Malformed,
    /// The batch would pass 4 GiB.
    BatchFull,
}

/// Up to this many entries are decoded one by one: setting up lanes costs more than it saves.
pub(super) const FEW: usize = 3;

/// Marks a word that is not yet in the batch.
pub(super) const ABSENT: u32 = u32::MAX;

impl Block {
    /// Appends the entries from `from` up to, not including, `to`. On an error the batch holds no further entry, but
    /// its arena may have grown.
    pub(crate) fn decode(
        &self,
        from: usize,
        to: usize,
        out: &mut Batch,
        scratch: &mut DecodeScratch,
    ) -> Result<(), DecodeError> {
        let count = to.saturating_sub(from);
        if count == 0 {
            return Ok(());
        }
        if count <= FEW {
            let before = out.len();
            let decoded = (from..to).try_for_each(|at| self.decode_one(at, out, scratch));
            if decoded.is_err() {
                out.truncate(before);
            }
            return decoded;
        }
        scratch.slots.clear();
        scratch.slots.resize(count, Slot::default());
        self.decode_values(from, to, out, scratch)?;
        self.decode_rows(from, to, out, scratch)?;
        let layout = self.layout();
        self.decode_bytes(layout.family, from, to, out, scratch, |slot| {
            &mut slot.family
        })?;
        self.decode_bytes(layout.qualifier, from, to, out, scratch, |slot| {
            &mut slot.qualifier
        })?;
        self.decode_labels(from, to, out, scratch)?;
        self.decode_numbers(from, to, &mut scratch.slots)
            .ok_or(DecodeError::Malformed)?;
        if out.byte_len() > u32::MAX as usize {
            return Err(DecodeError::BatchFull);
        }
        out.extend_slots(&scratch.slots);
        Ok(())
    }

    /// Appends one entry.
    pub(super) fn decode_one(
        &self,
        at: usize,
        out: &mut Batch,
        scratch: &mut DecodeScratch,
    ) -> Result<(), DecodeError> {
        let (raw, layout) = (self.raw(), self.layout());
        let bytes = |lane: &BytesLane| lane.get(raw, at).ok_or(DecodeError::Malformed);
        let family = bytes(&layout.family)?;
        let qualifier = bytes(&layout.qualifier)?;
        let label = bytes(&layout.visibility)?;
        let value = bytes(&layout.value)?;
        let timestamp = self.timestamp(at).ok_or(DecodeError::Malformed)?;
        let deleted = self.deleted(at).ok_or(DecodeError::Malformed)?;
        if !scratch.known.contains(&at) {
            scratch.forget_row();
            self.row_at(at, &mut scratch.row)
                .ok_or(DecodeError::Malformed)?;
        }
        // From here on only a full batch can cause an error.
        let mut append = || -> ostrakon_cell::Result<()> {
            let visibility = out.intern_visibility(label)?;
            let last = out.slots().last().map(|slot| slot.row);
            let row = match last {
                Some(last) if same_bytes(out.bytes(last), &scratch.row) => last,
                _ => out.push_bytes(&scratch.row)?,
            };
            let slot = Slot {
                row,
                family: out.push_bytes(family)?,
                qualifier: out.push_bytes(qualifier)?,
                value: out.push_bytes(value)?,
                timestamp,
                visibility,
                deleted,
            };
            out.push_slot(slot);
            Ok(())
        };
        append().map_err(|_| DecodeError::BatchFull)
    }

    fn decode_values(
        &self,
        from: usize,
        to: usize,
        out: &mut Batch,
        scratch: &mut DecodeScratch,
    ) -> Result<(), DecodeError> {
        let lane = self.layout().value;
        self.decode_bytes(lane, from, to, out, scratch, |slot| &mut slot.value)
    }

    fn decode_bytes(
        &self,
        lane: BytesLane,
        from: usize,
        to: usize,
        out: &mut Batch,
        scratch: &mut DecodeScratch,
        field: impl Fn(&mut Slot) -> &mut Span,
    ) -> Result<(), DecodeError> {
        let base = out.byte_len();
        let added = match lane {
            BytesLane::Plain { .. } => self.decode_plain(lane, from, to, out, scratch, field),
            BytesLane::Dictionary { .. } => self.decode_words(lane, from, to, out, scratch, field),
        };
        added.ok_or(DecodeError::Malformed)?;
        // Spans have 32 bits, so the arena must not grow beyond that.
        if out.byte_len() > u32::MAX as usize {
            out.arena_mut().truncate(base);
            return Err(DecodeError::BatchFull);
        }
        Ok(())
    }

    fn decode_plain(
        &self,
        lane: BytesLane,
        from: usize,
        to: usize,
        out: &mut Batch,
        scratch: &mut DecodeScratch,
        field: impl Fn(&mut Slot) -> &mut Span,
    ) -> Option<()> {
        let raw = self.raw();
        let BytesLane::Plain { lens, starts, .. } = lane else {
            return None;
        };
        let (first, _) = lane.locate(raw, from)?;
        let data = lane.data(raw)?;
        let arena = out.arena_mut();
        let base = arena.len();
        if starts.is_none() {
            let len = usize::try_from(lens.base()).ok()?;
            let end = first.checked_add(len.checked_mul(to - from)?)?;
            arena.extend_from_slice(data.get(first..end)?);
            let mut start = base;
            for slot in &mut scratch.slots {
                *field(slot) = Span {
                    start: start as u32,
                    len: len as u32,
                };
                start += len;
            }
        } else {
            let mut start = base as u64;
            let mut slots = scratch.slots.iter_mut();
            lens.for_each(raw, from, to, |len| {
                if let Some(slot) = slots.next() {
                    *field(slot) = Span {
                        start: start as u32,
                        len: len as u32,
                    };
                    start = start.saturating_add(len);
                }
            })?;
            let end = usize::try_from(start - base as u64)
                .ok()?
                .checked_add(first)?;
            arena.extend_from_slice(data.get(first..end)?);
        }
        Some(())
    }

    fn decode_words(
        &self,
        lane: BytesLane,
        from: usize,
        to: usize,
        out: &mut Batch,
        scratch: &mut DecodeScratch,
        field: impl Fn(&mut Slot) -> &mut Span,
    ) -> Option<()> {
        let raw = self.raw();
        let BytesLane::Dictionary { count, ids, .. } = lane else {
            return None;
        };
        let arena = out.arena_mut();
        if ids.is_constant() {
            let word = lane.word(raw, usize::try_from(ids.base()).ok()?)?;
            let span = put(arena, word);
            for slot in &mut scratch.slots {
                *field(slot) = span;
            }
            return Some(());
        }
        scratch.words.clear();
        scratch.words.resize(
            count,
            Span {
                start: ABSENT,
                len: 0,
            },
        );
        ids.unpack(raw, from, to, &mut scratch.ids)?;
        let dictionary = lane.dictionary(raw, &mut scratch.ends)?;
        for (slot, &id) in scratch.slots.iter_mut().zip(&scratch.ids) {
            let span = scratch.words.get_mut(id as usize)?;
            if span.start == ABSENT {
                *span = put(arena, dictionary.get(id)?);
            }
            *field(slot) = *span;
        }
        Some(())
    }

    fn decode_labels(
        &self,
        from: usize,
        to: usize,
        out: &mut Batch,
        scratch: &mut DecodeScratch,
    ) -> Result<(), DecodeError> {
        let raw = self.raw();
        let lane = self.layout().visibility;
        let BytesLane::Dictionary { count, ids, .. } = lane else {
            return Err(DecodeError::Malformed);
        };
        let intern = |word: Option<&[u8]>, out: &mut Batch| {
            let word = word.ok_or(DecodeError::Malformed)?;
            out.intern_visibility(word)
                .map_err(|_| DecodeError::BatchFull)
        };
        if ids.is_constant() {
            let id = intern(lane.word(raw, ids.base() as usize), out)?;
            if id != 0 {
                for slot in &mut scratch.slots {
                    slot.visibility = id;
                }
            }
            return Ok(());
        }
        scratch.labels.clear();
        scratch.labels.resize(count, ABSENT);
        ids.unpack(raw, from, to, &mut scratch.ids)
            .ok_or(DecodeError::Malformed)?;
        let dictionary = lane
            .dictionary(raw, &mut scratch.ends)
            .ok_or(DecodeError::Malformed)?;
        // Neighbours mostly have one label: each run of it is looked up once.
        let (mut last, mut visibility) = (None, 0);
        for (slot, &id) in scratch.slots.iter_mut().zip(&scratch.ids) {
            if last != Some(id) {
                let known = scratch
                    .labels
                    .get_mut(id as usize)
                    .ok_or(DecodeError::Malformed)?;
                if *known == ABSENT {
                    *known = intern(dictionary.get(id), out)?;
                }
                (last, visibility) = (Some(id), *known);
            }
            slot.visibility = visibility;
        }
        Ok(())
    }

    fn decode_numbers(&self, from: usize, to: usize, slots: &mut [Slot]) -> Option<()> {
        let (raw, layout) = (self.raw(), self.layout());
        let mut rest = slots.iter_mut();
        layout.timestamps.for_each(raw, from, to, |timestamp| {
            if let Some(slot) = rest.next() {
                slot.timestamp = (timestamp ^ SIGN) as i64;
            }
        })?;
        match layout.deletes {
            Deletes::None => {}
            Deletes::All => slots.iter_mut().for_each(|slot| slot.deleted = true),
            Deletes::Some { .. } => {
                for (at, slot) in (from..to).zip(slots) {
                    slot.deleted = self.deleted(at)?;
                }
            }
        }
        Some(())
    }

    fn decode_rows(
        &self,
        from: usize,
        to: usize,
        out: &mut Batch,
        scratch: &mut DecodeScratch,
    ) -> Result<(), DecodeError> {
        let base = out.byte_len();
        self.append_rows(from, to, out.arena_mut(), scratch)
            .ok_or(DecodeError::Malformed)?;
        if out.byte_len() > u32::MAX as usize {
            out.arena_mut().truncate(base);
            return Err(DecodeError::BatchFull);
        }
        Ok(())
    }

    fn append_rows(
        &self,
        from: usize,
        to: usize,
        arena: &mut Vec<u8>,
        scratch: &mut DecodeScratch,
    ) -> Option<()> {
        let (raw, layout) = (self.raw(), self.layout());
        // The first row is built in a separate buffer: the rows before it are not wanted in the
        // arena.
        scratch.forget_row();
        let mut suffix_end = self.row_at(from, &mut scratch.row)?;
        let mut last = put(arena, &scratch.row);
        scratch.slots.first_mut()?.row = last;
        if to - from == 1 {
            return Some(());
        }
        let prefix = layout.row_prefix.len;
        layout
            .row_lens
            .unpack(raw, from + 1, to, &mut scratch.lens)?;
        layout
            .shared
            .unpack(raw, from + 1, to, &mut scratch.shared)?;
        let suffixes = layout.suffixes.of(raw)?;
        let rows = scratch.lens.iter().zip(&scratch.shared);
        for ((&len, &shared), slot) in rows.zip(scratch.slots.iter_mut().skip(1)) {
            let shared = (shared as usize).checked_add(prefix)?;
            let added = (len as usize).checked_sub(shared)?;
            if added == 0 && len == last.len {
                slot.row = last;
                continue;
            }
            if shared > last.len as usize {
                return None;
            }
            let suffix = suffixes.get(suffix_end..suffix_end.checked_add(added)?)?;
            suffix_end += added;
            let last_bytes = last.start as usize..last.start as usize + last.len as usize;
            // At a restart only the prefix is shared, though the row may be the same.
            if shared == prefix
                && len == last.len
                && arena.get(last_bytes.start + shared..last_bytes.end)? == suffix
            {
                slot.row = last;
                continue;
            }
            let start = arena.len();
            if start + len as usize > u32::MAX as usize {
                return None;
            }
            arena.extend_from_within(last_bytes.start..last_bytes.start + shared);
            arena.extend_from_slice(suffix);
            last = Span {
                start: start as u32,
                len,
            };
            slot.row = last;
        }
        Some(())
    }
}

#[inline]
pub(super) fn put(arena: &mut Vec<u8>, bytes: &[u8]) -> Span {
    let start = arena.len();
    arena.extend_from_slice(bytes);
    Span {
        start: start as u32,
        len: bytes.len() as u32,
    }
}
