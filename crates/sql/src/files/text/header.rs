//! The delimiter of a file, which its first line tells.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use datafusion::common::Result;

use crate::files::kind::{Packing, open};

/// The most bytes of the first line that are looked at.
const FIRST_BYTES: u64 = 64 << 10;

/// The delimiter of a file: a comma, if the names in its first line have one between them; else the most frequent one of
/// the others, if the second line has as many of them.
///
/// # Errors
/// The file cannot be read.
pub(super) fn delimiter(file: &Path, packing: Packing) -> Result<u8> {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let mut content = BufReader::new(open(file, packing)?.take(FIRST_BYTES));
    let lines = [&mut first, &mut second];
    // Damage is reported by those who read the rest.
    let read = lines.map(|line| content.read_until(b'\n', line));
    Ok(match read.into_iter().all(|read| read.is_ok()) {
        true => of_lines(&first, &second),
        false => b',',
    })
}

fn of_lines(first: &[u8], second: &[u8]) -> u8 {
    if count(first, b',') > 0 {
        return b',';
    }
    let others = [b';', b'\t', b'|'].into_iter().rev();
    let most = others.max_by_key(|delimiter| count(first, *delimiter));
    most.filter(|delimiter| {
        let found = count(first, *delimiter);
        // A record may go on after its first line.
        let goes_on = second.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
        found > 0 && (second.is_empty() || goes_on || count(second, *delimiter) == found)
    })
    .unwrap_or(b',')
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
    use super::of_lines;

    #[test]
    fn a_comma_is_the_delimiter_where_there_is_one() {
        for (first, second, expected) in [
            ("a,b", "", b','),
            ("a;b,c", "1;2,3", b','),
            ("a;b;c|d", "1;2;3", b';'),
            ("a\tb\n", "", b'\t'),
            ("a|b|c", "1|2|\"3", b'|'),
            ("\"a,b\";c", "1;2\n", b';'),
            ("\"a;b\"", "1;2", b','),
            ("name|alias", "x\n", b','),
            ("a;b", "1;2;3", b','),
            ("a", "b", b','),
            ("", "", b','),
        ] {
            let found = of_lines(first.as_bytes(), second.as_bytes());
            assert_eq!(found, expected, "{first}");
        }
    }
}
