//! Decodes some of a block's entries, which need not be neighbours, into a batch.

use ostrakon_cell::{Batch, Slot, Span};

use super::decode::{ABSENT, DecodeError, DecodeScratch, FEW, put};
use super::format::Block;
use super::lane::{BytesLane, RESTART_INTERVAL};

/// Picks with runs of at least this average length are decoded run by run.
const RUN_MIN: usize = 16;

/// Whether decoding everything from the first pick to the last is cheaper than starting at a
/// restart for each.
fn are_dense(picks: &[u32]) -> bool {
    match (picks.first(), picks.last()) {
        (Some(first), Some(last)) => (last - first) as usize / RESTART_INTERVAL <= picks.len(),
        _ => false,
    }
}

impl Block {
    /// Appends the entries at the positions `picks`, which must ascend. On an error the batch holds
    /// no further entry, but its arena may have grown.
    pub(crate) fn decode_picks(
        &self,
        picks: &[u32],
        out: &mut Batch,
        scratch: &mut DecodeScratch,
    ) -> Result<(), DecodeError> {
        let (Some(&first), Some(&last)) = (picks.first(), picks.last()) else {
            return Ok(());
        };
        let before = out.len();
        let follows = |pair: &[u32]| pair[1] == pair[0] + 1;
        let cuts = picks.windows(2).filter(|pair| !follows(pair)).count();
        let decoded = if picks.len() <= FEW {
            let mut picks = picks.iter();
            picks.try_for_each(|at| self.decode_one(*at as usize, out, scratch))
        } else if picks.len() >= RUN_MIN * (cuts + 1) {
            let mut runs = picks.chunk_by(|a, b| *b == *a + 1);
            runs.try_for_each(|run| {
                let from = run.first().map_or(0, |at| *at as usize);
                self.decode(from, from + run.len(), out, scratch)
            })
        } else {
            self.gather(picks, first as usize, last as usize, out, scratch)
        };
        if decoded.is_err() {
            out.truncate(before);
        }
        decoded
    }

    fn gather(
        &self,
        picks: &[u32],
        first: usize,
        last: usize,
        out: &mut Batch,
        scratch: &mut DecodeScratch,
    ) -> Result<(), DecodeError> {
        if last >= self.entries() {
            return Err(DecodeError::Malformed);
        }
        scratch.slots.clear();
        scratch.slots.resize(picks.len(), Slot::default());
        let layout = self.layout();
        let mut gather = || {
            let arena = out.arena_mut();
            self.gather_rows(picks, first, last, arena, scratch)?;
            let family = |slot: &mut Slot, span| slot.family = span;
            self.gather_bytes(&layout.family, picks, arena, scratch, family)?;
            let qualifier = |slot: &mut Slot, span| slot.qualifier = span;
            self.gather_bytes(&layout.qualifier, picks, arena, scratch, qualifier)?;
            let value = |slot: &mut Slot, span| slot.value = span;
            self.gather_bytes(&layout.value, picks, arena, scratch, value)
        };
        gather().ok_or(DecodeError::Malformed)?;
        // Spans have 32 bits, so the arena must not grow beyond that.
        if out.byte_len() > u32::MAX as usize {
            return Err(DecodeError::BatchFull);
        }
        self.gather_labels(picks, out, scratch)?;
        for (slot, &at) in scratch.slots.iter_mut().zip(picks) {
            let at = at as usize;
            slot.timestamp = self.timestamp(at).ok_or(DecodeError::Malformed)?;
            slot.deleted = self.deleted(at).ok_or(DecodeError::Malformed)?;
        }
        out.extend_slots(&scratch.slots);
        Ok(())
    }

    fn gather_rows(
        &self,
        picks: &[u32],
        first: usize,
        last: usize,
        arena: &mut Vec<u8>,
        scratch: &mut DecodeScratch,
    ) -> Option<()> {
        let (raw, layout) = (self.raw(), self.layout());
        scratch.forget_row();
        let prefix = layout.row_prefix.len;
        let suffixes = layout.suffixes.of(raw)?;
        let walks = are_dense(picks);
        if walks {
            layout
                .row_lens
                .unpack(raw, first, last + 1, &mut scratch.lens)?;
            layout
                .shared
                .unpack(raw, first, last + 1, &mut scratch.shared)?;
        }
        let mut at = first;
        let mut suffix_end = self.row_at(first, &mut scratch.row)?;
        let mut span = put(arena, &scratch.row);
        for (slot, &pick) in scratch.slots.iter_mut().zip(picks) {
            let pick = pick as usize;
            let mut changed = false;
            if walks {
                while at < pick {
                    at += 1;
                    let len = *scratch.lens.get(at - first)? as usize;
                    let shared = (*scratch.shared.get(at - first)? as usize).checked_add(prefix)?;
                    let added = len.checked_sub(shared)?;
                    if added == 0 && len == scratch.row.len() {
                        continue;
                    }
                    if shared > scratch.row.len() {
                        return None;
                    }
                    let suffix = suffixes.get(suffix_end..suffix_end.checked_add(added)?)?;
                    suffix_end += added;
                    // At a restart only the prefix is shared, though the row may be the same.
                    if len == scratch.row.len() && scratch.row.get(shared..)? == suffix {
                        continue;
                    }
                    changed = true;
                    scratch.row.truncate(shared);
                    scratch.row.extend_from_slice(suffix);
                }
            } else if pick > at {
                at = pick;
                self.row_at(at, &mut scratch.row)?;
                let known = span.start as usize..span.start as usize + span.len as usize;
                changed = arena.get(known)? != scratch.row.as_slice();
            }
            if changed {
                span = put(arena, &scratch.row);
                if arena.len() > u32::MAX as usize {
                    return None;
                }
            }
            slot.row = span;
        }
        Some(())
    }

    fn gather_bytes(
        &self,
        lane: &BytesLane,
        picks: &[u32],
        arena: &mut Vec<u8>,
        scratch: &mut DecodeScratch,
        set: impl Fn(&mut Slot, Span),
    ) -> Option<()> {
        let raw = self.raw();
        let (&first, &last) = (picks.first()?, picks.last()?);
        let (first, last) = (first as usize, last as usize);
        let (count, ids) = match lane {
            BytesLane::Dictionary { count, ids, .. } => (count, ids),
            // Lengths are summed from the first pick to the last.
            BytesLane::Plain {
                lens,
                starts: Some(_),
                ..
            } if are_dense(picks) => {
                lens.unpack(raw, first, last + 1, &mut scratch.lens)?;
                let data = lane.data(raw)?;
                let (mut at, mut start) = (first, lane.locate(raw, first)?.0);
                for (slot, &pick) in scratch.slots.iter_mut().zip(picks) {
                    let between = scratch.lens.get(at - first..pick as usize - first)?;
                    for len in between {
                        start += *len as usize;
                    }
                    at = pick as usize;
                    let len = *scratch.lens.get(at - first)? as usize;
                    set(slot, put(arena, data.get(start..start.checked_add(len)?)?));
                }
                return Some(());
            }
            BytesLane::Plain { .. } => {
                for (slot, &at) in scratch.slots.iter_mut().zip(picks) {
                    set(slot, put(arena, lane.get(raw, at as usize)?));
                }
                return Some(());
            }
        };
        let slots = scratch.slots.iter_mut().zip(picks);
        let absent = Span {
            start: ABSENT,
            len: 0,
        };
        scratch.words.clear();
        scratch.words.resize(*count, absent);
        let dictionary = lane.dictionary(raw, &mut scratch.ends)?;
        for (slot, &at) in slots {
            let id = u32::try_from(ids.get(raw, at as usize)?).ok()?;
            let span = scratch.words.get_mut(id as usize)?;
            if span.start == ABSENT {
                *span = put(arena, dictionary.get(id)?);
            }
            set(slot, *span);
        }
        Some(())
    }

    fn gather_labels(
        &self,
        picks: &[u32],
        out: &mut Batch,
        scratch: &mut DecodeScratch,
    ) -> Result<(), DecodeError> {
        let (raw, lane) = (self.raw(), self.layout().visibility);
        let BytesLane::Dictionary { count, ids, .. } = lane else {
            return Err(DecodeError::Malformed);
        };
        scratch.labels.clear();
        scratch.labels.resize(count, ABSENT);
        let dictionary = lane
            .dictionary(raw, &mut scratch.ends)
            .ok_or(DecodeError::Malformed)?;
        for (slot, &at) in scratch.slots.iter_mut().zip(picks) {
            let id = ids.get(raw, at as usize).ok_or(DecodeError::Malformed)?;
            let id = u32::try_from(id).map_err(|_| DecodeError::Malformed)?;
            let known = scratch.labels.get_mut(id as usize);
            let known = known.ok_or(DecodeError::Malformed)?;
            if *known == ABSENT {
                let word = dictionary.get(id).ok_or(DecodeError::Malformed)?;
                let interned = out.intern_visibility(word);
                *known = interned.map_err(|_| DecodeError::BatchFull)?;
            }
            slot.visibility = *known;
        }
        Ok(())
    }
}
