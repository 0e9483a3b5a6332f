//! Reading on behind what is damaged.

use ostrakon_cell::{Batch, BatchLimit, Error, ErrorKind, Range, Result, ScanOptions, Table};

/// How often the place where reading goes on is looked for more closely.
const HALVINGS: usize = 64;

/// Leading bytes of rows that are told apart when it is looked for.
const BYTES: usize = 256;

/// Rows that were passed over, from `begin` up to but not including `before`. Of the first the beginning may have been
/// read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) begin: Vec<u8>,
    /// `None` where nothing behind can be read.
    pub(super) before: Option<Vec<u8>>,
}

/// Whether a file of a table cannot be read: then rows of other files, or of other parts of it, may be.
pub(super) fn is_damage(error: &Error) -> bool {
    let of_file = error.context().iter().any(|(name, _)| *name == "file");
    of_file && matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NotFound)
}

/// Looks for the first row that can be read behind the beginning of `unread`, which cannot. Answers what is passed over
/// and what is left. Damage close behind other damage may be passed over with it.
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
    // Nothing lies between the last range and a row behind it.
    let before = before.filter(|_| !rest.is_empty());
    Ok((Lost { begin, before }, rest))
}

/// The part of `ranges` from a row on.
fn from(ranges: &[Range], row: &[u8]) -> Vec<Range> {
    let wanted = Range::rows(row..);
    let parts = ranges.iter().filter_map(|range| range.clip(&wanted));
    parts.filter(|part| !part.is_empty()).collect()
}

/// A row behind `begin` that is readable, close behind one that is not: steps that grow, then halves of the last one.
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

/// Rows behind `row`, ascending, in steps that double.
fn steps(row: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let mut base = row.get(..row.len().min(BYTES)).unwrap_or(row).to_vec();
    let next = [row, &[0]].concat();
    if base.is_empty() {
        base.push(0);
    }
    let larger = (0..base.len()).rev().flat_map(move |at| {
        let base = base.clone();
        (0..8).filter_map(move |shift| {
            let byte = base.get(at)?.checked_add(1 << shift)?;
            Some([base.get(..at)?, &[byte]].concat())
        })
    });
    std::iter::once(next).chain(larger)
}

/// A row in the middle between two rows, if there is one that is not too long.
fn between(low: &[u8], high: &[u8]) -> Option<Vec<u8>> {
    let length = low.len().max(high.len()).min(BYTES) + 1;
    let digit = |row: &[u8], at: usize| u16::from(row.get(at).copied().unwrap_or(0));
    // Half of the sum, as of long numbers: from the last digit to the first, then from the first to the last.
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
    // As short as it can be: people read it.
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
            let all: Vec<_> = steps(row).collect();
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
    fn the_first_readable_row_is_found() {
        for (begin, end) in [
            ("row-00017", "row-00018"),
            ("row-00017", "row-00999"),
            ("row-00017", "row-10000"),
            ("", "row"),
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
