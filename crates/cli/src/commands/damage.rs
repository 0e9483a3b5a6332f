//! Continues reading after damaged files.

use std::path::Path;

use ostrakon_cell::{Batch, BatchLimit, Error, ErrorKind, Range, Result, ScanOptions, Table};

use crate::failure::is_table_file;

/// Number of leading bytes of rows that the search distinguishes.
const BYTES: usize = 256;

/// Maximum number of bisection steps in the search for the first readable row: one for each bit of these bytes.
const HALVINGS: usize = 8 * (BYTES + 1);

/// Rows that were skipped, from `begin` up to but not including `before`. Part of the first row may have been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) begin: Vec<u8>,
    /// `None` if nothing after `begin` can be read.
    pub(super) before: Option<Vec<u8>>,
}

/// Whether a table file cannot be read. Rows of other files, or of other parts of the file, may still be readable. An
/// error about the output file is not damage.
pub(super) fn is_damage(error: &Error) -> bool {
    let mut context = error.context().iter();
    let of_table = context.any(|(name, path)| *name == "file" && is_table_file(Path::new(path)));
    let unreadable = [
        ErrorKind::Corruption,
        ErrorKind::NotFound,
        ErrorKind::Io,
        ErrorKind::PermissionDenied,
    ];
    of_table && unreadable.contains(&error.kind())
}

/// Searches for the first row that can be read after the beginning of `unread`, which cannot be read. Returns what is
/// skipped and what is left. Readable rows between two damaged places may be skipped too.
pub(super) fn behind(
    table: &dyn Table,
    options: &ScanOptions,
    unread: &[Range],
) -> Result<(Lost, Vec<Range>)> {
    let start = unread.first().and_then(Range::start);
    let begin = start.map_or(Vec::new(), |key| key.row.clone());
    let one = ScanOptions {
        batch: BatchLimit {
            entries: 1,
            ..options.batch
        },
        resumable: false,
        ..options.clone()
    };
    let readable = |row: &[u8]| {
        let rest = from(unread, row);
        if rest.is_empty() {
            return Ok(true);
        }
        let read = table
            .scan(&rest, &one)
            .and_then(|mut scan| scan.next_batch(&mut Batch::new()));
        match read {
            Ok(_) => Ok(true),
            Err(error) if is_damage(&error) => Ok(false),
            Err(error) => Err(error),
        }
    };
    let before = first_readable(&begin, readable)?;
    let rest = before
        .as_deref()
        .map_or(Vec::new(), |row| from(unread, row));
    // A row after the last range bounds nothing.
    let before = before.filter(|_| !rest.is_empty());
    Ok((Lost { begin, before }, rest))
}

/// The part of `ranges` from a row on.
fn from(ranges: &[Range], row: &[u8]) -> Vec<Range> {
    let wanted = Range::rows(row..);
    let parts = ranges.iter().filter_map(|range| range.clip(&wanted));
    parts.filter(|part| !part.is_empty()).collect()
}

/// A readable row after `begin`, close after an unreadable one: growing steps, then bisection of the last step.
fn first_readable(
    begin: &[u8],
    readable: impl Fn(&[u8]) -> Result<bool>,
) -> Result<Option<Vec<u8>>> {
    let mut fails = begin.to_vec();
    let mut reads = None;
    for row in steps(begin) {
        if readable(&row)? {
            reads = Some(row);
            break;
        }
        fails = row;
    }
    let Some(mut reads) = reads else {
        return Ok(None);
    };
    for _ in 0..HALVINGS {
        let Some(row) = between(&fails, &reads) else {
            break;
        };
        match readable(&row)? {
            true => reads = row,
            false => fails = row,
        }
    }
    Ok(Some(reads))
}

/// Rows after `row`, ascending, in steps that double, up to the end of the row space.
fn steps(row: &[u8]) -> Vec<Vec<u8>> {
    let base = row.get(..row.len().min(BYTES)).unwrap_or(row);
    let zero = [0];
    let base = if base.is_empty() { &zero[..] } else { base };
    let mut all = vec![[row, &[0]].concat()];
    let mut add = |step: Vec<u8>| {
        if all.last().is_some_and(|last| step > *last) {
            all.push(step);
        }
    };
    for (at, byte) in base.iter().enumerate().rev() {
        let shared = base.get(..at).unwrap_or_default();
        let doubled = (0..8).filter_map(|shift| byte.checked_add(1 << shift));
        for byte in doubled.chain([0xff]) {
            add([shared, &[byte]].concat());
        }
    }
    for length in (1..)
        .map(|power| 1 << power)
        .take_while(|&length| length <= BYTES)
    {
        add(vec![0xff; length]);
    }
    all
}

/// A row in the middle between two rows, if there is one that is not too long.
fn between(low: &[u8], high: &[u8]) -> Option<Vec<u8>> {
    let length = low.len().max(high.len()).min(BYTES) + 1;
    let digit = |row: &[u8], at: usize| u16::from(row.get(at).copied().unwrap_or(0));
    // Half of the sum, as in long arithmetic: add from the last digit on, then halve from the first digit on.
    let mut sum = vec![0; length];
    let mut carry = 0;
    for at in (0..length).rev() {
        let digits = digit(low, at) + digit(high, at) + carry;
        if let Some(place) = sum.get_mut(at) {
            *place = digits & 0xff;
        }
        carry = digits >> 8;
    }
    let mut middle = Vec::with_capacity(length);
    for digits in sum {
        let digits = (carry << 8) | digits;
        middle.push((digits >> 1) as u8);
        carry = digits & 1;
    }
    // As short as possible, because it is shown to users.
    while let Some((0, rest)) = middle.split_last()
        && rest > low
    {
        middle.pop();
    }
    (middle.as_slice() > low && middle.as_slice() < high).then_some(middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_ascend() {
        for row in [&b""[..], b"a", b"row-00017", b"\xff\xff", &[7; 1000]] {
            let all = steps(row);
            assert!(all.is_sorted(), "{row:?}");
            assert!(all.iter().all(|step| step.as_slice() > row), "{row:?}");
        }
    }

    #[test]
    fn the_middle_lies_between() {
        for (low, high) in [
            (&b""[..], &b"\x01"[..]),
            (b"a", b"b"),
            (b"row-001", b"row-003"),
            (b"a\xff\xff", b"b"),
        ] {
            let middle = between(low, high).expect("a row");
            assert!(middle.as_slice() > low && middle.as_slice() < high);
        }
        assert_eq!(between(b"a", b"a\0"), None);
    }

    #[test]
    fn rows_up_to_the_end_of_the_row_space_are_found() {
        for (begin, end) in [
            (&b"\x90"[..], &b"\xd5"[..]),
            (b"\x10\x22", b"\x95"),
            (b"\x01", b"\x81\x01"),
            (b"a", b"\xe5"),
            (b"\xff\xff", b"\xff\xff\x05"),
            (b"", b"\xff\xff\xff"),
        ] {
            let found = first_readable(begin, |row| Ok(row >= end));
            let found = found.expect("no error").expect("a row");
            assert_eq!(found, end, "after {begin:?}");
        }
    }

    #[test]
    fn the_first_readable_row_is_found() {
        for (begin, end) in [
            ("row-00017", "row-00018"),
            ("row-00017", "row-00999"),
            ("row-00017", "row-10000"),
            ("", "row"),
            ("", "com.example.www/0101"),
            ("a", "com.example.www/0101"),
            ("a", "zebra"),
        ] {
            let found = first_readable(begin.as_bytes(), |row| Ok(row >= end.as_bytes()))
                .expect("no error")
                .expect("a row");
            assert!(found.as_slice() >= end.as_bytes());
            // No row of letters and digits lies between.
            let next = [end.as_bytes(), b"0"].concat();
            assert!(found < next, "{begin} {end}: {found:?}");
        }
        assert_eq!(first_readable(b"a", |_| Ok(false)).expect("no error"), None);
    }
}
