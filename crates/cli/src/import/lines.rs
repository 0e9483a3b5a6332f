//! Numbered lines of a file, each of bounded length.

use std::collections::VecDeque;
use std::io::{self, BufRead};

use super::record::Record;
use crate::failure::{Failure, Result};

/// Longest line, in bytes. Longer lines are rejected, and skipped without being kept in memory.
pub(crate) const MAX_LINE_BYTES: usize = 64 << 20;

/// A line with its number from 1.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) text: Vec<u8>,
    pub(super) end: LineEnd,
}

/// The bytes after a line.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnd {
    /// None: the file ends.
    #[default]
    Nothing,
    Feed,
    ReturnAndFeed,
}

impl LineEnd {
    /// The bytes with which a field that goes on in the next line has it.
    pub(super) fn within(self) -> &'static [u8] {
        match self {
            Self::ReturnAndFeed => b"\r\n",
            Self::Feed | Self::Nothing => b"\n",
        }
    }
}

/// What [`Lines::next`] found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Got {
    Line,
    /// The line is too long; only its number is known.
    TooLong,
    End,
}

/// Reads lines. Line ends (`\n`, `\r\n`) and a byte order mark at the beginning are removed.
pub(super) struct Lines {
    input: Box<dyn BufRead>,
    number: u64,
    /// Lines that were put back, to be read again.
    again: VecDeque<Line>,
}

impl Lines {
    pub(super) fn new(input: Box<dyn BufRead>) -> Self {
        Self {
            input,
            number: 0,
            again: VecDeque::new(),
        }
    }

    /// The next line, in place of what `line` holds.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn next(&mut self, line: &mut Line) -> Result<Got> {
        self.read(line)
            .map_err(|error| Failure::io("cannot read the file", &error))
    }

    fn read(&mut self, line: &mut Line) -> io::Result<Got> {
        if let Some(again) = self.again.pop_front() {
            *line = again;
            return Ok(Got::Line);
        }
        line.text.clear();
        let limit = MAX_LINE_BYTES as u64 + 2;
        let read = io::Read::take(&mut *self.input, limit).read_until(b'\n', &mut line.text)?;
        if read == 0 {
            return Ok(Got::End);
        }
        self.number += 1;
        line.number = self.number;
        line.end = LineEnd::Nothing;
        if line.text.last() == Some(&b'\n') {
            line.text.pop();
            line.end = LineEnd::Feed;
            if line.text.last() == Some(&b'\r') {
                line.text.pop();
                line.end = LineEnd::ReturnAndFeed;
            }
        } else if read as u64 == limit {
            self.skip_line()?;
            line.text = Vec::new();
            return Ok(Got::TooLong);
        }
        if self.number == 1 && line.text.starts_with(b"\xef\xbb\xbf") {
            line.text.drain(..3);
        }
        Ok(Got::Line)
    }

    /// Puts lines back: they are read again, in this order, before the rest of the file.
    pub(super) fn put_back(&mut self, lines: impl DoubleEndedIterator<Item = Line>) {
        for line in lines.rev() {
            self.again.push_front(line);
        }
    }

    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                return Ok(());
            }
            let end = memchr::memchr(b'\n', buffer);
            let used = end.map_or(buffer.len(), |end| end + 1);
            self.input.consume(used);
            if end.is_some() {
                return Ok(());
            }
        }
    }
}

/// Reads the next line into a record; `None` when the record is ready for its fields.
pub(super) fn line_into(
    lines: &mut Lines,
    line: &mut Line,
    record: &mut Record,
) -> Result<Option<super::record::Step>> {
    use super::record::Step;
    Ok(match lines.next(line)? {
        Got::End => Some(Step::End),
        Got::TooLong => {
            record.begin(line.number, &[]);
            Some(Step::Reject(too_long()))
        }
        Got::Line => {
            record.begin(line.number, &line.text);
            None
        }
    })
}

pub(super) fn too_long() -> String {
    format!("the line is longer than {} MiB", MAX_LINE_BYTES >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lose_their_ends_and_can_come_again() {
        let text: &[u8] = b"\xef\xbb\xbfa\r\nb\n\nlast";
        let mut lines = Lines::new(Box::new(text));
        let mut line = Line::default();
        let mut seen = Vec::new();
        while lines.next(&mut line).expect("memory") == Got::Line {
            seen.push((
                line.number,
                String::from_utf8_lossy(&line.text).into_owned(),
            ));
            if line.number == 2 && seen.len() == 2 {
                lines.put_back([std::mem::take(&mut line)].into_iter());
            }
        }
        let expected = [(1, "a"), (2, "b"), (2, "b"), (3, ""), (4, "last")];
        assert_eq!(
            seen,
            expected.map(|(number, text)| (number, text.to_owned()))
        );
    }

    #[test]
    fn a_line_without_end_is_passed_over_in_bounded_memory() {
        let long = vec![b'x'; MAX_LINE_BYTES + 100];
        let text = [&long[..], b"\nshort\n"].concat();
        let mut lines = Lines::new(Box::new(io::Cursor::new(text)));
        let mut line = Line::default();
        assert_eq!(lines.next(&mut line).expect("memory"), Got::TooLong);
        assert_eq!(line.text.capacity(), 0);
        assert_eq!(lines.next(&mut line).expect("memory"), Got::Line);
        assert_eq!((line.number, &line.text[..]), (2, &b"short"[..]));
    }
}
