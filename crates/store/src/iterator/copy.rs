//! Copies entries from a look-ahead batch to the output batch.

use ostrakon_cell::{Batch, Slot, Span};

use crate::error::StoreResult;

/// What is known of one pair of batches while entries go from one to the other. Must be
/// [cleared](Self::clear) when either batch is cleared or replaced.
#[derive(Debug, Default)]
pub(super) struct Copier {
    /// Dictionary id in the target by id in the source; 0 where not yet asked.
    labels: Vec<u32>,
    row: Option<(Span, Span)>,
    family: Option<(Span, Span)>,
}

impl Copier {
    pub(super) fn clear(&mut self) {
        self.labels.clear();
        self.row = None;
        self.family = None;
    }

    /// Appends the entry with the given slot to `out`. An entry whose parts lie one behind the
    /// other is copied in one piece; a row or family that the source shares with the entry copied
    /// before stays shared.
    #[inline]
    pub(super) fn copy(&mut self, out: &mut Batch, from: &Batch, slot: &Slot) -> StoreResult<()> {
        let visibility = match slot.visibility {
            0 => 0,
            id => self.label(out, from, id)?,
        };
        let (row, family, qualifier, value);
        if follows(slot.row, slot.family)
            && follows(slot.family, slot.qualifier)
            && follows(slot.qualifier, slot.value)
        {
            let len = slot.row.len + slot.family.len + slot.qualifier.len + slot.value.len;
            let start = out.push_bytes(from.bytes(span(slot.row.start, len)))?.start;
            row = span(start, slot.row.len);
            family = after(row, slot.family.len);
            qualifier = after(family, slot.qualifier.len);
            value = after(qualifier, slot.value.len);
            self.row = Some((slot.row, row));
            self.family = Some((slot.family, family));
        } else {
            row = share(&mut self.row, out, from, slot.row)?;
            family = share(&mut self.family, out, from, slot.family)?;
            if follows(slot.qualifier, slot.value) {
                let len = slot.qualifier.len + slot.value.len;
                let start = out
                    .push_bytes(from.bytes(span(slot.qualifier.start, len)))?
                    .start;
                qualifier = span(start, slot.qualifier.len);
                value = after(qualifier, slot.value.len);
            } else {
                qualifier = out.push_bytes(from.bytes(slot.qualifier))?;
                value = out.push_bytes(from.bytes(slot.value))?;
            }
        }
        out.push_slot(Slot {
            row,
            family,
            qualifier,
            value,
            timestamp: slot.timestamp,
            visibility,
            deleted: slot.deleted,
        });
        Ok(())
    }

    fn label(&mut self, out: &mut Batch, from: &Batch, id: u32) -> StoreResult<u32> {
        match self.labels.get(id as usize) {
            Some(&known) if known != 0 => Ok(known),
            _ => {
                let new = out.intern_visibility(from.visibility(id))?;
                if self.labels.len() <= id as usize {
                    self.labels.resize(id as usize + 1, 0);
                }
                if let Some(place) = self.labels.get_mut(id as usize) {
                    *place = new;
                }
                Ok(new)
            }
        }
    }
}

#[inline]
fn share(
    last: &mut Option<(Span, Span)>,
    out: &mut Batch,
    from: &Batch,
    wanted: Span,
) -> StoreResult<Span> {
    match *last {
        Some((known, copy)) if known == wanted => Ok(copy),
        _ => {
            let copy = out.push_bytes(from.bytes(wanted))?;
            *last = Some((wanted, copy));
            Ok(copy)
        }
    }
}

#[inline]
fn span(start: u32, len: u32) -> Span {
    Span { start, len }
}

#[inline]
fn after(before: Span, len: u32) -> Span {
    span(before.start + before.len, len)
}

/// Whether `second` begins where `first` ends.
#[inline]
fn follows(first: Span, second: Span) -> bool {
    first.start + first.len == second.start
}
