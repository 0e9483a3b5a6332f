//! The delimiter of a file, which its first records tell.

use std::io::Read;
use std::path::Path;

use datafusion::common::Result;

use crate::files::kind::{Packing, open};

/// The most bytes of the first records that are looked at.
const FIRST_BYTES: u64 = 64 << 10;

/// The delimiter of a file: a comma, if the names in its first record have one between them; else the most frequent one of
/// the others, if the second record has it, too.
///
/// # Errors
/// The file cannot be read.
pub(super) fn delimiter(file: &Path, packing: Packing) -> Result<u8> {
    let mut start = Vec::new();
    let read = open(file, packing)?
        .take(FIRST_BYTES)
        .read_to_end(&mut start);
    // Damage is reported by those who read the rest.
    Ok(match read {
        Ok(_) => of_text(&start),
        Err(_) => b',',
    })
}

fn of_text(start: &[u8]) -> u8 {
    let mut records = records(start);
    let (first, second) = (records.next().unwrap_or_default(), records.next());
    if count(first, b',') > 0 {
        return b',';
    }
    let others = [b';', b'\t', b'|'].into_iter().rev();
    let most = others.max_by_key(|delimiter| count(first, *delimiter));
    most.filter(|delimiter| {
        // The start may end within the second record.
        let is_there = second.is_none_or(|second| {
            let is_cut = start.len() as u64 == FIRST_BYTES && start.ends_with(second);
            count(second, *delimiter) > 0 || is_cut || is_open(second)
        });
        count(first, *delimiter) > 0 && is_there
    })
    .unwrap_or(b',')
}

/// The records of a text, without empty lines.
fn records(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut is_quoted = false;
    let records = text.split(move |byte| {
        is_quoted ^= *byte == b'"';
        !is_quoted && matches!(byte, b'\n' | b'\r')
    });
    records.filter(|record| !record.is_empty())
}

/// Whether a quote is not closed.
fn is_open(record: &[u8]) -> bool {
    record.iter().filter(|byte| **byte == b'"').count() % 2 == 1
}

/// The delimiters of a line outside of quotes.
fn count(line: &[u8], delimiter: u8) -> usize {
    let mut is_quoted = false;
    let outside = line.iter().filter(|byte| {
        is_quoted ^= **byte == b'"';
        !is_quoted && **byte == delimiter
    });
    outside.count()
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
            ("a\nb", b','),
            ("", b','),
        ] {
            assert_eq!(of_text(text.as_bytes()), expected, "{text}");
        }
    }
}
