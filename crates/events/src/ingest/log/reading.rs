//! Reads a part of a text: its lines become events, or are rejected.

use std::io::{Cursor, Read as _};
use std::sync::Arc;

use ostrakon_cell::Result;

use super::chunks::{Chunk, Head};
use super::{LogText, RejectedLine};
use crate::ingest::columns::{Columns, SourceNames};
use crate::ingest::origin::Origin;
use crate::ingest::part::Part;
use crate::parse::{Lines, RecordSource, Step};
use crate::record::Record;

/// What a part of a text may have at most, and the time before which events are not kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) events: usize,
    pub(super) bytes: usize,
    pub(super) since: i64,
}

/// What a part of a text has.
pub(super) struct Read {
    pub(super) parts: Vec<Part>,
    /// Their lines are counted from the beginning of the part.
    pub(super) rejected: Vec<RejectedLine>,
    /// Fields and the names that they have in the text, if they are new.
    pub(super) names: Vec<(String, String)>,
    /// The bytes that were read: all of them, if no record is cut at the end.
    pub(super) end: usize,
    /// The lines that were read.
    pub(super) lines: u64,
    /// Bytes and lines up to the last line that says how to read others.
    pub(super) head: (usize, u64),
}

/// Bytes that several threads may read.
struct HeadBytes(Arc<Head>);

struct TextBytes(Arc<Vec<u8>>);

impl AsRef<[u8]> for HeadBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0.bytes
    }
}

impl AsRef<[u8]> for TextBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn open(log: &LogText, chunk: &Chunk) -> Box<dyn RecordSource> {
    let head = Cursor::new(HeadBytes(chunk.head.clone()));
    let input = Box::new(head.chain(Cursor::new(TextBytes(chunk.text.clone()))));
    // A head is of the beginning of the text.
    log.open_lines(match chunk.start == 0 || chunk.head.lines > 0 {
        true => Lines::new(input),
        false => Lines::after_start(input),
    })
}

/// Reads a part; `names` are those of the parts before it.
pub(super) fn read(
    log: &LogText,
    limits: Limits,
    columns: &mut Columns,
    (chunk, names): (&Chunk, Arc<SourceNames>),
) -> Result<Read> {
    columns.start_source(names);
    let mut source = open(log, chunk);
    let head = &chunk.head;
    // The head is not a part of the chunk.
    let place = |source: &dyn RecordSource| {
        let bytes = source.position().saturating_sub(head.bytes.len() as u64);
        (bytes as usize, source.line().saturating_sub(head.lines))
    };
    let (mut record, mut part, mut parts) = (Record::default(), Part::default(), Vec::new());
    let (mut rejected, mut end) = (Vec::new(), (0, 0));
    let may_go_on = log.grows || !chunk.is_last;
    loop {
        let reason = match source.next(&mut record)? {
            Step::End => {
                end = (chunk.text.len(), place(&*source).1);
                break;
            }
            Step::Rejected(_) if may_go_on && source.is_unfinished() => {
                // The lines before the record may say how to read it.
                let (bytes, lines) = source.head();
                let read = bytes.saturating_sub(head.bytes.len());
                end = end.max((read, lines.saturating_sub(head.lines)));
                break;
            }
            Step::Rejected(reason) => Some(reason),
            Step::Record => {
                columns.learn(source.names());
                let bytes = source.start().saturating_sub(head.bytes.len() as u64);
                let origin = Origin {
                    source: chunk.source,
                    at: log.place(chunk.start + bytes),
                };
                part.add(columns, &record, limits.since, origin).err()
            }
        };
        end = place(&*source);
        // What is wrong with a line of the head was said before.
        if let Some(reason) = reason
            && end.1 > 0
        {
            let text = source.text();
            // A record with line ends in quotes is named by its first line.
            let further = memchr::memchr_iter(b'\n', text).count() as u64;
            rejected.push(RejectedLine {
                line: end.1.saturating_sub(further).max(1),
                text: text.to_vec(),
                reason,
            });
        }
        if part.len() >= limits.events || part.bytes() >= limits.bytes {
            part.complete(columns);
            parts.push(std::mem::take(&mut part));
        }
    }
    if !part.is_empty() {
        part.complete(columns);
        parts.push(part);
    }
    let names = columns.taken();
    Ok(Read {
        parts,
        rejected,
        names: names
            .map(|(field, name)| (field.to_owned(), name.to_owned()))
            .collect(),
        end: end.0,
        lines: end.1,
        head: source.head(),
    })
}
