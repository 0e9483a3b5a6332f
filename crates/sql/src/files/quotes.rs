//! Quotes of delimited text. The reader takes the rest of a file for a field whose quote is not closed.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::datasource::physical_plan::{CsvSource, FileScanConfig};
use datafusion::error::DataFusionError;
use futures_util::stream::try_unfold;
use futures_util::{Stream, StreamExt, TryStreamExt};
use memchr::{memchr, memchr_iter, memchr2_iter};
use ostrakon_cell::{Error, ErrorKind};
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

use super::ahead::Ahead;
use super::naming::{path_of, shown};

const QUOTE: u8 = b'"';

/// What a file of Unicode text may begin with, which the reader leaves out.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Bytes that are read at once.
pub(super) const CHUNK: usize = 256 << 10;

/// The delimited files of a scan.
#[derive(Debug, Clone)]
pub(super) struct Delimited {
    delimiter: u8,
    /// Those of each partition.
    files: Arc<[Vec<PathBuf>]>,
    /// No more rows are wanted of each partition.
    limit: usize,
    checked: Arc<OnceCell<()>>,
}

impl Delimited {
    /// `None` if the files have another format.
    pub(super) fn of(scan: &FileScanConfig) -> Option<Self> {
        let source = scan.file_source().downcast_ref::<CsvSource>()?;
        let groups = scan.file_groups.iter();
        let files = groups.map(|group| group.iter().map(path_of).collect());
        Some(Self {
            delimiter: source.delimiter(),
            files: files.collect(),
            limit: scan.limit.unwrap_or(usize::MAX),
            checked: Arc::default(),
        })
    }

    /// Follows the records of a partition ahead of the reader, so that none is larger than `limit` bytes.
    pub(super) fn ahead(&self, partition: usize, limit: usize) -> Ahead {
        let files = self.files.get(partition).cloned().unwrap_or_default();
        Ahead::new(files, self.delimiter, limit)
    }

    /// The rows of a partition, in batches of at most `batch` rows, with an error before the last ones if a quote of the
    /// files is not closed: it may be in them, or be why they could not be read. What a LIMIT leaves out is not checked.
    pub(super) fn rows(
        self,
        rows: impl Stream<Item = Result<RecordBatch>> + Send + Unpin,
        ahead: Ahead,
        batch: usize,
    ) -> impl Stream<Item = Result<RecordBatch>> + Send {
        let start = (rows.fuse(), None, self.limit, self, ahead);
        try_unfold(
            start,
            move |(mut rows, mut held, mut left, files, mut ahead)| async move {
                loop {
                    ahead = ahead.advanced(batch).await?;
                    match rows.try_next().await {
                        Ok(Some(batch)) => {
                            left = left.saturating_sub(batch.num_rows());
                            if let Some(before) = held.replace(batch) {
                                return Ok(Some((before, (rows, held, left, files, ahead))));
                            }
                        }
                        Ok(None) => {
                            if left > 0 {
                                files.check().await?;
                            }
                            let rest = |last| (last, (rows, None, left, files, ahead));
                            return Ok(held.take().map(rest));
                        }
                        Err(error) => {
                            files.check().await?;
                            return Err(error);
                        }
                    }
                }
            },
        )
    }

    /// Whether the files close their quotes.
    async fn check(&self) -> Result<()> {
        let check = || async {
            let (files, delimiter) = (self.files.clone(), self.delimiter);
            let check = move || {
                let mut files = files.iter().flatten();
                files.try_for_each(|file| closed(file, delimiter))
            };
            spawn_blocking(check)
                .await
                .map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?
        };
        self.checked.get_or_try_init(check).await?;
        Ok(())
    }
}

fn closed(file: &Path, delimiter: u8) -> Result<()> {
    let Some(line) = unclosed_line(file, delimiter)? else {
        return Ok(());
    };
    let error = Error::new(
        ErrorKind::InvalidArgument,
        "a quote is not closed, so that the rest of the file would be one value: close it, or double it if it belongs \
         to a value in quotes",
    );
    let error = error.with("file", shown(file)).with("line", line);
    Err(DataFusionError::External(Box::new(
        error.with("data", "a file"),
    )))
}

/// The line, counted from one, of the opening quote that the file does not close.
///
/// # Errors
/// The file cannot be read.
pub(super) fn unclosed_line(file: &Path, delimiter: u8) -> io::Result<Option<u64>> {
    let mut quotes = Quotes::new(delimiter);
    each_chunk(File::open(file)?, |chunk| quotes.read(chunk))?;
    let Some(opened) = quotes.unclosed() else {
        return Ok(None);
    };
    line_at(file, opened).map(Some)
}

/// The line, counted from one, of a place in a file.
///
/// # Errors
/// The file cannot be read.
pub(super) fn line_at(file: &Path, place: u64) -> io::Result<u64> {
    let mut line = 1;
    each_chunk(File::open(file)?.take(place), |chunk| {
        line += memchr_iter(b'\n', chunk).count() as u64;
    })?;
    Ok(line)
}

fn each_chunk(mut from: impl Read, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(length) => take(chunk.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Plain,
    Quoted,
    /// After a quote that ends the field, unless another one follows.
    Ended,
}

/// Follows the quotes of a text as its reader does: a quote at the start of a field opens it, others are text.
#[derive(Debug)]
pub(super) struct Quotes {
    delimiter: u8,
    state: State,
    /// The last byte of what was read.
    before: u8,
    /// Number of bytes read.
    read: u64,
    /// Where the last field with quotes begins.
    opened: u64,
    /// Where the record begins.
    started: u64,
    /// Records that have ended; the reader leaves lines without content out.
    records: u64,
}

impl Quotes {
    pub(super) fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            state: State::Plain,
            before: b'\n',
            read: 0,
            opened: 0,
            started: 0,
            records: 0,
        }
    }

    /// Records that have ended.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// Bytes of the record that has not ended, and where it or its last field with quotes begins.
    pub(super) fn unended(&self) -> (u64, u64) {
        (self.read - self.started, self.opened.max(self.started))
    }

    /// Where the quote is that was not closed.
    fn unclosed(&self) -> Option<u64> {
        (self.state == State::Quoted).then_some(self.opened)
    }

    pub(super) fn read(&mut self, chunk: &[u8]) {
        let is_first = self.read == 0 && chunk.starts_with(MARK);
        let mut at = if is_first { MARK.len() } else { 0 };
        while let Some(rest) = chunk.get(at..).filter(|rest| !rest.is_empty()) {
            if self.state == State::Ended {
                let is_doubled = rest.first() == Some(&QUOTE);
                self.state = if is_doubled {
                    State::Quoted
                } else {
                    State::Plain
                };
                at += usize::from(is_doubled);
                continue;
            }
            let found = memchr(QUOTE, rest);
            if self.state == State::Plain {
                let plain = rest.get(..found.unwrap_or(rest.len()));
                self.end_records(plain.unwrap_or_default(), self.read + at as u64);
            }
            let Some(found) = found else {
                break;
            };
            let place = at + found;
            if self.state == State::Quoted {
                self.state = State::Ended;
            } else if self.begins_field(chunk, place, is_first) {
                self.state = State::Quoted;
                self.opened = self.read + place as u64;
            }
            at = place + 1;
        }
        self.before = chunk.last().copied().unwrap_or(self.before);
        self.read += chunk.len() as u64;
    }

    /// Finds ends of records in a part of the text that is not in quotes, and begins at `place`.
    fn end_records(&mut self, part: &[u8], place: u64) {
        for end in memchr2_iter(b'\n', b'\r', part) {
            let end = place + end as u64;
            self.records += u64::from(end > self.started);
            self.started = end + 1;
        }
    }

    fn begins_field(&self, chunk: &[u8], place: usize, is_first: bool) -> bool {
        let before = match place.checked_sub(1).and_then(|before| chunk.get(before)) {
            Some(_) if is_first && place == MARK.len() => b'\n',
            Some(before) => *before,
            None => self.before,
        };
        before == self.delimiter || matches!(before, b'\n' | b'\r')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the reader of the same rules is inside of quotes at the end of a text: then a line end ends no record.
    fn expected(text: &[u8]) -> bool {
        let mut reader = csv_core::Reader::new();
        let (mut output, mut ends) = ([0; 1024], [0; 64]);
        let mut rest = text.to_vec();
        rest.extend_from_slice(b"\nx");
        let mut rest = rest.as_slice();
        let mut consumed = 0;
        loop {
            let (result, read, ..) = reader.read_record(rest, &mut output, &mut ends);
            rest = &rest[read..];
            consumed += read;
            match result {
                csv_core::ReadRecordResult::Record => {}
                _ => break,
            }
        }
        assert_eq!(consumed, text.len() + 2);
        // The last letter is a record of its own, unless it is in quotes.
        let (result, ..) = reader.read_record(b"\n", &mut output, &mut ends);
        result != csv_core::ReadRecordResult::Record
    }

    #[test]
    fn quotes_are_followed_as_the_reader_does() {
        let letters = [QUOTE, b',', b'\n', b'a', b'\r'];
        for length in 0..7_u32 {
            for number in 0..letters.len().pow(length) {
                let mut rest = number;
                let text: Vec<u8> = (0..length)
                    .map(|_| {
                        let letter = letters[rest % letters.len()];
                        rest /= letters.len();
                        letter
                    })
                    .collect();
                for cut in 0..=text.len() {
                    let mut quotes = Quotes::new(b',');
                    quotes.read(&text[..cut]);
                    quotes.read(&text[cut..]);
                    let shown = String::from_utf8_lossy(&text);
                    assert_eq!(
                        quotes.unclosed().is_some(),
                        expected(&text),
                        "{shown:?} {cut}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_line_is_that_of_the_opening_quote() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.csv");
        for (text, line) in [
            ("a,b\n1,\"x\n2,y\n", Some(2)),
            ("a,b\n\"1\n\",\"x\"\"\n2,y\n", Some(3)),
            ("\u{feff}\"a\",b\n1,2\n", None),
            ("\u{feff}\"a,b\n1,2\n", Some(1)),
            ("a\tb\n1,\"x\n", None),
            ("", None),
        ] {
            std::fs::write(&file, text).unwrap();
            let delimiter = if text.contains('\t') { b'\t' } else { b',' };
            assert_eq!(unclosed_line(&file, delimiter).unwrap(), line, "{text:?}");
        }
    }
}
