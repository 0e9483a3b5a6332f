//! The bytes of one entry of the continuous test.
//!
//! ```text
//! row        16 lower-case hexadecimal digits, a random number of 63 bits
//! family     4 digits, below 32,767
//! qualifier  4 digits, below 32,767
//! value      writer ':' count ':' previous ':' [checksum]
//!   writer    36 characters, the UUID of the ingest client
//!   count     16 digits, entries this client wrote before
//!   previous  16 digits, the row this entry points to; or nothing
//!   checksum  8 digits, CRC-32 (IEEE 802.3, as in zlib) over row, family, qualifier, visibility
//!             and the value up to here; or nothing
//! ```
//!
//! The previous row always starts at offset 54 of the value. Without a checksum a value has 55
//! bytes, or 71 with a previous row (the paper of 2013 says 54); a checksum adds 8. Readers take a
//! trailing colon as "no checksum". The suite's present version may put random bytes and a
//! colon between the previous row and the checksum; readers here skip them.
#![deny(clippy::indexing_slicing)]

use ostrakon_cell::EntryRef;

/// Length of a row.
pub const ROW_BYTES: usize = 16;
/// Length of a family, and of a qualifier.
pub(super) const COLUMN_BYTES: usize = 4;
/// Length of the longest value that is written here.
pub const VALUE_BYTES_MAX: usize = 79;
/// Length of the writer's UUID in a value.
pub(super) const UUID_BYTES: usize = 36;
/// Where the count starts in a value.
pub(super) const COUNT_AT: usize = UUID_BYTES + 1;
/// Where the previous row starts in a value.
pub(super) const PREVIOUS_AT: usize = COUNT_AT + 16 + 1;
const CHECKSUM_BYTES: usize = 8;
/// Bytes of a key without a label.
const KEY_BYTES: usize = ROW_BYTES + 2 * COLUMN_BYTES;
/// Keys and labels up to this size are checked without touching the heap.
const STACK_BYTES: usize = 256;

/// What an entry of the test says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link<'a> {
    /// The row of the entry.
    pub row: u64,
    /// The row it points to, if any.
    pub previous: Option<u64>,
    /// The UUID of the client that wrote it.
    pub writer: &'a [u8],
    /// Whether the entry carried a checksum, which then was right.
    pub checked: bool,
}

/// Why an entry does not belong to the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryError {
    /// Neither key nor value look like the test's: an unrelated entry in the same table.
    Foreign,
    /// The row, or the shape of the value, is not what the test writes.
    Shape,
    /// The checksum does not match.
    Checksum,
}

/// Reads an entry and checks its checksum, if it has one.
///
/// # Errors
/// See [`EntryError`]. Any bytes are allowed.
#[inline]
pub fn parse_entry<'a>(entry: &EntryRef<'a>) -> Result<Link<'a>, EntryError> {
    let row = parse_row(entry.key.row);
    let (Some(row), Some(shape)) = (row, Shape::of(entry.value)) else {
        return Err(why_not(entry));
    };
    if let Some(expected) = shape.checksum {
        let covered = entry.value.len() - CHECKSUM_BYTES;
        let covered = entry.value.get(..covered).unwrap_or_default();
        if checksum(entry, covered) != expected {
            return Err(EntryError::Checksum);
        }
    }
    Ok(Link {
        row,
        previous: shape.previous,
        writer: shape.writer,
        checked: shape.checksum.is_some(),
    })
}

#[cold]
fn why_not(entry: &EntryRef<'_>) -> EntryError {
    let key = entry.key;
    let ours = parse_row(key.row).is_some()
        && [key.family, key.qualifier]
            .iter()
            .all(|part| part.len() == COLUMN_BYTES && parse_hex(part).is_some());
    if ours || Shape::of(entry.value).is_some() {
        EntryError::Shape
    } else {
        EntryError::Foreign
    }
}

struct Shape<'a> {
    writer: &'a [u8],
    previous: Option<u64>,
    checksum: Option<u32>,
}

impl<'a> Shape<'a> {
    #[inline]
    fn of(value: &'a [u8]) -> Option<Self> {
        let (writer, rest) = value.split_at_checked(UUID_BYTES)?;
        let (b':', rest) = rest.split_first().map(|(first, rest)| (*first, rest))? else {
            return None;
        };
        let (_count, rest) = rest.split_at_checked(16)?;
        let (b':', rest) = rest.split_first().map(|(first, rest)| (*first, rest))? else {
            return None;
        };
        let (previous, rest) = match rest.split_first()? {
            (b':', rest) => (None, rest),
            _ => {
                let (previous, rest) = rest.split_at_checked(ROW_BYTES)?;
                let (b':', rest) = rest.split_first().map(|(first, rest)| (*first, rest))? else {
                    return None;
                };
                (Some(parse_row(previous)?), rest)
            }
        };
        let checksum = match rest.last() {
            None | Some(b':') => None,
            Some(_) => {
                let at = rest.len().checked_sub(CHECKSUM_BYTES)?;
                // Bytes between the previous row and the checksum end with a colon of their own.
                if at > 0 && rest.get(at - 1) != Some(&b':') {
                    return None;
                }
                Some(parse_hex(rest.get(at..)?)? as u32)
            }
        };
        Some(Self {
            writer,
            previous,
            checksum,
        })
    }
}

fn checksum(entry: &EntryRef<'_>, covered: &[u8]) -> u32 {
    let key = entry.key;
    let parts = [key.row, key.family, key.qualifier, key.visibility, covered];
    let len = key.byte_len() + covered.len();
    // One call over joined bytes is several times faster than five over the parts.
    let mut stack = [0; STACK_BYTES];
    if let (Some(row), Some(family), Some(qualifier), []) = (
        key.row.first_chunk::<ROW_BYTES>(),
        key.family.first_chunk::<COLUMN_BYTES>(),
        key.qualifier.first_chunk::<COLUMN_BYTES>(),
        key.visibility,
    ) && len == KEY_BYTES + covered.len()
        && let Some(joined) = stack.get_mut(..len)
        && let Some((head, tail)) = joined.split_first_chunk_mut::<KEY_BYTES>()
    {
        // Nearly every entry: copies of known lengths are a few instructions.
        let (row_at, rest) = head.split_at_mut(ROW_BYTES);
        let (family_at, qualifier_at) = rest.split_at_mut(COLUMN_BYTES);
        row_at.copy_from_slice(row);
        family_at.copy_from_slice(family);
        qualifier_at.copy_from_slice(qualifier);
        tail.copy_from_slice(covered);
        return crc32(joined);
    }
    match stack.get_mut(..len) {
        Some(joined) => {
            let mut rest = &mut *joined;
            for part in parts {
                let Some((head, tail)) = rest.split_at_mut_checked(part.len()) else {
                    break;
                };
                head.copy_from_slice(part);
                rest = tail;
            }
            crc32(joined)
        }
        None => crc32(&parts.concat()),
    }
}

/// CRC-32 (IEEE 802.3), with the processor's instructions where it has them. On the hundred bytes of
/// an entry this crate takes a third of the time of the one the store uses for its large blocks.
#[inline]
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// Writes a row as 16 digits.
#[must_use]
#[inline]
pub fn format_row(row: u64) -> [u8; ROW_BYTES] {
    let mut digits = [0; ROW_BYTES];
    let (high, low) = digits.split_at_mut(8);
    high.copy_from_slice(&hex8((row >> 32) as u32));
    low.copy_from_slice(&hex8(row as u32));
    digits
}

/// Reads a row: exactly 16 lower-case digits of a number below 2^63.
#[must_use]
#[inline]
pub fn parse_row(row: &[u8]) -> Option<u64> {
    if row.len() != ROW_BYTES {
        return None;
    }
    parse_hex(row).filter(|row| row >> 63 == 0)
}

/// The low 16 bits as 4 digits.
#[inline]
pub(super) fn hex4(number: u16) -> [u8; 4] {
    let [_, _, _, _, digits @ ..] = hex8(u32::from(number));
    digits
}

/// Eight digits at once: spread the nibbles over the bytes of one word, then add what makes each
/// a character.
#[inline]
pub(super) fn hex8(number: u32) -> [u8; 8] {
    const LOW: u64 = 0x0101_0101_0101_0101;
    let x = u64::from(number);
    let x = ((x << 16) | x) & 0x0000_ffff_0000_ffff;
    let x = ((x << 8) | x) & 0x00ff_00ff_00ff_00ff;
    let x = ((x << 4) | x) & 0x0f0f_0f0f_0f0f_0f0f;
    let letters = ((x + 6 * LOW) >> 4) & LOW;
    (x + u64::from(b'0') * LOW + letters * u64::from(b'a' - b'0' - 10)).to_be_bytes()
}

/// The value of each lower-case digit; 255 for other bytes.
#[expect(
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, which would refuse a bad index"
)]
const DIGITS: [u8; 256] = {
    let mut digits = [255; 256];
    let mut value = 0;
    while value < 16 {
        digits[b"0123456789abcdef"[value] as usize] = value as u8;
        value += 1;
    }
    digits
};

/// Reads up to 16 lower-case digits.
#[inline]
pub(super) fn parse_hex(digits: &[u8]) -> Option<u64> {
    let (mut number, mut bad) = (0_u64, 0_u8);
    for &digit in digits {
        let value = DIGITS.get(usize::from(digit)).copied().unwrap_or(255);
        bad |= value;
        number = number << 4 | u64::from(value & 15);
    }
    (bad < 16).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostrakon_cell::{Entry, Key};
    use proptest::prelude::*;

    fn entry(row: &str, value: &str) -> Entry {
        Entry {
            key: Key::new(row, "19a2", "6a28"),
            value: value.into(),
        }
    }

    const WRITER: &str = "277cbce9-26ae-467e-a553-1684bf29db02";

    #[test]
    fn the_papers_two_rows_are_read() {
        let head = entry("11af847f1e67c681", &format!("{WRITER}:0000000000119492::"));
        let link = parse_entry(&head.as_ref()).unwrap();
        assert_eq!(link.row, 0x11af_847f_1e67_c681);
        assert_eq!((link.previous, link.checked), (None, false));
        assert_eq!(link.writer, WRITER.as_bytes());
        let next = entry(
            "0020efc13153756f",
            &format!("{WRITER}:0000000000119492:11af847f1e67c681:"),
        );
        let link = parse_entry(&next.as_ref()).unwrap();
        assert_eq!(link.previous, Some(0x11af_847f_1e67_c681));
        assert_eq!((head.value.len(), next.value.len()), (55, 71));
    }

    /// The literal was computed by zlib, so that it is not our word against ours.
    #[test]
    fn the_checksum_is_that_of_zlib() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        let mut checked = entry(
            "0020efc13153756f",
            &format!("{WRITER}:0000000000119492:11af847f1e67c681:3d9bef0a"),
        );
        checked.key.visibility = b"A&B".to_vec();
        assert!(parse_entry(&checked.as_ref()).unwrap().checked);
        checked.key.visibility = b"A&C".to_vec();
        assert_eq!(
            parse_entry(&checked.as_ref()),
            Err(EntryError::Checksum),
            "the label belongs to what is covered"
        );
    }

    #[test]
    fn random_bytes_before_the_checksum_are_passed_over() {
        let value = format!("{WRITER}:0000000000000001::\u{1}zz:9:");
        let joined = format!("0020efc13153756f19a26a28{value}");
        let padded = entry(
            "0020efc13153756f",
            &format!("{value}{:08x}", crc32(joined.as_bytes())),
        );
        assert!(parse_entry(&padded.as_ref()).unwrap().checked);
    }

    #[test]
    fn what_is_not_the_tests_is_told_apart() {
        let good = format!("{WRITER}:0000000000119492::");
        let mut foreign = entry("alice", "cited");
        foreign.key.family = b"edge".to_vec();
        assert_eq!(parse_entry(&foreign.as_ref()), Err(EntryError::Foreign));
        for (row, value) in [
            ("0020efc13153756f", "cited"),
            ("0020EFC13153756F", good.as_str()),
            ("8020efc13153756f", good.as_str()),
            ("0020efc13153756", good.as_str()),
            ("0020efc13153756f", &good.replace(":0", ";0")),
            (
                "0020efc13153756f",
                &format!("{WRITER}:0000000000119492:11af847f1e67c68:"),
            ),
            (
                "0020efc13153756f",
                &format!("{WRITER}:0000000000119492::7cd8a9e"),
            ),
        ] {
            let entry = entry(row, value);
            assert_eq!(
                parse_entry(&entry.as_ref()),
                Err(EntryError::Shape),
                "{row} {value}"
            );
        }
    }

    proptest! {
        #[test]
        fn rows_round_trip(row in 0..1_u64 << 63) {
            prop_assert_eq!(format_row(row).to_vec(), format!("{row:016x}").into_bytes());
            prop_assert_eq!(parse_row(&format_row(row)), Some(row));
        }

        #[test]
        fn columns_are_four_digits(number: u16) {
            prop_assert_eq!(hex4(number).to_vec(), format!("{number:04x}").into_bytes());
        }

        #[test]
        fn any_bytes_are_allowed(row: Vec<u8>, value: Vec<u8>) {
            let entry = Entry { key: Key::new(row, "", ""), value };
            let _ = parse_entry(&entry.as_ref());
        }
    }
}
