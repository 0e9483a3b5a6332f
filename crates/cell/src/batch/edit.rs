//! Removing entries from a batch, and freeing their bytes.
//!
//! Dropped entries do not count against any limit. Their bytes are freed once they exceed those of
//! the remaining entries, so that a filter may drop any number of entries from one batch, and at
//! once where they must not remain ([`Batch::retain_since`]). Positions of entries stay valid;
//! spans and label ids from before are invalid after every call here.

use super::data::{Batch, Slot, Span, too_large};
use crate::Result;

/// Dropped bytes that may always stay: it does not pay to rebuild a small arena again and again.
const SLACK_BYTES: usize = 64 << 10;

/// The fill level of a batch at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mark {
    entries: usize,
    bytes: usize,
    labels: usize,
    drops: u64,
    rebuilds: u64,
}

impl Mark {
    /// Number of entries at that moment.
    #[must_use]
    pub fn entries(self) -> usize {
        self.entries
    }
}

impl Batch {
    /// The present fill level of the batch.
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark {
            entries: self.slots.len(),
            bytes: self.bytes.len(),
            labels: self.labels.len(),
            drops: self.drops,
            rebuilds: self.rebuilds,
        }
    }

    /// The mark, or the start if the arena was rebuilt since then, because bytes and labels before
    /// the mark have moved.
    fn still(&self, mark: Mark) -> Mark {
        if self.rebuilds == mark.rebuilds {
            mark
        } else {
            Mark::default()
        }
    }

    /// Keeps the entries from position `first` on for which `keep` returns `true`; their order does
    /// not change.
    pub fn retain_from(&mut self, first: usize, mut keep: impl FnMut(&Self, usize) -> bool) {
        let mut kept = first;
        let mut dropped = 0;
        for at in first..self.slots.len() {
            if keep(self, at) {
                // Usually everything is kept: then nothing moves.
                if kept != at {
                    self.slots[kept] = self.slots[at];
                }
                kept += 1;
            } else {
                dropped += self.content_of(&self.slots[at]);
            }
        }
        if kept < self.slots.len() {
            self.slots.truncate(kept);
            self.content -= dropped;
            self.dropped();
        }
    }

    /// Of the entries appended since `mark`, keeps those for which `keep` returns `true`, and
    /// nothing of the others: no byte, no label, and no trace of entries that other calls dropped
    /// since then. Entries from before `mark` must not have been dropped.
    ///
    /// # Errors
    /// When the arena would pass 4 GiB.
    pub fn retain_since(
        &mut self,
        mark: Mark,
        keep: impl FnMut(&Self, usize) -> bool,
    ) -> Result<()> {
        self.retain_from(mark.entries, keep);
        self.forget_dropped_since(mark)
    }

    /// Frees every byte and label of the entries that were dropped since `mark`. Entries from before `mark` must not be
    /// among them.
    ///
    /// # Errors
    /// When the arena would pass 4 GiB.
    pub fn forget_dropped_since(&mut self, mark: Mark) -> Result<()> {
        if self.drops == mark.drops || self.slots.is_empty() {
            // Nothing was dropped, or everything is gone.
            return Ok(());
        }
        self.rebuild(self.still(mark))
    }

    /// Drops the entries from position `len` on.
    pub fn truncate(&mut self, len: usize) {
        if len < self.slots.len() {
            self.content -= self.content_between(len, self.slots.len());
            self.slots.truncate(len);
            self.dropped();
        }
    }

    /// Drops the first `count` entries.
    pub fn drain_front(&mut self, count: usize) {
        let count = count.min(self.slots.len());
        if count > 0 {
            self.content -= self.content_between(0, count);
            self.slots.drain(..count);
            self.dropped();
        }
    }

    /// Moves the entries beyond `limit` to the end of `rest`, with the labels that no other entry
    /// uses; entries from before `mark` stay. They are few: only the last entry of a batch may
    /// reach a limit, but sources that count roughly append some more.
    ///
    /// # Errors
    /// When an arena would pass 4 GiB.
    pub fn move_beyond(
        &mut self,
        limit: super::BatchLimit,
        mark: Mark,
        rest: &mut Self,
    ) -> Result<()> {
        let mut len = self.slots.len();
        let mut content = self.content;
        while len > mark.entries {
            let before = content - self.content_of(&self.slots[len - 1]);
            if len <= limit.entries && before < limit.bytes {
                break;
            }
            // The batch is full without this entry.
            len -= 1;
            content = before;
        }
        if len == self.slots.len() {
            return Ok(());
        }
        let mut labels = super::LabelMap::default();
        for at in len..self.slots.len() {
            rest.push_from(self, at, &mut labels)?;
        }
        self.truncate(len);
        // Labels were interned in the order of entries: those of the moved entries come last.
        let mark = self.still(mark);
        let first = mark.entries.min(self.slots.len());
        let used = self.slots[first..]
            .iter()
            .map(|slot| slot.visibility as usize);
        let used = used.max().unwrap_or(0).max(mark.labels);
        self.labels.truncate(used);
        Ok(())
    }

    /// The reverse: moves entries from the front of `rest` to the end of this batch until `limit`
    /// is reached.
    ///
    /// # Errors
    /// When the arena would pass 4 GiB.
    pub fn take_within(&mut self, limit: super::BatchLimit, rest: &mut Self) -> Result<()> {
        let mut labels = super::LabelMap::default();
        let mut at = 0;
        while at < rest.len() && !self.is_full(limit) {
            self.push_from(rest, at, &mut labels)?;
            at += 1;
        }
        rest.drain_front(at);
        Ok(())
    }

    /// Puts the dictionary into the state it would have if nothing had been dropped: the labels of
    /// the entries in the order of their first use. Earlier ids are invalid.
    pub fn order_labels(&mut self) {
        let mut used = Vec::new();
        // It usually is in order already: then each new id is greater by one.
        let mut next = 1;
        for slot in &self.slots {
            next += u32::from(slot.visibility == next);
            if slot.visibility > next {
                break;
            }
        }
        if next as usize > self.labels.len() {
            return;
        }
        let mut new = vec![0; self.labels.len() + 1];
        for slot in &mut self.slots {
            let id = slot.visibility as usize;
            if id == 0 {
                continue;
            }
            if new[id] == 0 {
                used.push(slot.visibility);
                new[id] = used.len() as u32;
            }
            slot.visibility = new[id];
        }
        self.labels.choose(&used);
    }

    /// Replaces the value of entry `at` (combiners, transformers).
    ///
    /// # Errors
    /// When the arena would pass 4 GiB.
    pub fn set_value(&mut self, at: usize, value: &[u8]) -> Result<()> {
        let span = self.push_bytes(value)?;
        let old = std::mem::replace(&mut self.slots[at].value, span);
        self.content = self.content + span.len as usize - old.len as usize;
        self.dropped();
        Ok(())
    }

    fn content_between(&self, from: usize, to: usize) -> usize {
        let slots = &self.slots[from..to];
        slots.iter().map(|slot| self.content_of(slot)).sum()
    }

    /// Called after dropping entries: frees their bytes if there are too many.
    fn dropped(&mut self) {
        self.drops += 1;
        if self.slots.is_empty() {
            self.clear();
            self.rebuilds += 1;
        } else if self.bytes.len() > 2 * self.content + SLACK_BYTES {
            // If they do not fit, the batch stays as it is, which is also correct.
            let _ = self.rebuild(Mark::default());
        }
    }

    /// Rewrites the arena and the dictionary from `mark` on, with only what entries refer to.
    fn rebuild(&mut self, mark: Mark) -> Result<()> {
        let mut arena = std::mem::take(&mut self.spare);
        arena.clear();
        let moved = self.rebuild_into(mark, &mut arena);
        if let Ok(labels) = &moved {
            if mark.bytes == 0 {
                std::mem::swap(&mut self.bytes, &mut arena);
            } else {
                self.bytes.truncate(mark.bytes);
                self.bytes.extend_from_slice(&arena);
            }
            self.labels.truncate(mark.labels);
            for &label in labels {
                self.labels.add(&self.bytes, label);
            }
        }
        self.rebuilds += 1;
        arena.clear();
        self.spare = arena;
        moved.map(|_| ())
    }

    /// Copies what the entries since `mark` refer to into `arena`, which will start at
    /// `mark.bytes`; returns the labels that are new since then. An error changes nothing.
    fn rebuild_into(&mut self, mark: Mark, arena: &mut Vec<u8>) -> Result<Vec<Span>> {
        if mark.bytes + self.content > u32::MAX as usize {
            return Err(too_large());
        }
        let Self {
            bytes,
            slots,
            labels,
            ..
        } = self;
        let mut keep = |span: Span| keep(bytes, mark.bytes, arena, span);
        let mut known = vec![0; labels.len() - mark.labels.min(labels.len())];
        let mut kept = Vec::new();
        let mut last: Option<(Slot, Slot)> = None;
        for slot in &mut slots[mark.entries..] {
            let old = *slot;
            // Spans shared by neighbours stay shared.
            slot.row = match last {
                Some((before, new)) if before.row == old.row => new.row,
                _ => keep(old.row),
            };
            slot.family = match last {
                Some((before, new)) if before.family == old.family => new.family,
                _ => keep(old.family),
            };
            slot.qualifier = keep(old.qualifier);
            slot.value = keep(old.value);
            if let Some(new) = (old.visibility as usize)
                .checked_sub(mark.labels + 1)
                .and_then(|at| known.get_mut(at))
            {
                if *new == 0 {
                    kept.push(keep(labels.span(old.visibility)));
                    *new = (mark.labels + kept.len()) as u32;
                }
                slot.visibility = *new;
            }
            last = Some((old, *slot));
        }
        Ok(kept)
    }
}

/// Copies a span into the arena that will start at `base`. A span before it does not move.
#[inline]
fn keep(bytes: &[u8], base: usize, arena: &mut Vec<u8>, span: Span) -> Span {
    let start = span.start as usize;
    if start < base || span.len == 0 {
        return Span {
            start: if span.len == 0 { 0 } else { span.start },
            ..span
        };
    }
    let new = base + arena.len();
    arena.extend_from_slice(&bytes[start..start + span.len as usize]);
    Span {
        start: new as u32,
        len: span.len,
    }
}
