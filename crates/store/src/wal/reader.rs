//! Reads segments back, and tells a torn end from damage.

use std::path::{Path, PathBuf};

use super::format::{
    RECORD_HEADER_BYTES, RecordHeader, SEGMENT_HEADER_BYTES, decode_record, decode_record_header,
    decode_segment_header,
};
use super::writer::segment_path;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::vfs::Vfs;

/// Bytes that should hold records and do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The segment's file.
    pub path: PathBuf,
    /// Where reading stopped.
    pub offset: u64,
    /// What is known of it.
    pub message: String,
}

impl Damage {
    /// The damage as an error.
    #[must_use]
    pub fn to_error(&self) -> Error {
        Error::corruption(self.message.clone())
            .with("file", self.path.display())
            .with("offset", self.offset)
    }
}

/// One segment in memory.
pub struct SegmentReader {
    path: PathBuf,
    bytes: Vec<u8>,
    at: usize,
    is_last: bool,
    damage: Option<Damage>,
    /// Up to here there are records, as somebody knows who saw them on the disk.
    written: u64,
    /// What the records read so far say was on the disk.
    synced: u64,
}

/// The segments in `dir`, oldest first.
pub fn list_segments(vfs: &dyn Vfs, dir: &Path) -> StoreResult<Vec<(u64, PathBuf)>> {
    let mut segments: Vec<(u64, PathBuf)> = vfs
        .list(dir)?
        .into_iter()
        .filter_map(|entry| {
            let name = entry.name.to_str()?;
            let number = name.strip_suffix(".wal")?.parse::<u64>().ok()?;
            Some((number, dir.join(name)))
        })
        .collect();
    segments.sort();
    Ok(segments)
}

/// The gaps among the segments in `dir` from number `first` on, up to `last` or the last of those that
/// are `present`, which are sorted: the first missing segment of each. Nothing is known if `first` is 0.
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
            });
        }
        expected = expected.max(number.saturating_add(1));
    }
    gaps
}

impl SegmentReader {
    /// Reads the segment at `path`. Only the last segment of a log may end in the middle of a
    /// record.
    ///
    /// # Errors
    /// The file cannot be read or does not begin like a segment; a last segment without a byte behind
    /// its header reads as empty if that is not whole (a crash while it was begun).
    pub fn open(vfs: &dyn Vfs, path: &Path, is_last: bool) -> StoreResult<Self> {
        let bytes = vfs.read_to_vec(path, u64::MAX)?;
        let mut reader = Self {
            path: path.to_owned(),
            bytes,
            at: 0,
            is_last,
            damage: None,
            written: 0,
            synced: SEGMENT_HEADER_BYTES as u64,
        };
        match decode_segment_header(&reader.bytes) {
            Ok(_) => reader.at = SEGMENT_HEADER_BYTES,
            Err(error)
                if is_last
                    && error.kind() == ErrorKind::Corruption
                    && reader.bytes.len() <= SEGMENT_HEADER_BYTES =>
            {
                reader.bytes.clear();
            }
            Err(error) => return Err(error.with("file", path.display())),
        }
        Ok(reader)
    }

    /// The segment is known to hold records up to byte `end`: a place before that where reading stops
    /// is damage. 0: nothing is known.
    #[must_use]
    pub fn written_to(mut self, end: u64) -> Self {
        self.written = end;
        self
    }

    /// The next record, or `None` at the end or at damage.
    pub fn next_record(&mut self) -> Option<(RecordHeader, &[u8])> {
        let rest = self.bytes.get(self.at..)?;
        if rest.is_empty() || self.damage.is_some() {
            if self.damage.is_none() && (self.at as u64) < self.written {
                self.damage = self.damage_here(
                    "the log segment is shorter than it was when the store was closed",
                );
            }
            return None;
        }
        if decode_record(rest).is_none() {
            self.damage = self.judge_end();
            return None;
        }
        let (header, payload) = decode_record(self.bytes.get(self.at..)?)?;
        self.at += RECORD_HEADER_BYTES + payload.len();
        self.synced = self.synced.max(header.synced);
        Some((header, payload))
    }

    /// What is wrong with the segment; known once [`next_record`](Self::next_record) gave `None`.
    #[must_use]
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// Makes a last segment that was read to its end one that others may follow: cuts a torn end
    /// off, and puts what was read on the disk, since a killed process may have left it in the
    /// operating system's hands. What no record knows to be on the disk is written once more: after
    /// a sync that failed, the next one may succeed without having written it. A segment without a
    /// record is removed: its beginning may be just such bytes. Answers whether it is still there; its
    /// number is free if not.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn settle(&self, vfs: &dyn Vfs) -> StoreResult<bool> {
        if self.at <= SEGMENT_HEADER_BYTES {
            vfs.remove(&self.path)?;
            if let Some(dir) = self.path.parent() {
                vfs.sync_dir(dir)?;
            }
            return Ok(false);
        }
        let file = vfs.open_random(&self.path)?;
        if self.at < self.bytes.len() {
            file.set_len(self.at as u64)?;
        }
        if let Some(unsure) = self.bytes.get(self.synced as usize..self.at) {
            file.write_at(self.synced, unsure)?;
        }
        file.sync_data()?;
        Ok(true)
    }

    /// Decides whether the unreadable record at the present place is the torn end of the log or
    /// damage.
    fn judge_end(&self) -> Option<Damage> {
        if !self.is_last || (self.at as u64) < self.written {
            return self
                .damage_here("a log segment that was closed in order has an unreadable record");
        }
        // A later record that was written when this place was already on the disk proves that the
        // bytes here have changed since.
        let proof = (self.at + 1..self.bytes.len()).any(|offset| {
            let Some(rest) = self.bytes.get(offset..) else {
                return false;
            };
            // Cheap tests first: almost no offset passes them.
            decode_record_header(rest).is_some_and(|(_, header)| {
                header.synced > self.at as u64
                    && header.synced <= offset as u64
                    && (header.payload_len as usize) < rest.len()
            }) && decode_record(rest).is_some()
        });
        if proof {
            self.damage_here("the log has an unreadable record before others that were synced")
        } else {
            None
        }
    }

    fn damage_here(&self, message: &str) -> Option<Damage> {
        Some(Damage {
            path: self.path.clone(),
            offset: self.at as u64,
            message: message.to_owned(),
        })
    }
}
