//! Records of delimited text are limited. The reader holds a whole record in memory, and takes the rest of a file for one
//! if a quote is not closed: so another one follows the quotes ahead of it.

use std::fs::File;
use std::io::{ErrorKind as IoKind, Read};
use std::path::{Path, PathBuf};

use datafusion::common::Result;
use datafusion::error::DataFusionError;
use ostrakon_cell::{Error, ErrorKind};
use tokio::task::spawn_blocking;

use super::naming::shown;
use super::quotes::{CHUNK, Quotes, line_at};

/// Files that are followed ahead of their reader.
#[derive(Debug)]
pub(super) struct Ahead {
    delimiter: u8,
    limit: u64,
    /// The files that were not begun, the last one first.
    left: Vec<PathBuf>,
    current: Option<(PathBuf, File, Quotes)>,
    /// Records of the files that have ended.
    ended: u64,
    /// Records that were asked for.
    wanted: u64,
}

impl Ahead {
    pub(super) fn new(mut files: Vec<PathBuf>, delimiter: u8, limit: usize) -> Self {
        // Each has a header, and may be begun while the one before ends.
        let wanted = 2 + files.len() as u64;
        files.reverse();
        Self {
            delimiter,
            limit: limit as u64,
            left: files,
            current: None,
            ended: 0,
            wanted,
        }
    }

    /// After some more records.
    ///
    /// # Errors
    /// One of them is too large, or a file cannot be read.
    pub(super) async fn advanced(self, records: usize) -> Result<Self> {
        if self.is_done() {
            return Ok(self);
        }
        spawn_blocking(move || self.advance(records))
            .await
            .map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?
    }

    fn is_done(&self) -> bool {
        self.current.is_none() && self.left.is_empty()
    }

    /// As [`advanced`](Self::advanced), on this thread.
    ///
    /// # Errors
    /// As there.
    pub(super) fn advance(mut self, records: usize) -> Result<Self> {
        self.wanted += records as u64;
        let mut chunk = vec![0; CHUNK];
        loop {
            let (path, mut file, mut quotes) = match self.current.take() {
                Some(current) => current,
                None => match self.left.pop() {
                    Some(path) => {
                        let file = File::open(&path)?;
                        (path, file, Quotes::new(self.delimiter))
                    }
                    None => return Ok(self),
                },
            };
            if self.ended + quotes.records() >= self.wanted {
                self.current = Some((path, file, quotes));
                return Ok(self);
            }
            match file.read(&mut chunk) {
                Ok(0) => {
                    self.ended += quotes.records() + 1;
                    continue;
                }
                Ok(length) => quotes.read(chunk.get(..length).unwrap_or_default()),
                Err(error) if error.kind() == IoKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
            let (bytes, place) = quotes.unended();
            if bytes > self.limit {
                return Err(self.too_large(&path, place));
            }
            self.current = Some((path, file, quotes));
        }
    }

    fn too_large(&self, file: &Path, place: u64) -> DataFusionError {
        let line = match line_at(file, place) {
            Ok(line) => line,
            Err(error) => return error.into(),
        };
        let error = Error::new(
            ErrorKind::InvalidArgument,
            "a record has more bytes than the memory of the query allows: if a quote in this line is not closed, close \
             it, or double it if it belongs to a value in quotes; else give the query more memory",
        );
        let error = error.with("file", shown(file)).with("line", line);
        let error = error.with("limit", self.limit).with("data", "a file");
        DataFusionError::External(Box::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_followed_as_far_as_they_are_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let limit = 3 * CHUNK;
        let long = "y".repeat(2 * limit);
        let text = format!("a,b\n{}\"{long}\",2\n", "1,2\n\n".repeat(100_000));
        let files = ["a.csv", "b.csv"].map(|name| folder.path().join(name));
        for file in &files {
            std::fs::write(file, &text).unwrap();
        }
        let ahead = || Ahead::new(files.to_vec(), b',', limit);
        let ahead_of_few = ahead().advance(10).unwrap();
        assert!(!ahead_of_few.is_done());
        let error = ahead().advance(200_000).unwrap_err().to_string();
        for said in ["a record has more bytes", "a.csv", "200002"] {
            assert!(error.contains(said), "{error}");
        }
        // The record ends, but after too many bytes.
        let ahead = Ahead::new(files.to_vec(), b',', 3 * limit);
        assert!(ahead.advance(usize::MAX / 2).unwrap().is_done());
    }

    #[test]
    fn a_quote_that_is_not_closed_makes_a_record_too_large() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.csv");
        let text = format!("a,b\r\n1,2\r\n3,\"4\r\n{}", "5,6\r\n".repeat(CHUNK));
        std::fs::write(&file, text).unwrap();
        let ahead = Ahead::new(vec![file], b',', CHUNK);
        let error = ahead.advance(1000).unwrap_err().to_string();
        assert!(error.contains("line: 3"), "{error}");
    }
}
