//! Lines of bounded length.

use std::collections::VecDeque;
use std::io::BufRead;

use ostrakon_cell::{Error, ErrorKind, Result};

/// Bytes of the longest line.
pub(crate) const LINE_MAX: usize = 16 << 20;

/// Reads lines without their ends.
pub struct Lines {
    input: Box<dyn BufRead + Send>,
    line: Vec<u8>,
    /// Where the appended lines begin.
    starts: Vec<usize>,
    /// Where each appended line ended in the input, the first line before them.
    ends: Vec<u64>,
    /// Lines that are read again, whether they are too long, and where they end in the input.
    held: VecDeque<(Vec<u8>, bool, u64)>,
    number: u64,
    /// Bytes of the input up to the end of the line.
    position: u64,
    too_long: bool,
    /// Whether the input is the beginning of a text, which may be a byte order mark.
    is_start: bool,
}

impl Lines {
    /// The lines of `input`.
    #[must_use]
    pub fn new(input: Box<dyn BufRead + Send>) -> Self {
        Self {
            input,
            line: Vec::new(),
            starts: Vec::new(),
            ends: Vec::new(),
            held: VecDeque::new(),
            number: 0,
            position: 0,
            too_long: false,
            is_start: true,
        }
    }

    /// The lines of `input`, which is not the beginning of a text.
    pub(crate) fn after_start(input: Box<dyn BufRead + Send>) -> Self {
        Self {
            is_start: false,
            ..Self::new(input)
        }
    }

    /// Reads the next line; `false` at the end.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn advance(&mut self) -> Result<bool> {
        self.line.clear();
        self.starts.clear();
        self.ends.clear();
        self.too_long = false;
        let more = self.read()?;
        if self.is_start && self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf") {
            self.line.drain(..3);
        }
        Ok(more)
    }

    /// Appends the next line to this one, with a line feed between them; `false` at the end.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn append(&mut self) -> Result<bool> {
        let (length, before) = (self.line.len(), self.position);
        self.line.push(b'\n');
        let more = self.read()?;
        if more {
            self.starts.push(length + 1);
            self.ends.push(before);
        } else {
            self.line.truncate(length);
        }
        Ok(more)
    }

    /// The line that was read last.
    pub(super) fn last(&self) -> &[u8] {
        let start = self.starts.last().copied().unwrap_or(0);
        self.line.get(start..).unwrap_or_default()
    }

    /// How many lines were appended.
    pub(super) fn appended(&self) -> usize {
        self.starts.len()
    }

    /// Puts the appended lines back, to be read again.
    pub(super) fn put_back(&mut self) {
        let mut too_long = self.too_long;
        while let Some(start) = self.starts.pop() {
            let line = self.line.get(start..).unwrap_or_default().to_vec();
            self.held.push_front((line, too_long, self.position));
            self.position = self.ends.pop().unwrap_or_default();
            // Only the line that was read last can be too long.
            too_long = false;
            self.line.truncate(start.saturating_sub(1));
            self.number -= 1;
        }
        self.too_long = too_long;
    }

    /// The line; only its beginning if it is [too long](Self::is_too_long).
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.line
    }

    /// Whether the line is longer than 16 MiB.
    #[must_use]
    pub fn is_too_long(&self) -> bool {
        self.too_long
    }

    /// The bytes of the input up to the end of the line, with the byte that ends it.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The number of the line.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    fn read(&mut self) -> Result<bool> {
        if let Some((line, too_long, end)) = self.held.pop_front() {
            self.line.extend_from_slice(&line);
            self.too_long |= too_long;
            self.position = end;
            self.number += 1;
            return Ok(true);
        }
        let (mut any, start) = (false, self.line.len());
        loop {
            let found = self.input.fill_buf().map_err(|error| {
                Error::new(ErrorKind::Io, "the log file cannot be read")
                    .with("after line", self.number)
                    .with_source(error)
            })?;
            if found.is_empty() {
                break;
            }
            if !any {
                any = true;
                self.number += 1;
            }
            let end = memchr::memchr(b'\n', found);
            let part = found.get(..end.unwrap_or(found.len())).unwrap_or(found);
            let room = LINE_MAX.saturating_sub(self.line.len() - start);
            self.too_long |= part.len() > room;
            self.line
                .extend_from_slice(part.get(..room).unwrap_or(part));
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            self.position += used as u64;
            if end.is_some() {
                break;
            }
        }
        if self.line.len() > start && self.line.ends_with(b"\r") {
            self.line.pop();
        }
        Ok(any)
    }
}
