//! Log files as events, read by several threads.
//!
//! The text is cut into parts at the ends of lines. Threads read them and make events, and the parts come back in the order
//! of the text. The result is that of reading the text line by line:
//!
//! * Lines that say how to read the others (of CSV, TSV and Zeek) are read again before each part.
//! * A record over several lines may be cut. Then the part ends before it, and the rest is read again with the next part.
//! * Names of fields that cannot be told apart are found by comparing the names of each part with those of the parts before
//!   it. If there are such, the part is read again.

mod chunks;
mod reading;
mod workers;

use std::collections::VecDeque;
use std::io::BufRead;
use std::sync::Arc;

use ostrakon_cell::Result;

use super::Ingest;
use super::columns::{Columns, SourceNames};
use super::origin::source_of_text;
use super::part::Part;
use crate::parse::{
    Lines, LogFormat, LookupTable, RecordSource, enrich, open_lines, rename_fields,
};

use chunks::{Chunk, Chunks};
use reading::{Limits, Read, read};
use workers::Workers;

/// The most bytes of parts that are read, or wait to be read.
const UNDER_WAY_BYTES: usize = 16 << 20;

/// How a log file is read.
#[derive(Clone)]
pub struct LogText {
    /// The format.
    pub format: LogFormat,
    /// See [`open_log`](crate::open_log).
    pub reference: i64,
    /// Other names for fields: see [`rename_fields`].
    pub renamed: Vec<(String, String)>,
    /// Tables that add fields: see [`enrich`].
    pub tables: Vec<Arc<LookupTable>>,
    /// Where the text stands in its source, if it is not all of it.
    pub rest: Option<LogRest>,
    /// Whether the text may go on after its end: a record whose end is missing is then left, and not rejected.
    pub grows: bool,
}

/// A text is the rest of a longer one. Types that [keep equal records](crate::EqualRecords::Keep) tell them apart by their
/// place in that.
#[derive(Debug, Clone)]
pub struct LogRest {
    /// The first [`BEGINNING_BYTES`](crate::BEGINNING_BYTES) of the longer text, or all of it.
    pub beginning: Vec<u8>,
    /// Where the rest begins in the longer text.
    pub start: u64,
    /// The bytes of the text before the rest: lines of the beginning that say how to read others.
    pub head: u64,
}

impl LogText {
    /// Reads the records one by one.
    #[must_use]
    pub fn open(&self, input: Box<dyn BufRead + Send>) -> Box<dyn RecordSource> {
        self.open_lines(Lines::new(input))
    }

    /// The place in the source of what is at this place of the text.
    fn place(&self, at: u64) -> u64 {
        match &self.rest {
            Some(rest) => rest.start + at.saturating_sub(rest.head),
            None => at,
        }
    }

    fn open_lines(&self, lines: Lines) -> Box<dyn RecordSource> {
        let source = open_lines(self.format, lines, self.reference);
        enrich(rename_fields(source, &self.renamed), &self.tables)
    }
}

/// A part of a log file: its events, and its lines that are none.
pub struct LogPart {
    parts: Vec<Part>,
    /// The lines that are no events, in their order.
    pub rejected: Vec<RejectedLine>,
    /// The bytes of the text up to the end of this part.
    pub position: u64,
}

impl LogPart {
    /// How many events it has.
    #[must_use]
    pub fn events(&self) -> usize {
        self.parts.iter().map(Part::len).sum()
    }
}

/// A line that is not an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedLine {
    /// Its number.
    pub line: u64,
    /// Its bytes.
    pub text: Vec<u8>,
    /// Why it was rejected.
    pub reason: String,
}

/// Reads a log file part by part, in the order of the file.
pub struct LogReader {
    log: Arc<LogText>,
    chunks: Chunks,
    limits: Limits,
    /// The fields of what this thread reads.
    columns: Columns,
    workers: Workers,
    /// Parts that are read or wait for it, in the order of the text, and whether a worker reads them.
    under_way: VecDeque<(Chunk, bool)>,
    /// Names in the parts that were returned.
    names: Arc<SourceNames>,
    /// Lines of the parts that were returned.
    lines: u64,
    /// The beginning of a record that goes on in the next part.
    rest: Option<Chunk>,
    unfinished: Option<u64>,
}

impl Ingest {
    /// Reads a log file. What it returns is added by [`add_part`](Self::add_part).
    #[must_use]
    pub fn read_log(&self, log: &LogText, input: Box<dyn BufRead + Send>) -> LogReader {
        let source = log.rest.as_ref();
        let source = source.map(|rest| source_of_text(log.format, &rest.beginning));
        let mut columns = self.columns.clone();
        columns.start_source(Arc::default());
        LogReader {
            log: Arc::new(log.clone()),
            chunks: Chunks::new(log.format, source, input),
            limits: Limits {
                events: self.options.batch_events,
                bytes: self.options.batch_bytes,
                since: self.since,
            },
            columns,
            workers: Workers::new(self.options.threads()),
            under_way: VecDeque::new(),
            names: Arc::default(),
            lines: 0,
            rest: None,
            unfinished: None,
        }
    }

    /// Adds the events of a part of a log file.
    ///
    /// # Errors
    /// A batch that became full earlier could not be committed. The events were added: another call writes that batch again.
    pub fn add_part(&mut self, part: LogPart) -> Result<()> {
        self.complete_part();
        let mut added = Ok(());
        for part in part.parts {
            let fits = self.batch.events() + part.len() <= self.options.batch_events;
            if !fits && self.batch.events() > 0 && added.is_ok() {
                added = self.submit();
            }
            self.batch.push(part);
            if self.options.is_full(&self.batch, 0, 0) && added.is_ok() {
                added = self.submit();
            }
        }
        added
    }
}

impl LogReader {
    /// The next part; `None` at the end.
    ///
    /// # Errors
    /// The input cannot be read. All parts before that have been returned.
    pub fn next_part(&mut self) -> Result<Option<LogPart>> {
        self.fill();
        if let Some((chunk, by_worker)) = self.under_way.pop_front() {
            let done = by_worker.then(|| self.workers.result()).transpose()?;
            return self.accept(chunk, done).map(Some);
        }
        if let Some(error) = self.chunks.failure() {
            return Err(error);
        }
        match self.rest.take() {
            Some(rest) => self.accept(rest.last(), None).map(Some),
            None => Ok(None),
        }
    }

    /// The names of the fields in the parts that were returned, in any order.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// If the text [grows](LogText::grows) and ends within a record: the bytes before that record.
    #[must_use]
    pub fn unfinished(&self) -> Option<u64> {
        self.unfinished
    }

    /// Gives work to the workers.
    fn fill(&mut self) {
        let mut bytes: usize = self
            .under_way
            .iter()
            .map(|(chunk, _)| chunk.text.len())
            .sum();
        while self.under_way.len() < self.workers.most() && bytes < UNDER_WAY_BYTES {
            // Without the head, what comes after this part cannot be read.
            let has_head = self.chunks.has_head();
            if !has_head && !self.under_way.is_empty() {
                return;
            }
            let Some(chunk) = self.chunks.next() else {
                return;
            };
            bytes += chunk.text.len();
            let is_alone = self.under_way.is_empty() && chunk.is_last;
            let by_worker = has_head
                && !is_alone
                && self.workers.send(
                    (&self.log, self.limits, &self.columns),
                    (chunk.clone(), self.names.clone()),
                );
            self.under_way.push_back((chunk, by_worker));
        }
    }

    /// Takes a part that a worker has read, or reads it.
    fn accept(&mut self, chunk: Chunk, done: Option<Read>) -> Result<LogPart> {
        let (chunk, done) = match self.rest.take() {
            Some(rest) => (rest.joined(&chunk), None),
            None => (chunk, done),
        };
        let read = match done {
            Some(done) if self.is_consistent(&done) => done,
            _ => read(
                &self.log,
                self.limits,
                &mut self.columns,
                (&chunk, self.names.clone()),
            )?,
        };
        if !read.names.is_empty() {
            Arc::make_mut(&mut self.names).extend(read.names);
        }
        self.chunks.learn_head(&chunk, read.head);
        let mut rejected = read.rejected;
        for rejected in &mut rejected {
            rejected.line += self.lines;
        }
        self.lines += read.lines;
        let position = chunk.position(read.end);
        if read.end < chunk.text.len() {
            match chunk.is_last {
                true => self.unfinished = Some(position),
                false => self.rest = Some(self.chunks.with_head(chunk.after(read.end))),
            }
        }
        Ok(LogPart {
            parts: read.parts,
            rejected,
            position,
        })
    }

    /// Whether the names in a part can be told from those before it.
    fn is_consistent(&self, read: &Read) -> bool {
        let is_new = |field: &str, name: &str| match self.names.get(field) {
            Some(known) => known == name,
            None => true,
        };
        self.names.len() + read.names.len() <= super::columns::MAX_NAMES
            && read.names.iter().all(|(field, name)| is_new(field, name))
    }
}
