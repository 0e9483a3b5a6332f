//! Reads one segment, and distinguishes a torn end from damage.

use std::path::{Path, PathBuf};

use super::format::{
    NO_TABLE, RecordHeader, SEGMENT_HEADER_BYTES, SegmentEnd, SegmentHeader, decode_record,
    decode_record_header, decode_segment_header,
};
use super::writer::OpenEnd;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::vfs::Vfs;

/// Bytes that should be valid records and are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The segment's file.
    pub path: PathBuf,
    /// Where reading stopped.
    pub offset: u64,
    /// What is known about it.
    pub message: String,
    /// Tables that end where the log is damaged: they may lack later writes.
    pub tables: Vec<String>,
}

impl Damage {
    /// What is wrong, and where in the file.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self.offset {
            0 => self.message.clone(),
            offset => format!("{} (offset: {offset})", self.message),
        }
    }
}

/// The position of a segment in its log, and what is known about it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SegmentPlace {
    /// The number in its name.
    pub number: u64,
    /// The store that it must belong to; 0 for any.
    pub store: u64,
    /// Sequence of the last batch before it; 0 if unknown.
    pub sequence: u64,
    /// Whether it is the last segment: only then may it end in the middle of a record.
    pub is_last: bool,
    /// The segment is known to hold records up to this byte: an unreadable record before it is
    /// damage. 0 if unknown.
    pub written: u64,
}

/// One segment in memory.
pub struct SegmentReader {
    path: PathBuf,
    bytes: Vec<u8>,
    header: Option<SegmentHeader>,
    place: SegmentPlace,
    at: usize,
    damage: Option<Damage>,
    /// Checksum of the last record that was read, or of the header.
    sum: u32,
    /// Sequence of the last batch that was read.
    sequence: u64,
    /// The synced length according to the records read so far.
    synced: u64,
}

impl SegmentReader {
    /// Reads the segment at `path`.
    ///
    /// # Errors
    /// The file cannot be read, does not begin with a segment header, or the header is that of
    /// another segment or store. A last segment without a byte after an incomplete header reads as
    /// empty (a crash during its creation).
    pub fn open(vfs: &dyn Vfs, path: &Path, place: SegmentPlace) -> StoreResult<Self> {
        let bytes = vfs.read_to_vec(path, u64::MAX)?;
        let mut reader = Self {
            path: path.to_owned(),
            bytes,
            header: None,
            place,
            at: 0,
            damage: None,
            sum: 0,
            sequence: place.sequence,
            synced: SEGMENT_HEADER_BYTES as u64,
        };
        match decode_segment_header(&reader.bytes) {
            Ok(header) => reader
                .begin(header)
                .map_err(|error| error.with("file", path.display()))?,
            Err(error)
                if place.is_last
                    && error.kind() == ErrorKind::Corruption
                    && reader.bytes.len() <= SEGMENT_HEADER_BYTES =>
            {
                reader.bytes.clear();
            }
            Err(error) => return Err(error.with("file", path.display())),
        }
        Ok(reader)
    }

    fn begin(&mut self, header: SegmentHeader) -> StoreResult<()> {
        if header.number != self.place.number {
            return Err(Error::corruption(
                "the log segment was renamed, or another was copied over it",
            )
            .with("number in its name", self.place.number)
            .with("number in its header", header.number));
        }
        if header.version > 1 && self.place.store != 0 && header.store != self.place.store {
            return Err(Error::corruption(
                "the log segment belongs to another store; put the right one back",
            ));
        }
        self.at = header.bytes();
        self.sum = header.sum;
        self.synced = header.bytes() as u64;
        self.sequence = self.sequence.max(header.previous.sequence);
        self.header = Some(header);
        Ok(())
    }

    /// The segment's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number in its name.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.place.number
    }

    /// The end of the previous segment, according to this one's header; all zero if unknown.
    #[must_use]
    pub fn previous(&self) -> SegmentEnd {
        self.header
            .map(|header| header.previous)
            .unwrap_or_default()
    }

    /// The end of what was read so far.
    #[must_use]
    pub fn end(&self) -> SegmentEnd {
        SegmentEnd {
            bytes: self.at as u64,
            sum: self.sum,
            sequence: self.sequence,
        }
    }

    /// The end of the segment if it is known to be on the disk, and exactly `bytes` long: another
    /// writer may continue from there.
    #[must_use]
    pub fn open_end(&self, bytes: u64) -> Option<OpenEnd> {
        let is_end = self.at as u64 == bytes && self.bytes.len() as u64 == bytes;
        let header = self.header.filter(|_| is_end && self.damage.is_none())?;
        OpenEnd::of(header, self.end())
    }

    /// The next record, or `None` at the end or at damage. Includes end records, which belong to no
    /// table.
    pub fn next_record(&mut self) -> Option<(RecordHeader, &[u8])> {
        if self.damage.is_some() {
            return None;
        }
        let rest = self.bytes.get(self.at..)?;
        let Some(header) = self.header.filter(|_| !rest.is_empty()) else {
            if (self.at as u64) < self.place.written {
                self.damage = self.damage_here(
                    "the log segment is shorter than it was when the store was closed",
                );
            }
            return None;
        };
        let found = decode_record(&header, rest);
        let Some((record, sum)) = found.filter(|(record, _)| self.stands_right(record)) else {
            self.damage = self.judge_end(&header);
            return None;
        };
        if record.table != NO_TABLE {
            if record.sequence <= self.sequence {
                self.damage = self.damage_here(
                    "a record of the log stands behind one with a later or the same sequence",
                );
                return None;
            }
            self.sequence = record.sequence;
        }
        let begin = self.at + header.record_header_bytes();
        self.at = begin + record.payload_len as usize;
        self.sum = sum;
        self.synced = self.synced.max(record.synced);
        let payload = self.bytes.get(begin..self.at)?;
        Some((record, payload))
    }

    /// Whether a record's own offset matches the present position.
    fn stands_right(&self, record: &RecordHeader) -> bool {
        self.is_of_version_1() || record.offset == self.at as u64
    }

    fn is_of_version_1(&self) -> bool {
        self.header.is_some_and(|header| header.version == 1)
    }

    /// The damage of the segment; known once [`next_record`](Self::next_record) has returned
    /// `None`.
    #[must_use]
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// Prepares a last segment that was read to its end for being followed by others: truncates a
    /// torn end and syncs the rest, since a killed process may have left it in the page cache.
    /// Records not known to be on the disk are rewritten: after a failed sync, the next sync may
    /// succeed without having written them. A segment without records is removed, because its
    /// header may be such bytes. Returns whether the segment still exists; otherwise its number is
    /// free.
    ///
    /// # Errors
    /// An error of the disk.
    pub fn settle(&self, vfs: &dyn Vfs) -> StoreResult<bool> {
        let begin = self.header.map_or(0, |header| header.bytes());
        if self.at <= begin {
            vfs.remove(&self.path)?;
            if let Some(dir) = self.path.parent() {
                vfs.sync_names(dir, &[])?;
            }
            return Ok(false);
        }
        let file = vfs.open_in_place(&self.path)?;
        if self.at < self.bytes.len() {
            file.set_len(self.at as u64)?;
        }
        if let Some(unsure) = self.bytes.get(self.synced as usize..self.at) {
            file.write_at(self.synced, unsure)?;
        }
        file.sync_data()?;
        Ok(true)
    }

    /// Decides whether the unreadable record at the present position is the torn end of the log or
    /// damage.
    fn judge_end(&self, segment: &SegmentHeader) -> Option<Damage> {
        if !self.place.is_last || (self.at as u64) < self.place.written {
            return self.damage_here(
                "a log segment that was closed in order has an unreadable or misplaced record",
            );
        }
        for offset in self.at..self.bytes.len() {
            let Some(rest) = self.bytes.get(offset..) else {
                break;
            };
            // Cheap tests first: almost no offset passes them.
            let Some((_, header)) = decode_record_header(segment, rest) else {
                break;
            };
            if header.payload_len as usize >= rest.len() {
                continue;
            }
            let misplaced = segment.version > 1 && header.offset != offset as u64;
            // The record's own offset must be a later one in this segment, and not an arbitrary
            // number.
            let plausible = header.offset >= segment.bytes() as u64
                && header.offset - segment.bytes() as u64 <= OFFSET_MAX;
            let was_synced = header.synced > self.at as u64 && header.synced <= offset as u64;
            if (misplaced && plausible || !misplaced && was_synced)
                && decode_record(segment, rest).is_some()
            {
                return if misplaced {
                    self.damage_here(
                        "a record of the log stands where it was not written: bytes before it were \
                         cut out or put in",
                    )
                } else {
                    // It was written when the present position was already on the disk: the bytes
                    // there have changed since.
                    self.damage_here(
                        "the log has an unreadable record before others that were synced",
                    )
                };
            }
        }
        None
    }

    fn damage_here(&self, message: &str) -> Option<Damage> {
        Some(Damage {
            path: self.path.clone(),
            offset: self.at as u64,
            message: message.to_owned(),
            tables: Vec::new(),
        })
    }
}

/// Upper bound of a segment's length: a segment ends at a fixed size, after the group of batches
/// that filled it.
const OFFSET_MAX: u64 = 1 << 40;
