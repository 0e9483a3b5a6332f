//! Reads a whole log: which segments must exist, and whether each follows the previous one.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::format::SegmentEnd;
use super::reader::{Damage, SegmentPlace, SegmentReader};
use super::writer::{SEGMENT_ENDING, segment_path};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::numbered;
use crate::vfs::Vfs;

/// The segments in `dir`, oldest first.
pub fn list_segments(vfs: &dyn Vfs, dir: &Path) -> StoreResult<Vec<(u64, PathBuf)>> {
    let mut segments: Vec<(u64, PathBuf)> = vfs
        .list(dir)?
        .into_iter()
        .filter_map(|entry| {
            let number = numbered::number(&entry.name, SEGMENT_ENDING)?;
            Some((number, dir.join(&entry.name)))
        })
        .collect();
    segments.sort();
    Ok(segments)
}

/// The gaps among the segments in `dir` from number `first` on, up to `last` or the last of those
/// that are `present`, which are sorted: the first missing segment of each. Returns none if `first`
/// is 0 for unknown.
pub fn missing_segments(
    dir: &Path,
    present: &[(u64, PathBuf)],
    first: u64,
    last: u64,
) -> Vec<Damage> {
    let mut gaps = Vec::new();
    let mut expected = first;
    let end = (first > 0).then_some(last.saturating_add(1));
    let numbers = present.iter().map(|(number, _)| *number);
    for number in numbers.filter(|_| first > 0).chain(end) {
        if number > expected {
            let message = match number - expected {
                1 => "a segment of the log that is needed is missing".to_owned(),
                more => format!(
                    "{more} segments of the log that are needed are missing, this one first"
                ),
            };
            gaps.push(Damage {
                path: segment_path(dir, expected),
                offset: 0,
                message,
                tables: Vec::new(),
            });
        }
        expected = expected.max(number.saturating_add(1));
    }
    gaps
}

/// What is known about a log before it is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnownLog {
    /// The store that it belongs to; 0 for any.
    pub store: u64,
    /// From this number on no segment may be missing; 0 if unknown.
    pub first: u64,
    /// A segment with this number must exist.
    pub last: u64,
    /// Lower bound of its length on the disk.
    pub last_bytes: u64,
}

/// The next part of a log.
pub enum LogPart {
    /// A segment whose records are to be read.
    Segment(SegmentReader),
    /// Damage: something that should exist and does not.
    Damage(Damage),
}

/// Number, file and end of a segment that was read.
type Before = (u64, PathBuf, SegmentEnd);

/// Iterates over the segments of a log, oldest first.
pub struct LogReader<'a> {
    vfs: &'a dyn Vfs,
    known: KnownLog,
    segments: VecDeque<(u64, PathBuf)>,
    /// Gaps, by the first missing number.
    gaps: VecDeque<(u64, Damage)>,
    /// A segment that was opened, and follows damage.
    opened: Option<SegmentReader>,
    /// The end of the previous segment, unless it is damaged or was not read.
    before: Option<Before>,
    /// The same for the segment before that one.
    earlier: Option<Before>,
    /// Sequence of the last batch that was read.
    sequence: u64,
}

impl<'a> LogReader<'a> {
    /// Lists the segments in `dir`.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn open(vfs: &'a dyn Vfs, dir: &Path, known: KnownLog) -> StoreResult<Self> {
        Ok(Self::of(vfs, dir, known, list_segments(vfs, dir)?))
    }

    /// The log of a store in whose directory for it these segments were listed: none if it is missing.
    #[must_use]
    pub fn of(
        vfs: &'a dyn Vfs,
        dir: &Path,
        known: KnownLog,
        segments: Vec<(u64, PathBuf)>,
    ) -> Self {
        let gaps = missing_segments(dir, &segments, known.first, known.last)
            .into_iter()
            .filter_map(|damage| {
                let stem = damage.path.file_stem()?.to_str()?;
                Some((stem.parse().ok()?, damage))
            })
            .collect();
        Self {
            vfs,
            known,
            segments: segments.into(),
            gaps,
            opened: None,
            before: None,
            earlier: None,
            sequence: 0,
        }
    }

    /// Number of segments still to be read.
    #[must_use]
    pub fn segments_left(&self) -> usize {
        self.segments.len()
    }

    /// The next part. A segment must be read to its end and passed to [`close`](Self::close).
    ///
    /// # Errors
    /// A segment cannot be read for a reason other than damage: the next call continues after it.
    pub fn next_part(&mut self) -> StoreResult<Option<LogPart>> {
        if let Some(reader) = self.opened.take() {
            return Ok(Some(LogPart::Segment(reader)));
        }
        let next = self.segments.front().map(|(number, _)| *number);
        if let Some((_, damage)) = self
            .gaps
            .pop_front_if(|(number, _)| next.is_none_or(|next| *number < next))
        {
            self.before = None;
            return Ok(Some(LogPart::Damage(damage)));
        }
        let Some((number, path)) = self.segments.pop_front() else {
            return Ok(None);
        };
        let is_needed = self.is_needed(number);
        self.earlier = self.before.take();
        let place = SegmentPlace {
            number,
            store: self.known.store,
            sequence: self.sequence,
            is_last: self.segments.is_empty(),
            written: match number == self.known.last {
                true => self.known.last_bytes,
                false => 0,
            },
        };
        let reader = match SegmentReader::open(self.vfs, &path, place) {
            Ok(reader) => reader,
            Err(_) if !is_needed => return self.next_part(),
            Err(error) if error.kind() == ErrorKind::Corruption => {
                return Ok(Some(LogPart::Damage(Damage {
                    path,
                    offset: 0,
                    message: describe(&error),
                    tables: Vec::new(),
                })));
            }
            Err(error) => return Err(error),
        };
        let earlier = self.earlier.as_ref();
        match earlier
            .filter(|(before, ..)| self.is_needed(*before))
            .and_then(|before| broken_link(before, &reader))
        {
            Some(damage) => {
                self.opened = Some(reader);
                Ok(Some(LogPart::Damage(damage)))
            }
            None => Ok(Some(LogPart::Segment(reader))),
        }
    }

    /// Closes a segment that was read to its end. Returns its damage.
    pub fn close<'r>(&mut self, reader: &'r SegmentReader) -> Option<&'r Damage> {
        let end = reader.end();
        self.sequence = self.sequence.max(end.sequence);
        let damage = reader.damage();
        if damage.is_none() {
            self.before = Some((reader.number(), reader.path().to_owned(), end));
        }
        damage.filter(|_| self.is_needed(reader.number()))
    }

    /// Whether damage of a segment loses anything. Segments before the first that must exist may be left by a crash or a
    /// failed deletion.
    fn is_needed(&self, number: u64) -> bool {
        number >= self.known.first
    }

    /// The end of the log, once everything was read; recorded in the header of a new segment.
    #[must_use]
    pub fn end(&self) -> SegmentEnd {
        let end = self.before.as_ref().map(|(_, _, end)| *end);
        SegmentEnd {
            sequence: self.sequence,
            ..end.unwrap_or_default()
        }
    }

    /// The last segment that was read was removed: the log ends with the previous one.
    pub fn forget_last(&mut self) {
        self.before = self.earlier.take();
    }
}

/// The file that an error of reading a segment names.
#[must_use]
pub fn file_of(error: &Error) -> PathBuf {
    let mut context = error.context().iter();
    let file = context.find(|(name, _)| *name == "file");
    file.map(|(_, path)| path.into()).unwrap_or_default()
}

/// An error's message and context, without the file, which is shown separately.
fn describe(error: &Error) -> String {
    let context: Vec<String> = error
        .context()
        .iter()
        .filter(|(name, _)| *name != "file")
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    match context.is_empty() {
        true => error.message().to_owned(),
        false => format!("{} ({})", error.message(), context.join(", ")),
    }
}

/// The damage of a segment if its end differs from what the next segment's header says.
fn broken_link((number, path, end): &Before, next: &SegmentReader) -> Option<Damage> {
    let said = next.previous();
    if said.bytes == 0 || next.number() != number + 1 {
        return None;
    }
    let message = if end.bytes < said.bytes {
        "the log segment is shorter than it was when the next one was begun: its last records are missing"
    } else if end.bytes > said.bytes {
        "the log segment is longer than it was when the next one was begun"
    } else if end.sum != said.sum {
        "the log segment is not the one that the next segment followed"
    } else {
        return None;
    };
    Some(Damage {
        path: path.clone(),
        offset: end.bytes.min(said.bytes),
        message: message.to_owned(),
        tables: Vec::new(),
    })
}
