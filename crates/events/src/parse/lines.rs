//! Lines of bounded length.

use std::collections::VecDeque;
use std::io::BufRead;

use ostrakon_cell::{Error, ErrorKind, Result};

use super::formats::wide_encoding;

/// Bytes of the longest line.
pub(crate) const LINE_MAX: usize = 16 << 20;

/// A line that was appended to another.
struct Appended {
    /// Where the text before it ends, and where the line begins.
    before: usize,
    start: usize,
    /// Where the line before it ended in the input, and whether a carriage return stood there.
    position: u64,
    returned: bool,
}

/// A line that is read again.
struct Held {
    text: Vec<u8>,
    too_long: bool,
    returned: bool,
    /// Where it ends in the input.
    position: u64,
}

/// Reads lines without their ends.
pub struct Lines {
    input: Box<dyn BufRead + Send>,
    line: Vec<u8>,
    /// Whether a carriage return stood before the line feed that ended the line.
    returned: bool,
    appended: Vec<Appended>,
    /// Lines that are read again.
    held: VecDeque<Held>,
    number: u64,
    /// Bytes of the input up to the end of the line.
    position: u64,
    /// Bytes of the input before the line.
    begun: u64,
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
            returned: false,
            appended: Vec::new(),
            held: VecDeque::new(),
            number: 0,
            position: 0,
            begun: 0,
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
    /// The input cannot be read; it is UTF-16 or UTF-32 text.
    pub fn advance(&mut self) -> Result<bool> {
        self.line.clear();
        self.appended.clear();
        self.too_long = false;
        self.begun = self.position;
        let more = self.read()?;
        if self.is_start && self.number == 1 {
            if let Some(encoding) = wide_encoding(&self.line) {
                return Err(Error::invalid(format!(
                    "the log file is {encoding} text: convert it to UTF-8 with `iconv -f {encoding} -t UTF-8 FILE > NEW`"
                )));
            }
            if self.line.starts_with(b"\xef\xbb\xbf") {
                self.line.drain(..3);
            }
        }
        Ok(more)
    }

    /// Appends the next line to this one, with the bytes that end this one between them; `false` at the end.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn append(&mut self) -> Result<bool> {
        let (before, position, returned) = (self.line.len(), self.position, self.returned);
        let end: &[u8] = if returned { b"\r\n" } else { b"\n" };
        self.line.extend_from_slice(end);
        let start = self.line.len();
        let more = self.read()?;
        if more {
            self.appended.push(Appended {
                before,
                start,
                position,
                returned,
            });
        } else {
            self.line.truncate(before);
            self.returned = returned;
        }
        Ok(more)
    }

    /// The line that was read last.
    pub(super) fn last(&self) -> &[u8] {
        let start = self.appended.last().map_or(0, |line| line.start);
        self.line.get(start..).unwrap_or_default()
    }

    /// How many lines were appended.
    pub(super) fn appended(&self) -> usize {
        self.appended.len()
    }

    /// Puts the appended lines back, to be read again.
    pub(super) fn put_back(&mut self) {
        let mut too_long = self.too_long;
        while let Some(line) = self.appended.pop() {
            self.held.push_front(Held {
                text: self.line.get(line.start..).unwrap_or_default().to_vec(),
                too_long,
                returned: self.returned,
                position: self.position,
            });
            (self.position, self.returned) = (line.position, line.returned);
            // Only the line that was read last can be too long.
            too_long = false;
            self.line.truncate(line.before);
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

    /// The bytes of the input before the line, and before the lines that were appended to it.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.begun
    }

    /// The number of the line.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    fn read(&mut self) -> Result<bool> {
        if let Some(held) = self.held.pop_front() {
            self.line.extend_from_slice(&held.text);
            self.too_long |= held.too_long;
            (self.position, self.returned) = (held.position, held.returned);
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
        self.returned = self.line.len() > start && self.line.ends_with(b"\r");
        if self.returned {
            self.line.pop();
        }
        Ok(any)
    }
}
