//! Text whose records are followed while it is read. A reader holds a whole record in memory, and takes the rest of a file
//! for one if a quote is not closed, so the size of records is limited before they come to it.

use std::io::{self, ErrorKind as IoKind, Read};
use std::path::{Path, PathBuf};

use datafusion::arrow::error::ArrowError;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use memchr::memchr_iter;
use ostrakon_cell::{Error, ErrorKind};

use super::lines::with_line;
use super::objects::Objects;
use super::quotes::Quotes;
use crate::files::kind::{Packing, open};
use crate::files::naming::shown;
use crate::files::relation::lost;

/// Bytes that are read at once.
pub(super) const CHUNK: usize = 256 << 10;

/// What the records of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Records {
    /// Lines of fields with a delimiter between them.
    Delimited(u8),
    /// Objects of JSON.
    Json,
}

#[derive(Debug)]
enum Follower {
    Quotes(Quotes),
    Objects(Objects),
}

impl Follower {
    fn read(&mut self, chunk: &[u8]) {
        match self {
            Self::Quotes(quotes) => quotes.read(chunk),
            Self::Objects(objects) => objects.read(chunk),
        }
    }

    fn started(&self) -> u64 {
        match self {
            Self::Quotes(quotes) => quotes.started(),
            Self::Objects(objects) => objects.started(),
        }
    }

    /// What a user looks at if the record that has not ended is too large.
    fn suspect(&self) -> u64 {
        match self {
            Self::Quotes(quotes) => quotes.suspect(),
            Self::Objects(objects) => objects.started(),
        }
    }

    fn unclosed(&self) -> Option<u64> {
        match self {
            Self::Quotes(quotes) => quotes.unclosed(),
            Self::Objects(_) => None,
        }
    }

    fn continued(&self) -> Option<u64> {
        match self {
            Self::Quotes(quotes) => quotes.continued(),
            Self::Objects(_) => None,
        }
    }
}

/// The mark of UTF-8 that some programs begin files with.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// The content of a file. The decoder of JSON does not know the mark, which is left out.
fn content(file: &Path, packing: Packing, records: Records) -> io::Result<Box<dyn Read + Send>> {
    let mut input = open(file, packing)?;
    if records != Records::Json {
        return Ok(input);
    }
    let mut first = Vec::new();
    input
        .by_ref()
        .take(MARK.len() as u64)
        .read_to_end(&mut first)?;
    if first == MARK {
        first.clear();
    }
    Ok(Box::new(io::Cursor::new(first).chain(input)))
}

/// A file that is followed.
pub(super) struct Followed {
    file: PathBuf,
    packing: Packing,
    input: Box<dyn Read + Send>,
    follower: Follower,
    /// The most bytes of a record.
    limit: usize,
    /// Number of bytes read.
    read: u64,
}

impl Followed {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn open(
        file: &Path,
        packing: Packing,
        records: Records,
        limit: usize,
    ) -> Result<Self> {
        let follower = match records {
            Records::Delimited(delimiter) => Follower::Quotes(Quotes::new(delimiter)),
            Records::Json => Follower::Objects(Objects::default()),
        };
        Ok(Self {
            file: file.to_path_buf(),
            packing,
            input: content(file, packing, records).map_err(|error| unreadable(error, packing))?,
            follower,
            limit,
            read: 0,
        })
    }

    /// Reads the next part into `chunk`, of which it is `length` bytes; none at the end. Returns `length`, and how many of
    /// these bytes stand before the end of the last record that has ended in it.
    ///
    /// # Errors
    /// A record is too large, text follows a closing quote, or the file cannot be read.
    pub(super) fn read(&mut self, chunk: &mut Vec<u8>) -> Result<(usize, usize)> {
        chunk.resize(CHUNK, 0);
        let length = loop {
            match self.input.read(chunk) {
                Ok(length) => break length,
                Err(error) if error.kind() == IoKind::Interrupted => {}
                Err(error) => return Err(unreadable(error, self.packing)),
            }
        };
        self.follower.read(chunk.get(..length).unwrap_or_default());
        let before = self.read;
        self.read += length as u64;
        let started = self.follower.started();
        if self.read - started > self.limit as u64 {
            return Err(self.too_large());
        }
        if let Some(place) = self.follower.continued() {
            return Err(self.about(
                place,
                "text follows the closing quote of a field: a quote within quotes is written twice",
            ));
        }
        let ended = started.saturating_sub(before);
        Ok((length, usize::try_from(ended).unwrap_or_default()))
    }

    /// Whether all quotes are closed at the end of a file, and it has as many bytes as when the query was planned.
    ///
    /// # Errors
    /// A quote is open, bytes are missing, or the file cannot be read.
    pub(super) fn check_end(&self, bytes: u64) -> Result<()> {
        // Of JSON, a mark was left out.
        let left_out = match self.follower {
            Follower::Quotes(_) => 0,
            Follower::Objects(_) => MARK.len() as u64,
        };
        // Compressed content that is cut off within a part of it is found by the decoder.
        if self.packing == Packing::None && self.read + left_out < bytes {
            return Err(lost(
                &self.file,
                "the file became shorter while it was read: run the query again once the file is complete",
            ));
        }
        self.check_quotes()
    }

    fn check_quotes(&self) -> Result<()> {
        match self.follower.unclosed() {
            Some(place) => Err(self.about(
                place,
                "a quote is not closed, so that the rest of the file would be one value: close it, or double it if it \
                 belongs to a value in quotes",
            )),
            None => Ok(()),
        }
    }

    /// The error that a reader's error is due to: of a quote that is not closed, if the rest of the file has one. Else it
    /// has the line of its record.
    pub(super) fn explain(&mut self, error: ArrowError) -> DataFusionError {
        let Follower::Quotes(quotes) = &self.follower else {
            return error.into();
        };
        let delimiter = quotes.delimiter();
        let error = with_line(error, &self.file, self.packing, delimiter).into();
        let mut chunk = Vec::new();
        loop {
            match self.read(&mut chunk) {
                Ok((0, _)) => return self.check_quotes().err().unwrap_or(error),
                Ok(_) => {}
                // Only another fault of quotes explains the first error.
                Err(DataFusionError::External(other)) if other.is::<Error>() => {
                    return DataFusionError::External(other);
                }
                Err(_) => return error,
            }
        }
    }

    pub(super) fn too_many_columns(&self) -> DataFusionError {
        self.about(
            0,
            "the first line has more columns than the memory of the query allows: give the query more memory",
        )
    }

    pub(super) fn too_large(&self) -> DataFusionError {
        let what = match self.follower {
            Follower::Quotes(_) => {
                "a record has more bytes than the memory of the query allows: if a quote in this line is not closed, close \
                 it, or double it if it belongs to a value in quotes; else give the query more memory"
            }
            Follower::Objects(_) => {
                "a record has more bytes than the memory of the query allows: give the query more memory"
            }
        };
        self.about(self.follower.suspect(), what)
    }

    /// An error about the line of a place.
    fn about(&self, place: u64, what: &'static str) -> DataFusionError {
        let line = match line_at(&self.file, self.packing, place) {
            Ok(line) => line,
            Err(error) => return unreadable(error, self.packing),
        };
        let error = Error::new(ErrorKind::InvalidArgument, what)
            .with("file", shown(&self.file))
            .with("line", line)
            .with("limit", self.limit)
            .with("data", "a file");
        DataFusionError::External(Box::new(error))
    }
}

/// The line, counted from one, of a place in the content of a file.
fn line_at(file: &Path, packing: Packing, place: u64) -> io::Result<u64> {
    let mut from = open(file, packing)?.take(place);
    let (mut line, mut chunk) = (1, vec![0; CHUNK]);
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return Ok(line),
            Ok(length) => {
                let read = chunk.get(..length).unwrap_or_default();
                line += memchr_iter(b'\n', read).count() as u64;
            }
            Err(error) if error.kind() == IoKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// An error of reading. What is not one of the system is about the compressed content.
fn unreadable(error: io::Error, packing: Packing) -> DataFusionError {
    match packing {
        Packing::Gzip | Packing::Zstd if error.raw_os_error().is_none() => {
            DataFusionError::Execution(format!("{DAMAGED}: {error}"))
        }
        _ => error.into(),
    }
}

/// What the message of an error of decompression begins with.
pub(in crate::files) const DAMAGED: &str = "the compressed content is damaged or incomplete";
