//! Lines in errors about delimited text. Its reader counts records, of which one may have several lines, and some of its
//! errors count from zero.

use std::io::{self, BufRead, BufReader};
use std::ops::Range;
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder};
use datafusion::arrow::error::ArrowError;

use crate::files::kind::{Packing, open};

/// What stands before and behind the number of a record in errors, unless it is at the end, and the number of the first
/// record.
const MARKS: [(&str, &str, u64); 5] = [
    (" at line ", ". Row data: '[", 0),
    (" at line ", ": ", 0),
    (" at line ", "; ", 0),
    (" for line ", ", ", 1),
    (" for line ", " and field ", 1),
];

/// The error with the line of its record in the file.
pub(super) fn with_line(
    error: ArrowError,
    file: &Path,
    packing: Packing,
    delimiter: u8,
) -> ArrowError {
    let corrected = |text: String| {
        let Some((place, record)) = MARKS.iter().find_map(|mark| numbered(&text, mark)) else {
            return text;
        };
        match line_of(file, packing, delimiter, record) {
            Ok(line) => {
                let mut text = text;
                text.replace_range(place, &line.to_string());
                text
            }
            // The file has changed, and the error is about what it was.
            Err(_) => text,
        }
    };
    match error {
        ArrowError::CsvError(text) => ArrowError::CsvError(corrected(text)),
        ArrowError::ParseError(text) => ArrowError::ParseError(corrected(text)),
        other => other,
    }
}

/// The place of the number of a record in an error, and the number counted from zero. A value, which stands before it, and
/// the row behind it may have such numbers, too.
fn numbered(
    text: &str,
    (before, behind, first): &(&str, &str, u64),
) -> Option<(Range<usize>, u64)> {
    text.match_indices(before).find_map(|(at, mark)| {
        let start = at + mark.len();
        let rest = text.get(start..)?;
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = rest.split_at_checked(length)?;
        let record = number.parse::<u64>().ok()?.checked_sub(*first)?;
        (rest.is_empty() || rest.starts_with(behind)).then_some((start..start + length, record))
    })
}

/// The line, counted from one, in which a record begins, counted from zero.
fn line_of(file: &Path, packing: Packing, delimiter: u8, record: u64) -> io::Result<u64> {
    let mut records = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(open(file, packing)?);
    let mut skipped = ByteRecord::new();
    for _ in 0..record {
        records.read_byte_record(&mut skipped)?;
    }
    let mut left = records.position().byte();
    let mut text = BufReader::new(open(file, packing)?);
    let mut line = 1;
    loop {
        let read = text.fill_buf()?;
        let length = read.len();
        if length == 0 {
            return Ok(line);
        }
        for byte in read {
            // Empty lines before the record are none of its own.
            if left == 0 && !matches!(byte, b'\n' | b'\r') {
                return Ok(line);
            }
            line += u64::from(*byte == b'\n');
            left = left.saturating_sub(1);
        }
        text.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_that_of_the_record() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "a,b\r\n\r\n1,\"x\ny\"\r\n2,z\r\n\n\n3,4";
        std::fs::write(file.path(), text).unwrap();
        let lines = (0..4).map(|at| line_of(file.path(), Packing::None, b',', at).unwrap());
        assert_eq!(lines.collect::<Vec<_>>(), [1, 3, 5, 8]);
        for (written, expected) in [
            (
                "value '3. Row data: z' at line 3. Row data: '[3. Row data: z]'",
                "value '3. Row data: z' at line 8. Row data: '[3. Row data: z]'",
            ),
            ("fields for line 3, expected", "fields for line 5, expected"),
            (
                "value '4 at line 1' at line 3. Row data: '[x at line 1]'",
                "value '4 at line 1' at line 8. Row data: '[x at line 1]'",
            ),
            (
                "value '3 at line 1. Row data: z' at line 2. Row data: '[1]'",
                "value '3 at line 1. Row data: z' at line 5. Row data: '[1]'",
            ),
            (
                "no number at line x. Row data: '[",
                "no number at line x. Row data: '[",
            ),
            ("value '2' at line 3", "value '2' at line 8"),
            ("nothing", "nothing"),
        ] {
            let error = ArrowError::CsvError(written.to_owned());
            let ArrowError::CsvError(text) = with_line(error, file.path(), Packing::None, b',')
            else {
                panic!("another kind of error");
            };
            assert_eq!(text, expected);
        }
    }
}
