//! Rows and ranges from the command line and from files.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Bound;
use std::path::Path;

use ostrakon_cell::{BatchLimit, ColumnSelection, MAX_KEY_BYTES, Range, Reserved, ScanOptions};
use ostrakon_events::reserved_to_events;

use crate::args::{Bytes, Selection};
use crate::failure::{Failure, Result};
use crate::output::{escape, unescape};

/// Ranges and options of a scan.
#[derive(Debug)]
pub(super) struct ScanRequest {
    pub(super) ranges: Vec<Range>,
    pub(super) options: ScanOptions,
}

impl ScanRequest {
    /// Limits batches for a reader that takes at most `limit` entries, so that the source does not
    /// read entries that are not used.
    pub(super) fn limited(mut self, limit: Option<u64>) -> Self {
        if let Some(limit) = limit {
            let batch = &mut self.options.batch;
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            batch.entries = batch.entries.min(limit).max(1);
        }
        self
    }
}

/// The scan of a selection in a table; reads the file of `--batch`.
pub(super) fn scan_request(table: &str, selection: Selection) -> Result<ScanRequest> {
    if selection.authorizations.is_some() && reserved_to_events(table) == Reserved::Closed {
        return Err(Failure::outcome(
            "the table is reserved to the event store: a reader with authorizations does not read it",
        )
        .with("table", table)
        .next("leave --auths out, or use `ostrakon events show TYPE`"));
    }
    let mut ranges: Vec<Range> = selection
        .rows
        .into_iter()
        .map(|row| Range::row(row.0))
        .collect();
    ranges.extend(
        selection
            .prefixes
            .iter()
            .map(|prefix| Range::row_prefix(&prefix.0)),
    );
    if selection.begin.is_some() || selection.end.is_some() {
        let begin = selection
            .begin
            .map(|row| (row.0, selection.begin_exclusive));
        let end = selection.end.map(|row| (row.0, selection.end_exclusive));
        ranges.push(row_range(begin, end)?);
    }
    let batch = selection.batch.is_some();
    if let Some(file) = &selection.batch {
        for (number, line) in lines(file)? {
            ranges.push(batch_range(&line).map_err(|failure| at_line(failure, file, number))?);
        }
    } else if ranges.is_empty() {
        ranges.push(Range::all());
    }
    Ok(ScanRequest {
        ranges,
        options: ScanOptions {
            columns: ColumnSelection::new(selection.columns),
            authorizations: selection.authorizations.unwrap_or_default(),
            iterators: selection.iterators,
            batch: BatchLimit::default(),
            ordered: !(selection.unordered || batch),
            threads: selection.threads,
            timeout: selection.timeout,
            ..ScanOptions::default()
        },
    })
}

/// The range between two rows; each comes with whether it is excluded.
fn row_range(begin: Option<(Vec<u8>, bool)>, end: Option<(Vec<u8>, bool)>) -> Result<Range> {
    if let (Some((begin, begin_out)), Some((end, end_out))) = (&begin, &end)
        && (begin > end || (begin == end && (*begin_out || *end_out)))
    {
        let what = if begin > end {
            "the range begins after its end"
        } else {
            "the range is empty: it begins and ends at the same row, which is excluded"
        };
        return Err(Failure::usage(what)
            .with("begin", escape(begin))
            .with("end", escape(end))
            .next(match begin > end {
                true => "swap the two rows",
                false => "leave the row in, or choose another one",
            }));
    }
    let bound = |side: &Option<(Vec<u8>, bool)>| match side {
        None => Bound::Unbounded,
        Some((row, true)) => Bound::Excluded(row.clone()),
        Some((row, false)) => Bound::Included(row.clone()),
    };
    Ok(Range::rows((bound(&begin), bound(&end))))
}

/// A line of `--batch`: a row, or `BEGIN<tab>END`. Both are inclusive, and either may be empty.
fn batch_range(line: &[u8]) -> Result<Range> {
    let bytes = |text: &[u8]| {
        unescape(text)
            .map(std::borrow::Cow::into_owned)
            .map_err(|error| not_escaped(&error))
    };
    match memchr::memchr(b'\t', line) {
        None => Ok(Range::row(bytes(line)?)),
        Some(tab) => {
            if memchr::memchr(b'\t', &line[tab + 1..]).is_some() {
                return Err(
                    Failure::usage("a range has two rows, and the line more than one tab")
                        .next("write BEGIN<tab>END, and a tab within a row as \\x09"),
                );
            }
            let side = |text: &[u8]| match text {
                b"" => Ok(None),
                text => bytes(text).map(|row| Some((row, false))),
            };
            row_range(side(&line[..tab])?, side(&line[tab + 1..])?)
        }
    }
}

/// Rows from arguments, and from a file with one row per line.
pub(super) fn rows(given: Vec<Bytes>, file: Option<&Path>) -> Result<Vec<Vec<u8>>> {
    let mut rows: Vec<Vec<u8>> = given.into_iter().map(|row| row.0).collect();
    if let Some(file) = file {
        for (number, line) in lines(file)? {
            let row =
                unescape(&line).map_err(|error| at_line(not_escaped(&error), file, number))?;
            rows.push(row.into_owned());
        }
    }
    Ok(rows)
}

/// A line with a backslash that begins no escape.
fn not_escaped(error: &impl std::fmt::Display) -> Failure {
    Failure::usage(error.to_string()).next("write \\xNN for a byte, and \\\\ for a backslash")
}

fn at_line(failure: Failure, file: &Path, number: usize) -> Failure {
    failure.with("file", format!("{}:{number}", file.display()))
}

/// The longest line, in bytes: two rows, each byte escaped, a tab, and a carriage return. A device may have no end of line.
const LINE_MAX: usize = 2 * 4 * MAX_KEY_BYTES + 2;

/// The most bytes of a file of rows, which are all in memory.
const FILE_MAX: usize = 1 << 30;

/// The non-empty lines of a file or of stdin, with their numbers.
fn lines(file: &Path) -> Result<Vec<(usize, Vec<u8>)>> {
    let refuse = |error: io::Error| {
        Failure::io("cannot read the file", &error).with("file", file.display().to_string())
    };
    let mut input: Box<dyn BufRead> = if file == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(file).map_err(refuse)?))
    };
    let mut lines = Vec::new();
    let mut bytes = 0;
    for number in 1.. {
        let mut line = Vec::new();
        let mut limited = input.by_ref().take(LINE_MAX as u64 + 1);
        if limited.read_until(b'\n', &mut line).map_err(refuse)? == 0 {
            break;
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        if line.len() > LINE_MAX {
            let failure = Failure::outcome("a line is longer than two rows can be")
                .with("limit", format!("{LINE_MAX} bytes"))
                .next("give a text file with one row, or two with a tab between them, per line");
            return Err(at_line(failure, file, number));
        }
        bytes += line.len() + size_of::<(usize, Vec<u8>)>();
        if bytes > FILE_MAX {
            let failure = Failure::outcome("the file has more rows than are read at once")
                .with("limit", format!("{FILE_MAX} bytes"))
                .next("divide it into several files");
            return Err(at_line(failure, file, number));
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if !line.is_empty() {
            lines.push((number, line));
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_ends_are_inclusive_or_exclusive() {
        let at = |row: &str, out| Some((row.as_bytes().to_vec(), out));
        let range = row_range(at("b", false), at("d", false)).expect("valid");
        assert!(range.contains_row(b"b") && range.contains_row(b"d"));
        let range = row_range(at("b", true), at("d", true)).expect("valid");
        assert!(!range.contains_row(b"d") && range.contains_row(b"c"));
        assert!(row_range(at("d", false), at("b", false)).is_err());
        assert!(row_range(at("b", true), at("b", false)).is_err());
        assert!(row_range(at("b", false), at("b", false)).is_ok());
    }

    #[test]
    fn lines_end_with_the_file_and_endless_ones_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("rows");
        std::fs::write(&file, "a\r\n\nb\n\nc").expect("written");
        let found = lines(&file).expect("read");
        assert_eq!(
            found,
            [(1, b"a".to_vec()), (3, b"b".to_vec()), (5, b"c".to_vec())]
        );
        let longest = vec![b'r'; LINE_MAX];
        std::fs::write(&file, [b"a\n", longest.as_slice(), b"\nb"].concat()).expect("written");
        assert_eq!(lines(&file).expect("read").len(), 3);
        std::fs::write(&file, [b"a\n", longest.as_slice(), b"r\nb"].concat()).expect("written");
        let error = lines(&file).expect_err("too long").to_text("error");
        assert!(error.contains("rows:2"), "{error}");
        assert!(lines(Path::new("/dev/zero")).is_err());
    }

    #[test]
    fn a_batch_line_is_a_row_or_two_ends() {
        assert_eq!(
            batch_range(b"a\\xff").expect("valid"),
            Range::row(&b"a\xff"[..])
        );
        let range = batch_range(b"b\td").expect("valid");
        assert!(range.contains_row(b"d") && !range.contains_row(b"a"));
        assert!(batch_range(b"\td").expect("valid").contains_row(b"a"));
        assert!(batch_range(b"d\tb").is_err() && batch_range(b"\\q").is_err());
    }
}
