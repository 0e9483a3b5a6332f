//! The delimiter of a file, which its first records tell.

use std::io::Read;
use std::path::Path;

use csv::{ByteRecord, Reader, ReaderBuilder};
use datafusion::common::Result;
use memchr::memchr_iter;

use super::quotes::{MARK, Quotes};
use crate::files::kind::{Packing, open};

/// The most bytes of the first records that are looked at.
const FIRST_BYTES: u64 = 64 << 10;

/// The delimiter of a file: a comma, if the first record has one; else the most frequent one of the others in it, if the
/// second record has it, too. Without names in the first record, commas may be those of decimal numbers: see
/// [`are_decimal`].
///
/// # Errors
/// The file cannot be read.
pub(super) fn delimiter(file: &Path, packing: Packing, has_names: bool) -> Result<u8> {
    let mut start = Vec::new();
    let read = open(file, packing)?
        .take(FIRST_BYTES)
        .read_to_end(&mut start);
    // Damage is reported by those who read the rest.
    Ok(match read {
        Ok(_) => of_text(&start, has_names),
        Err(_) => b',',
    })
}

fn of_text(start: &[u8], has_names: bool) -> u8 {
    let start = start.strip_prefix(MARK).unwrap_or(start);
    let commas = Found::of(start, b',');
    let others = [b'|', b'\t', b';'].map(|delimiter| (delimiter, Found::of(start, delimiter)));
    // Of equally frequent ones the last.
    let most = others.into_iter().max_by_key(|(_, found)| found.first);
    let most =
        most.filter(|(_, found)| found.first > 0 && found.second.is_none_or(|count| count > 0));
    match most {
        Some((other, _)) if commas.first == 0 => other,
        // Between other delimiters, a quote after the first one does not open a field for the comma.
        Some((other, found)) if commas.has_stray_quotes && !found.has_stray_quotes => other,
        Some((other, found)) if !has_names && found.is_regular() && are_decimal(start, other) => {
            other
        }
        _ => b',',
    }
}

/// How often a delimiter stands in the first two records.
struct Found {
    first: usize,
    /// `None` if there is no second record, or only the beginning of one.
    second: Option<usize>,
    /// Whether a quote of the first record stands where none opens or closes a field.
    has_stray_quotes: bool,
}

impl Found {
    fn of(start: &[u8], delimiter: u8) -> Self {
        let mut records = records(start, delimiter);
        let mut record = ByteRecord::new();
        let next = |records: &mut Reader<&[u8]>, record: &mut ByteRecord| {
            let is_there = records.read_byte_record(record).unwrap_or(false);
            is_there.then(|| record.len().saturating_sub(1))
        };
        let first = next(&mut records, &mut record).unwrap_or_default();
        let end = usize::try_from(records.position().byte()).unwrap_or(usize::MAX);
        let has_stray_quotes = has_stray_quotes(start.get(..end).unwrap_or(start), delimiter);
        let second = next(&mut records, &mut record);
        let is_last = records.position().byte() == start.len() as u64;
        let is_cut = is_last && (start.len() as u64 == FIRST_BYTES || is_open(start, delimiter));
        Self {
            first,
            second: second.filter(|_| !is_cut),
            has_stray_quotes,
        }
    }

    /// Whether both records have the same number of fields.
    fn is_regular(&self) -> bool {
        self.second.is_none_or(|second| second == self.first)
    }
}

/// The records of a text, as the reader of the file finds them.
fn records(text: &[u8], delimiter: u8) -> Reader<&[u8]> {
    ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(text)
}

/// Whether a quote of a record neither opens nor closes a field, nor is doubled in a quoted one.
fn has_stray_quotes(record: &[u8], delimiter: u8) -> bool {
    let mut before = delimiter;
    let mut is_quoted = false;
    let mut bytes = record.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let opens = !is_quoted && (before == delimiter || matches!(before, b'\n' | b'\r'));
        let ends = |next: u8| next == delimiter || matches!(next, b'\n' | b'\r');
        match byte {
            b'"' if opens => is_quoted = true,
            b'"' if is_quoted && bytes.peek() == Some(&b'"') => {
                bytes.next();
            }
            b'"' if is_quoted && bytes.peek().is_none_or(|next| ends(*next)) => is_quoted = false,
            b'"' => return true,
            _ => {}
        }
        before = byte;
    }
    false
}

/// Whether a quote is not closed.
fn is_open(text: &[u8], delimiter: u8) -> bool {
    let mut quotes = Quotes::new(delimiter);
    quotes.read(text);
    quotes.unclosed().is_some()
}

/// Whether every comma in the fields between another delimiter stands between two digits, in the first two records.
fn are_decimal(start: &[u8], delimiter: u8) -> bool {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let mut records = records(start, delimiter);
    let mut first = records
        .byte_records()
        .take(2)
        .filter_map(std::result::Result::ok);
    first.all(|record| {
        record.iter().all(|field| {
            let mut commas = memchr_iter(b',', field);
            commas.all(|at| {
                let before = at.checked_sub(1).and_then(|before| field.get(before));
                is_digit(before) && is_digit(field.get(at + 1))
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::of_text;

    #[test]
    fn a_comma_is_the_delimiter_where_there_is_one() {
        for (text, expected) in [
            ("a,b", b','),
            ("a;b,c\n1;2,3", b','),
            ("a;b;c|d\n1;2;3", b';'),
            ("a\tb\n", b'\t'),
            ("a|b|c\n1|2|\"3", b'|'),
            ("a|b|c\n\"1", b'|'),
            ("\"a,b\";c\n1;2\n", b';'),
            ("\"a;b\"\n1;2", b','),
            ("name|alias\nx\n", b','),
            ("a;b\n1;2;3", b';'),
            ("a;b;c\n1;2", b';'),
            ("a;b\n\n\n1;2\n", b';'),
            ("\"a\nx\";b\n1;2\n", b';'),
            ("a;b\r1,5;2\r", b';'),
            // A quote within a field is text.
            ("a;b;w 5\"\n1;2;3\" x, y\n", b';'),
            ("size 5\";b\n1;2\n", b';'),
            ("1,5;2,5\n3,5;4,5\n", b','),
            ("\"Name\";\"Last, First\"\n\"a\";\"b, c\"\n", b';'),
            ("\"t\"\t\"v, EUR\"\n2026\t5\n", b'\t'),
            ("\"Name\";\"Last, \"\"First\"\"\"\n\"a\";\"b, c\"\n", b';'),
            ("\"a\"\"b\";\"c,d\"\n1;2\n", b';'),
            ("\"\";\"c,d\"\n1;2\n", b';'),
            ("\"t\",\"v; EUR\"\n2026,5\n", b','),
            ("id,\"a \"\"b\"\";c\"\n1,2\n", b','),
            ("\u{feff}\"Name\";\"Last, First\"\n\"a\";\"b, c\"\n", b';'),
            ("a\nb", b','),
            ("", b','),
        ] {
            assert_eq!(of_text(text.as_bytes(), true), expected, "{text}");
        }
    }

    #[test]
    fn without_names_commas_may_be_those_of_numbers() {
        for (text, expected) in [
            ("1,5;2,5\n3,5;4,5\n", b';'),
            ("1,5;2,5", b';'),
            ("1;2,5\n3;4\n", b';'),
            ("1,5|\"x,1\"|2\n1,5|2|3\n", b'|'),
            ("1,5\n2,5\n", b','),
            ("1,2;3\n4,5\n", b','),
            ("a; b,1\nc; d,2\n", b','),
        ] {
            assert_eq!(of_text(text.as_bytes(), false), expected, "{text}");
        }
    }
}
