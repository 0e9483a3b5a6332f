//! The bytes of a batch of mutations. Page: `docs/format/mutation-batch.md`.
//!
//! A batch is a sequence of *updates*. The first update of a mutation carries the row, the others
//! the distance back to that first update, so that any update can be read on its own from its
//! offset.
//!
//! ```text
//! update     := flags:u8 place column [visibility] [timestamp] [value]
//! place      := FIRST set: row_len:varint row      FIRST clear: back:varint
//! column     := family_len:varint family qualifier_len:varint qualifier
//! visibility := len:varint bytes                   (VISIBILITY set)
//! timestamp  := i64, little-endian                 (TIMESTAMP set)
//! value      := len:varint bytes                   (DELETE clear)
//! varint     := LEB128, at most five bytes, at most u32::MAX
//! ```
//!
//! `back` is the distance in bytes from this update's flags to the flags of the mutation's first
//! update. An update without a timestamp takes that of the batch, and with LATE set the next one.
//! The table sets LATE on a put that follows a delete of its column, because the delete would hide
//! a put at the same timestamp. LATE excludes TIMESTAMP and DELETE.
#![deny(clippy::indexing_slicing)]

/// The first update of a mutation: a row follows.
pub(crate) const FIRST: u8 = 1;
/// A delete marker: no value follows.
pub(crate) const DELETE: u8 = 1 << 1;
/// A timestamp follows the column.
pub(crate) const TIMESTAMP: u8 = 1 << 2;
/// A visibility follows the column.
pub(crate) const VISIBILITY: u8 = 1 << 3;
/// The timestamp is the one after that of the batch.
pub(crate) const LATE: u8 = 1 << 4;
/// Bits that no version uses yet.
const UNKNOWN: u8 = !(FIRST | DELETE | TIMESTAMP | VISIBILITY | LATE);

/// Facts about a sequence of updates that are known without reading them: the union over all of
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Facts(u8);

impl Facts {
    /// Some update is a delete whose timestamp the table sets.
    pub(crate) const SERVER_DELETE: Self = Self(1);
    /// Some update has a label.
    pub(crate) const LABEL: Self = Self(1 << 1);
    /// Some update is LATE.
    pub(crate) const LATE: Self = Self(1 << 2);

    /// The facts of one update, from its flags.
    #[inline]
    pub(crate) fn of_flags(flags: u8) -> Self {
        let delete = u8::from(flags & (DELETE | TIMESTAMP) == DELETE);
        let label = u8::from(flags & VISIBILITY != 0) << 1;
        let late = u8::from(flags & LATE != 0) << 2;
        Self(delete | label | late)
    }

    #[inline]
    pub(crate) fn add(&mut self, more: Self) {
        self.0 |= more.0;
    }

    pub(crate) fn remove(&mut self, less: Self) {
        self.0 &= !less.0;
    }

    #[inline]
    pub(crate) fn has(self, fact: Self) -> bool {
        self.0 & fact.0 != 0
    }
}

/// One column update, borrowed from a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdateRef<'a> {
    /// The row of the mutation.
    pub row: &'a [u8],
    /// The column family.
    pub family: &'a [u8],
    /// The column qualifier.
    pub qualifier: &'a [u8],
    /// The label; empty for none.
    pub visibility: &'a [u8],
    /// The timestamp set by the writer, or `None` when the table sets it.
    pub timestamp: Option<i64>,
    /// Whether the table sets the timestamp after that of the batch instead of the batch's own.
    pub late: bool,
    /// Whether this update is a delete.
    pub deleted: bool,
    /// The value; empty for deletes.
    pub value: &'a [u8],
    /// Whether this is the first update of a mutation.
    pub first: bool,
}

impl UpdateRef<'_> {
    /// The update's timestamp in a batch that the table stamped with `batch`.
    #[inline]
    #[must_use]
    pub fn timestamp_in(&self, batch: i64) -> i64 {
        self.timestamp
            .unwrap_or_else(|| batch.saturating_add(i64::from(self.late)))
    }

    pub(crate) fn facts(&self) -> Facts {
        let mut flags = 0;
        if self.deleted {
            flags |= DELETE;
        }
        if self.timestamp.is_some() {
            flags |= TIMESTAMP;
        }
        if !self.visibility.is_empty() {
            flags |= VISIBILITY;
        }
        if self.late {
            flags |= LATE;
        }
        Facts::of_flags(flags)
    }
}

#[inline]
fn take(bytes: &[u8], len: usize) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(len)
}

#[inline]
fn take_varint(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (&first, mut rest) = bytes.split_first()?;
    if first < 0x80 {
        return Some((u32::from(first), rest));
    }
    let mut value = u64::from(first & 0x7f);
    for shift in [7, 14, 21, 28] {
        let (&byte, tail) = rest.split_first()?;
        rest = tail;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return u32::try_from(value).ok().map(|value| (value, rest));
        }
    }
    None
}

#[inline]
fn take_run(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = take_varint(bytes)?;
    take(rest, len as usize)
}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn put_run(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u32);
    out.extend_from_slice(bytes);
}

/// Reads the update at offset `at`; also returns the offset after it. `None` when the bytes are not
/// a valid update.
#[inline]
#[must_use]
pub fn read_update(bytes: &[u8], at: usize) -> Option<(UpdateRef<'_>, usize)> {
    let (&flags, rest) = bytes.get(at..)?.split_first()?;
    let late = flags & LATE != 0;
    if flags & UNKNOWN != 0 || (late && flags & (TIMESTAMP | DELETE) != 0) {
        return None;
    }
    let first = flags & FIRST != 0;
    let (row, rest) = if first {
        take_run(rest)?
    } else {
        let (back, rest) = take_varint(rest)?;
        let (&head, row) = bytes.get(at.checked_sub(back as usize)?..)?.split_first()?;
        // Distance 0 would make this update its own head.
        if head & FIRST == 0 {
            return None;
        }
        (take_run(row)?.0, rest)
    };
    let (family, rest) = take_run(rest)?;
    let (qualifier, rest) = take_run(rest)?;
    let (visibility, rest) = if flags & VISIBILITY == 0 {
        (&[][..], rest)
    } else {
        take_run(rest)?
    };
    let (timestamp, rest) = if flags & TIMESTAMP == 0 {
        (None, rest)
    } else {
        let (stamp, rest) = rest.split_first_chunk::<8>()?;
        (Some(i64::from_le_bytes(*stamp)), rest)
    };
    let deleted = flags & DELETE != 0;
    let (value, rest) = if deleted {
        (&[][..], rest)
    } else {
        take_run(rest)?
    };
    let update = UpdateRef {
        row,
        family,
        qualifier,
        visibility,
        timestamp,
        late,
        deleted,
        value,
        first,
    };
    Some((update, bytes.len() - rest.len()))
}
