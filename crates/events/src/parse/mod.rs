//! Log files: lines become records.
//!
//! Values are kept as bytes, whether they are valid UTF-8 or not. A line that cannot be read is rejected with the
//! reason, and the next one is read. Memory is bounded by the longest line, at most 16 MiB, or the longest record with
//! quotes, at most 4 MiB and another line.

mod csv;
mod dpkg;
mod formats;
mod json;
mod lines;
mod lookup;
mod renamed;
mod squid;
mod syslog;
#[cfg(test)]
mod tests;
mod web;
mod zeek;

use hashbrown::HashMap;
use ostrakon_cell::{Error, Result};

use crate::record::Record;
use crate::value::FieldType;

pub(crate) use formats::open_lines;
pub use formats::{LogFormat, detect, open_log, unpack, wide_encoding};
pub(crate) use lines::LINE_MAX;
pub use lines::Lines;
pub use lookup::{LookupTable, enrich};
pub use renamed::rename_fields;
pub use zeek::Directives;

/// Reads records one after another.
pub trait RecordSource: Send {
    /// Reads the next record into `record`.
    ///
    /// # Errors
    /// The input cannot be read, or its head is unusable.
    fn next(&mut self, record: &mut Record) -> Result<Step>;

    /// The names of fields; a record refers to them by position. They only grow.
    fn names(&self) -> &[String];

    /// The types of the fields that the file itself declares, by position.
    fn kinds(&self) -> &[Option<FieldType>] {
        &[]
    }

    /// The number of the line read last.
    fn line(&self) -> u64;

    /// The bytes of the line read last, for a file of rejects.
    fn text(&self) -> &[u8];

    /// The bytes of the input up to the end of what was read last; 0 if the source does not know.
    fn position(&self) -> u64 {
        0
    }

    /// The bytes of the input before what was read last; 0 if the source does not know.
    fn start(&self) -> u64 {
        0
    }

    /// The bytes and lines of the input up to the last line that says how to read the others.
    fn head(&self) -> (usize, u64) {
        (0, 0)
    }

    /// Whether the line that was rejected last may be the beginning of a record that goes on after the end of the input.
    fn is_unfinished(&self) -> bool {
        false
    }
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A record.
    Record,
    /// A line that is not a record, and why.
    Rejected(String),
    /// The end of the input.
    End,
}

/// Reads one line of a format.
trait LineParser: Send {
    /// Adds the fields of `line` to `record`; `false` if the line holds no record.
    fn parse(
        &mut self,
        line: &[u8],
        names: &mut Names,
        record: &mut Record,
    ) -> Result<bool, String>;

    /// Whether the line that says how to read the others is still to be read. Without it there are no records.
    fn lacks_head(&self) -> bool {
        false
    }

    /// Whether a quote is open at the end of a line; `open` tells whether one was at its beginning.
    fn quotes(&self, line: &[u8], open: bool) -> Quotes {
        let _ = (line, open);
        Quotes::Closed
    }
}

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    Closed,
    /// The record goes on in the next line.
    Open,
    /// Text follows a closing quote. If an earlier line opened it, the line does not belong to that record.
    Wrong,
}

/// Bounds of a record over several lines.
const RECORD_LINES: usize = 1000;
const RECORD_BYTES: usize = 4 << 20;

const HEADER_UNCLOSED: &str =
    "an opening quote in the header is not closed: close it, or remove it";
const UNCLOSED: &str = "an opening quote is not closed within the limits of a record (1000 lines, 4 MiB) or before the end of the file";
const TEXT_AFTER_QUOTE: &str =
    "text follows the closing quote of a field; a quote within quotes is written twice";
const NO_RECORD: &str =
    "an opening quote is not closed on its line, and with the next lines it makes no record";

/// The names of fields, and the types that the file declares.
#[derive(Default)]
struct Names {
    names: Vec<String>,
    positions: HashMap<String, u32>,
    kinds: Vec<Option<FieldType>>,
}

impl Names {
    fn of(names: &[&str]) -> Self {
        let mut all = Self::default();
        for name in names {
            all.position(name);
        }
        all
    }

    /// The position of a name, which is added if it is new.
    fn position(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.positions.get(name) {
            return known;
        }
        let position = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.positions.insert(name.to_owned(), position);
        position
    }
}

/// Reads lines with a parser.
struct LineSource<P> {
    lines: Lines,
    parser: P,
    names: Names,
    /// The input has ended within quotes.
    unfinished: bool,
    /// The input has ended within quotes of the header.
    headless: Option<Error>,
    head: (usize, u64),
}

impl<P: LineParser> LineSource<P> {
    fn new(lines: Lines, parser: P, names: Names) -> Self {
        Self {
            lines,
            parser,
            names,
            unfinished: false,
            headless: None,
            head: (0, 0),
        }
    }

    /// Appends lines until all quotes are closed, or says why they make no record.
    fn complete(&mut self) -> Result<Option<&'static str>> {
        let mut quotes = self.parser.quotes(self.lines.text(), false);
        while quotes == Quotes::Open {
            let is_full =
                self.lines.appended() >= RECORD_LINES || self.lines.text().len() > RECORD_BYTES;
            if is_full {
                return Ok(Some(UNCLOSED));
            }
            self.unfinished = !self.lines.append()?;
            if self.unfinished || self.lines.is_too_long() {
                return Ok(Some(UNCLOSED));
            }
            quotes = self.parser.quotes(self.lines.last(), true);
        }
        Ok(
            (quotes == Quotes::Wrong).then_some(match self.lines.appended() {
                0 => TEXT_AFTER_QUOTE,
                _ => NO_RECORD,
            }),
        )
    }
}

impl<P: LineParser> RecordSource for LineSource<P> {
    fn next(&mut self, record: &mut Record) -> Result<Step> {
        if let Some(error) = self.headless.take() {
            return Err(error);
        }
        self.unfinished = false;
        loop {
            record.clear();
            if !self.lines.advance()? {
                return Ok(Step::End);
            }
            if self.lines.is_too_long() {
                return Ok(Step::Rejected("the line is longer than 16 MiB".into()));
            }
            // If a quote is opened by mistake, only its line is lost.
            if let Some(reason) = self.complete()? {
                self.lines.put_back();
                if self.parser.lacks_head() {
                    // The next line is a record and no header. The rest of a header may follow in a text that grows:
                    // its reader does not ask for more.
                    let reason = match reason {
                        TEXT_AFTER_QUOTE => reason,
                        _ => HEADER_UNCLOSED,
                    };
                    let error = Error::invalid(reason).with("line", self.lines.number());
                    if !self.unfinished {
                        return Err(error);
                    }
                    self.headless = Some(error);
                }
                return Ok(Step::Rejected(reason.into()));
            }
            if self.lines.text().is_empty() {
                continue;
            }
            match self
                .parser
                .parse(self.lines.text(), &mut self.names, record)
            {
                Ok(true) => return Ok(Step::Record),
                Ok(false) => self.head = (self.lines.position() as usize, self.lines.number()),
                Err(_) if self.lines.appended() > 0 => {
                    self.lines.put_back();
                    return Ok(Step::Rejected(NO_RECORD.into()));
                }
                // The next line is a record and no header.
                Err(reason) if self.parser.lacks_head() => {
                    return Err(Error::invalid(reason).with("line", self.lines.number()));
                }
                Err(reason) => return Ok(Step::Rejected(reason)),
            }
        }
    }

    fn names(&self) -> &[String] {
        &self.names.names
    }

    fn kinds(&self) -> &[Option<FieldType>] {
        &self.names.kinds
    }

    fn line(&self) -> u64 {
        self.lines.number()
    }

    fn text(&self) -> &[u8] {
        self.lines.text()
    }

    fn position(&self) -> u64 {
        self.lines.position()
    }

    fn start(&self) -> u64 {
        self.lines.start()
    }

    fn head(&self) -> (usize, u64) {
        self.head
    }

    fn is_unfinished(&self) -> bool {
        self.unfinished
    }
}
