//! Cuts a text into parts that can be read on their own.

use std::io::BufRead;
use std::sync::Arc;

use ostrakon_cell::{Error, ErrorKind};

use crate::ingest::origin::{SourceId, source_of_text};
use crate::parse::{Directives, LINE_MAX, LogFormat};

/// Bytes of a part. It is longer if a line is.
const CHUNK_BYTES: usize = 1 << 20;

/// The most bytes of Zeek's lines about the format, which are read again before each part.
const DIRECTIVES_MAX: usize = 64 << 10;

/// Lines that say how to read others.
#[derive(Default)]
pub(super) struct Head {
    pub(super) bytes: Vec<u8>,
    pub(super) lines: u64,
}

/// Lines of a text.
#[derive(Clone)]
pub(super) struct Chunk {
    pub(super) text: Arc<Vec<u8>>,
    /// The lines to read before it.
    pub(super) head: Arc<Head>,
    /// Where it begins in the text.
    pub(super) start: u64,
    /// Bytes that were left out at its end, because its last line is too long.
    skipped: u64,
    /// Whether it ends the text.
    pub(super) is_last: bool,
    /// What the text is known by.
    pub(super) source: SourceId,
}

impl Chunk {
    /// The place in the text after so many bytes of the chunk.
    pub(super) fn position(&self, bytes: usize) -> u64 {
        let skipped = match bytes == self.text.len() {
            true => self.skipped,
            false => 0,
        };
        self.start + bytes as u64 + skipped
    }

    /// What comes after so many bytes of the chunk.
    pub(super) fn after(&self, bytes: usize) -> Self {
        Self {
            text: Arc::new(self.text.get(bytes..).unwrap_or_default().to_vec()),
            start: self.start + bytes as u64,
            ..self.clone()
        }
    }

    /// This chunk and the next one.
    pub(super) fn joined(&self, next: &Self) -> Self {
        Self {
            text: Arc::new([self.text.as_slice(), next.text.as_slice()].concat()),
            skipped: next.skipped,
            is_last: next.is_last,
            ..self.clone()
        }
    }

    /// The chunk as the last one.
    pub(super) fn last(self) -> Self {
        Self {
            is_last: true,
            ..self
        }
    }
}

/// Reads a text chunk by chunk.
pub(super) struct Chunks {
    format: LogFormat,
    /// What the text is known by, once something was read.
    source: Option<SourceId>,
    input: Box<dyn BufRead + Send>,
    /// Bytes that were read and belong to the next chunk.
    buffer: Vec<u8>,
    /// Where the buffer begins in the text.
    start: u64,
    /// `None` if the format has a head and it was not found yet.
    head: Option<Arc<Head>>,
    /// Zeek's lines about the format so far.
    directives: Directives,
    ended: bool,
    failure: Option<Error>,
}

impl Chunks {
    pub(super) fn new(
        format: LogFormat,
        source: Option<SourceId>,
        input: Box<dyn BufRead + Send>,
    ) -> Self {
        let is_found_by_reading = matches!(format, LogFormat::Csv | LogFormat::Tsv);
        Self {
            format,
            source,
            input,
            buffer: Vec::new(),
            start: 0,
            head: (!is_found_by_reading).then(Arc::default),
            directives: Directives::default(),
            ended: false,
            failure: None,
        }
    }

    pub(super) fn has_head(&self) -> bool {
        self.head.is_some()
    }

    /// Takes the error that ended the text.
    pub(super) fn failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// The next chunk; `None` at the end, or if the input cannot be read any more.
    pub(super) fn next(&mut self) -> Option<Chunk> {
        let mut skipped = 0;
        while !self.ended {
            if self.buffer.len() >= CHUNK_BYTES
                && let Some(at) = memchr::memrchr(b'\n', &self.buffer)
            {
                return Some(self.cut(at + 1, 0));
            }
            if self.buffer.len() > CHUNK_BYTES + LINE_MAX {
                skipped = self.skip_line();
                break;
            }
            self.read();
        }
        if self.failure.is_some() {
            // The line that was being read is lost, and all before it are not.
            let complete = memchr::memrchr(b'\n', &self.buffer).map_or(0, |at| at + 1);
            self.buffer.truncate(complete);
        }
        (!self.buffer.is_empty()).then(|| self.cut(self.buffer.len(), skipped))
    }

    fn read(&mut self) {
        match self.input.fill_buf() {
            Ok([]) => self.ended = true,
            Ok(found) => {
                let used = found.len();
                self.buffer.extend_from_slice(found);
                self.input.consume(used);
            }
            Err(error) => self.fail(error),
        }
    }

    fn fail(&mut self, error: std::io::Error) {
        self.ended = true;
        let error = Error::new(ErrorKind::Io, "the log file cannot be read").with_source(error);
        self.failure = Some(error);
    }

    /// Passes over the rest of a line that is too long; returns how many bytes that was.
    fn skip_line(&mut self) -> u64 {
        let mut skipped = 0;
        loop {
            let found = match self.input.fill_buf() {
                Ok([]) => {
                    self.ended = true;
                    return skipped;
                }
                Ok(found) => found,
                Err(error) => {
                    self.fail(error);
                    return skipped;
                }
            };
            let end = memchr::memchr(b'\n', found);
            let used = end.map_or(found.len(), |at| at + 1);
            self.input.consume(used);
            skipped += used as u64;
            if end.is_some() {
                return skipped;
            }
        }
    }

    /// Makes a chunk of the first bytes of the buffer.
    fn cut(&mut self, bytes: usize, skipped: u64) -> Chunk {
        // Of more than the chunk, which may be one line.
        let source = (self.source)
            .get_or_insert_with(|| source_of_text(self.format, &self.buffer))
            .to_owned();
        let rest = self.buffer.split_off(bytes);
        let text = Arc::new(std::mem::replace(&mut self.buffer, rest));
        let chunk = Chunk {
            head: self.head.clone().unwrap_or_default(),
            start: self.start,
            skipped,
            is_last: self.ended && self.failure.is_none(),
            source,
            text,
        };
        self.start = chunk.position(chunk.text.len());
        if self.format == LogFormat::Zeek {
            self.extend_head(&chunk);
        }
        chunk
    }

    /// Adds Zeek's lines about the format to the head of later chunks. Lines that others replace are left out: a log
    /// may have any number of them.
    fn extend_head(&mut self, chunk: &Chunk) {
        let mark = &b"\xef\xbb\xbf"[..];
        let text = match chunk.start {
            0 => chunk.text.strip_prefix(mark).unwrap_or(&chunk.text),
            _ => &chunk.text,
        };
        let first = text.starts_with(b"#").then_some(0);
        let others = memchr::memmem::find_iter(text, b"\n#").map(|at| at + 1);
        let mut any = false;
        for start in first.into_iter().chain(others) {
            let line = text.get(start..).unwrap_or_default();
            let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
            self.directives
                .add(line.strip_suffix(b"\r").unwrap_or(line));
            any = true;
        }
        if !any {
            return;
        }
        let bytes = self.directives.text();
        if bytes.len() > DIRECTIVES_MAX {
            self.ended = true;
            self.buffer.clear();
            let error = Error::invalid(
                "the lines of the Zeek log that name its fields and separators are too long",
            );
            let error = error
                .with("bytes", bytes.len())
                .with("most", DIRECTIVES_MAX);
            self.failure = Some(error);
        } else if bytes != chunk.head.bytes {
            let lines = memchr::memchr_iter(b'\n', &bytes).count() as u64;
            self.head = Some(Arc::new(Head { bytes, lines }));
        }
    }

    /// Takes the first bytes and lines of a chunk as the head, if it was not found yet.
    pub(super) fn learn_head(&mut self, chunk: &Chunk, (bytes, lines): (usize, u64)) {
        if self.head.is_none() && bytes > 0 {
            let bytes = chunk.text.get(..bytes).unwrap_or_default().to_vec();
            self.head = Some(Arc::new(Head { bytes, lines }));
        }
    }

    /// A chunk with the head, which may have been found after it was cut.
    pub(super) fn with_head(&self, chunk: Chunk) -> Chunk {
        Chunk {
            head: self.head.clone().unwrap_or_default(),
            ..chunk
        }
    }
}
