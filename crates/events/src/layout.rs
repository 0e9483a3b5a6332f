//! The keys of the three tables of an event type.
//!
//! | table | row | family | qualifier | value |
//! |---|---|---|---|---|
//! | event | shard (2 bytes) · reversed time (8) · hash (16) | empty | empty: the marker; else a field's name | the marker: empty, or `d` if deleted; else the field's bytes |
//! | index | field id (2) · value · `00` · reversed time (8) | empty | shard (2) · hash (16) | empty, or `d` if deleted |
//! | aggregate | field id (2) · value · `00` · reversed bin (8) | empty | empty | a count (8), signed |
//!
//! Numbers are big-endian. A reversed time is the bitwise complement of the microseconds since 1970 with the sign bit
//! flipped, so that the newest come first. A value in a row is its typed form, encoded as a part of a
//! [lexicoder's list](ostrakon_cell::lexicoder::push_part): it has no `00`, so that the `00` after it ends it. A form of more than 128 bytes becomes its first 113 and the first 16 of
//! its BLAKE3 hash: 129 bytes, which no shorter form has. Field id 0 with an empty value counts all events.
//!
//! Every entry has the label of its event. Its timestamp is the number of the batch that wrote it.

use ostrakon_cell::lexicoder::{parts, push_part};
use ostrakon_cell::{Range, following_prefix};

pub(crate) const EVENT_ROW: usize = 26;
/// The marker's and an index entry's value once the event is deleted.
pub(crate) const DELETED: &[u8] = b"d";
/// The id under which all events are counted.
pub(crate) const ALL_EVENTS: u16 = 0;

const FORM_MAX: usize = 128;
/// Bytes of a longer form that remain comparable.
pub(crate) const FORM_PREFIX: usize = 113;

/// The row of an event.
pub(crate) type EventRow = [u8; EVENT_ROW];

pub(crate) fn reversed(time: i64) -> [u8; 8] {
    // Sign bit flipped, then every bit: only the sign bit stays.
    (time ^ i64::MAX).to_be_bytes()
}

fn unreversed(bytes: &[u8]) -> i64 {
    bytes.try_into().map(i64::from_be_bytes).unwrap_or_default() ^ i64::MAX
}

/// The shard of an event among `count`, by its hash.
pub(crate) fn shard_of(hash: &[u8; 16], count: u16) -> u16 {
    let number = u64::from_be_bytes(hash.first_chunk().copied().unwrap_or_default());
    (number % u64::from(count.max(1))) as u16
}

/// The row of the same event in a type with `count` shards.
pub(crate) fn row_among(row: &EventRow, count: u16) -> EventRow {
    let hash: [u8; 16] = row.last_chunk().copied().unwrap_or_default();
    let mut other = *row;
    for (to, from) in other.iter_mut().zip(shard_of(&hash, count).to_be_bytes()) {
        *to = from;
    }
    other
}

pub(crate) fn event_row(shard: u16, time: i64, hash: &[u8; 16]) -> EventRow {
    let mut row = [0; EVENT_ROW];
    let parts = shard.to_be_bytes().into_iter().chain(reversed(time));
    for (to, from) in row.iter_mut().zip(parts.chain(*hash)) {
        *to = from;
    }
    row
}

/// The time in the row of an event.
#[inline]
pub(crate) fn event_time(row: &[u8]) -> Option<i64> {
    (row.len() == EVENT_ROW).then(|| unreversed(row.get(2..10).unwrap_or_default()))
}

/// The rows of a shard from time `from` to before `to`.
pub(crate) fn event_range(shard: u16, from: i64, to: i64) -> Range {
    let bound = |time: i64| {
        let mut row = shard.to_be_bytes().to_vec();
        row.extend_from_slice(&reversed(time));
        row
    };
    // Reversed: the newest come first, and `to` itself is not wanted.
    match to.checked_sub(1) {
        Some(last) if from <= last => match following_prefix(&bound(from)) {
            Some(end) => Range::rows(bound(last)..end),
            None => Range::rows(bound(last)..),
        },
        _ => Range::rows(bound(from)..bound(from)),
    }
}

/// Appends the part of a row that stands for a value.
pub(crate) fn put_value(out: &mut Vec<u8>, field: u16, form: &[u8]) {
    out.extend_from_slice(&field.to_be_bytes());
    match form.get(..FORM_PREFIX) {
        Some(start) if form.len() > FORM_MAX => {
            push_part(true, start, out);
            let hash = blake3::hash(form);
            push_part(true, hash.as_bytes().get(..16).unwrap_or_default(), out);
        }
        _ => push_part(true, form, out),
    }
}

/// The row of a value at a time: an index row, or an aggregate row if the time is that of a bin.
pub(crate) fn value_row(out: &mut Vec<u8>, field: u16, form: &[u8], time: i64) {
    out.clear();
    put_value(out, field, form);
    out.push(0);
    out.extend_from_slice(&reversed(time));
}

/// What a row of the index or the aggregate table says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ValueRow {
    pub(crate) field: u16,
    /// The typed form, or `None` if the row has only its hash.
    pub(crate) form: Option<Vec<u8>>,
    pub(crate) time: i64,
}

/// The time at the end of an index or aggregate row.
#[inline]
pub(crate) fn value_time(row: &[u8]) -> Option<i64> {
    let start = row.len().checked_sub(8)?;
    (start >= 3).then(|| unreversed(row.get(start..).unwrap_or_default()))
}

/// If the row of a value is not from time `from` to before `to`, puts the first row after it that may be into `target`:
/// of the same value, or of the next.
pub(crate) fn skip_times(row: &[u8], from: i64, to: i64, target: &mut Vec<u8>) -> bool {
    let (Some(time), Some(value)) = (value_time(row), value_part(row)) else {
        // Not a row of this crate: the first row that is longer.
        target.clear();
        target.extend_from_slice(row);
        target.push(0);
        return true;
    };
    if time >= from && time < to {
        return false;
    }
    target.clear();
    target.extend_from_slice(value);
    match to.checked_sub(1) {
        Some(last) if time >= to && last >= from => {
            target.push(0);
            target.extend_from_slice(&reversed(last));
        }
        // Older ones follow until the next value.
        _ => target.push(1),
    }
    true
}

/// The bytes of the value in an index or aggregate row, with the field's id.
pub(crate) fn value_part(row: &[u8]) -> Option<&[u8]> {
    row.get(..row.len().checked_sub(9)?)
}

/// Reads a row of the index or the aggregate table.
pub(crate) fn read_value_row(row: &[u8]) -> Option<ValueRow> {
    let time = value_time(row)?;
    let (id, escaped) = value_part(row)?.split_at_checked(2)?;
    let field = u16::from_be_bytes(id.try_into().ok()?);
    if row.get(row.len() - 9) != Some(&0) {
        return None;
    }
    let form = match parts(escaped).ok()?.as_slice() {
        [] => Vec::new(),
        [form] => form.to_vec(),
        _ => return None,
    };
    Some(ValueRow {
        field,
        form: (form.len() <= FORM_MAX).then_some(form),
        time,
    })
}

/// The rows of one value from time `from` to before `to`.
pub(crate) fn value_range(field: u16, form: &[u8], from: i64, to: i64) -> Range {
    let mut start = Vec::new();
    value_row(&mut start, field, form, to.saturating_sub(1));
    let mut end = Vec::new();
    value_row(&mut end, field, form, from);
    if from >= to {
        return Range::rows(start.clone()..start);
    }
    match following_prefix(&end) {
        Some(end) => Range::rows(start..end),
        None => Range::rows(start..),
    }
}

/// The qualifier of an index entry.
pub(crate) fn index_qualifier(row: &EventRow) -> [u8; 18] {
    let mut qualifier = [0; 18];
    let parts = row.iter().take(2).chain(row.iter().skip(10));
    for (to, from) in qualifier.iter_mut().zip(parts) {
        *to = *from;
    }
    qualifier
}

/// The event row that an index entry points to.
pub(crate) fn index_target(row: &[u8], qualifier: &[u8]) -> Option<EventRow> {
    let time = row.get(row.len().checked_sub(8)?..)?;
    let (shard, hash) = qualifier.split_at_checked(2)?;
    let mut all = Vec::with_capacity(EVENT_ROW);
    all.extend_from_slice(shard);
    all.extend_from_slice(time);
    all.extend_from_slice(hash);
    all.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn newer_events_come_first_and_ranges_exclude_their_end() {
        let hash = [7; 16];
        let rows: Vec<EventRow> = [5, 4, 0, -3].map(|time| event_row(1, time, &hash)).to_vec();
        assert!(rows.is_sorted());
        let range = event_range(1, 0, 5);
        let inside: Vec<bool> = rows.iter().map(|row| range.contains_row(row)).collect();
        assert_eq!(inside, [false, true, true, false]);
        assert!(!range.contains_row(&event_row(2, 4, &hash)));
        assert_eq!(event_time(&rows[3]), Some(-3));
        assert!(event_range(1, i64::MIN, i64::MAX).contains_row(&event_row(1, i64::MIN, &hash)));
    }

    #[test]
    fn long_values_are_hashed_and_never_equal_a_short_one() {
        let long = vec![b'a'; 4000];
        let mut row = Vec::new();
        value_row(&mut row, 3, &long, 9);
        assert!(row.len() < 150);
        let read = read_value_row(&row).expect("a row");
        assert_eq!((read.field, read.form, read.time), (3, None, 9));
        let mut other = Vec::new();
        value_row(&mut other, 3, &long[..3999], 9);
        assert_ne!(row, other);
    }

    proptest! {
        #[test]
        fn rows_sort_by_value_then_newest_first(
            a in prop::collection::vec(0_u8..4, 0..6), b in prop::collection::vec(0_u8..4, 0..6),
            s: i64, t: i64,
        ) {
            let (mut one, mut other) = (Vec::new(), Vec::new());
            value_row(&mut one, 1, &a, s);
            value_row(&mut other, 1, &b, t);
            prop_assert_eq!(one.cmp(&other), a.cmp(&b).then(t.cmp(&s)));
            let read = read_value_row(&one).expect("a row");
            prop_assert_eq!(read.form.as_ref(), Some(&a));
            prop_assert_eq!(read.time, s);
            prop_assert_eq!(value_range(1, &a, s.min(t), s.max(t)).contains_row(&one), s < t);
            let event = event_row(9, s, &[3; 16]);
            prop_assert_eq!(index_target(&one, &index_qualifier(&event)), Some(event));
        }

        #[test]
        fn skipping_moves_forward_and_passes_over_nothing_in_time(
            a in prop::collection::vec(0_u8..3, 0..4), b in prop::collection::vec(0_u8..3, 0..4),
            s in -4_i64..4, t in -4_i64..4, from in -4_i64..4, to in -4_i64..4,
        ) {
            let (mut row, mut other, mut target) = (Vec::new(), Vec::new(), Vec::new());
            value_row(&mut row, 1, &a, s);
            value_row(&mut other, 1, &b, t);
            let skipped = skip_times(&row, from, to, &mut target);
            prop_assert_eq!(skipped, s < from || s >= to);
            if skipped {
                prop_assert!(target > row);
                let wanted = t >= from && t < to;
                prop_assert!(!(wanted && other > row && other < target));
            }
        }

        #[test]
        fn any_bytes_can_be_read(row in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = read_value_row(&row);
            let _ = index_target(&row, &row);
        }
    }
}
