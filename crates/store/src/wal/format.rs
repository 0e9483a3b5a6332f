//! The bytes of a log segment. Page: `docs/format/wal.md`.
//!
//! ```text
//! segment := header record*
//!
//! version 2:
//! header  := magic:8 version:u32 number:u64 store:u64 session:u64 previous_bytes:u64
//!            previous_sum:u32 sequence:u64 checksum:u32      checksum over the 56 bytes before
//! record  := checksum:u32 payload_len:u32 sequence:u64 table:u32 updates:u32 timestamp:i64
//!            synced:u64 offset:u64 payload
//!
//! version 1, read only:
//! header  := magic:8 version:u32 number:u64 checksum:u32     checksum over the 20 bytes before
//! record  := checksum:u32 payload_len:u32 sequence:u64 table:u32 updates:u32 timestamp:i64
//!            synced:u64 payload
//! ```
//!
//! All integers are little-endian. A record's checksum (CRC-32C) covers everything after it, the
//! payload included; in version 2 it begins with `session` and `number` of the segment, so that a
//! record of another segment is not accepted. `offset` is the position of the record in its
//! segment. `synced` is the length of the segment that was known to be on the disk when the record
//! was written: it distinguishes a torn end (after it) from damage (before it). `previous_bytes`,
//! `previous_sum` and `sequence` are the length, the checksum of the last record (of the header if
//! there is none) and the last sequence of the previous segment; all zero if there was none.
#![deny(clippy::indexing_slicing)]

use crate::codec::{ByteReader, Checksum, checksum};
use crate::error::{Error, ErrorKind, StoreResult};

/// First bytes of every segment.
pub(super) const MAGIC: [u8; 8] = *b"OSTKWAL\n";
/// The version this code writes, and the newest it reads.
pub(super) const VERSION: u32 = 2;
/// Bytes of a segment's header.
pub const SEGMENT_HEADER_BYTES: usize = 60;
/// Bytes of a record's header.
pub const RECORD_HEADER_BYTES: usize = 48;
/// No version will have a greater number: the bytes were overwritten.
const PLAUSIBLE_VERSION_MAX: u32 = 1 << 16;
/// Bytes of the header of a segment of version 1.
const SEGMENT_HEADER_BYTES_V1: usize = 24;
/// Bytes of the header of a record of version 1.
const RECORD_HEADER_BYTES_V1: usize = 40;
/// Bytes before the version-specific fields: magic and version.
const VERSION_BYTES: usize = 12;

/// Table id of an end record, which belongs to no table: ids begin with 1.
pub(super) const NO_TABLE: u32 = 0;

/// The fields before a record's payload, except the checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordHeader {
    /// Bytes of payload.
    pub payload_len: u32,
    /// Position of the batch among all batches of the store; rises from record to record.
    pub sequence: u64,
    /// The table's id.
    pub table: u32,
    /// Column updates in the payload.
    pub updates: u32,
    /// Timestamp of the updates without one.
    pub timestamp: i64,
    /// Bytes of this segment known to be on the disk when the record was written.
    pub synced: u64,
    /// Position of the record in its segment; 0 in version 1, which did not store it.
    pub offset: u64,
}

/// The end of a segment, as repeated in the header of the next one. All zero if unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SegmentEnd {
    /// Length in bytes.
    pub bytes: u64,
    /// Checksum of the last record, or of the header if there is none.
    pub sum: u32,
    /// Sequence of the last batch in the log up to here.
    pub sequence: u64,
}

/// The fields of a segment's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub(super) version: u32,
    pub(super) number: u64,
    /// The id of the store; 0 in version 1.
    pub(super) store: u64,
    /// Random number of the opening of the store; 0 in version 1.
    pub(super) session: u64,
    /// The end of the previous segment.
    pub(super) previous: SegmentEnd,
    /// The header's own checksum.
    pub(super) sum: u32,
}

impl SegmentHeader {
    /// Bytes of the header.
    pub(super) fn bytes(&self) -> usize {
        match self.version {
            1 => SEGMENT_HEADER_BYTES_V1,
            _ => SEGMENT_HEADER_BYTES,
        }
    }

    /// Bytes of the headers of its records.
    pub(super) fn record_header_bytes(&self) -> usize {
        match self.version {
            1 => RECORD_HEADER_BYTES_V1,
            _ => RECORD_HEADER_BYTES,
        }
    }

    /// The state of a record's checksum before its first byte.
    fn record_sum(&self) -> Checksum {
        let mut sum = Checksum::new();
        if self.version > 1 {
            sum.update(&self.session.to_le_bytes());
            sum.update(&self.number.to_le_bytes());
        }
        sum
    }
}

/// The header of a new segment, and its bytes.
#[must_use]
pub(super) fn encode_segment_header(
    number: u64,
    store: u64,
    session: u64,
    previous: SegmentEnd,
) -> (SegmentHeader, Vec<u8>) {
    let mut bytes = Vec::with_capacity(SEGMENT_HEADER_BYTES);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.extend_from_slice(&store.to_le_bytes());
    bytes.extend_from_slice(&session.to_le_bytes());
    bytes.extend_from_slice(&previous.bytes.to_le_bytes());
    bytes.extend_from_slice(&previous.sum.to_le_bytes());
    bytes.extend_from_slice(&previous.sequence.to_le_bytes());
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    let header = SegmentHeader {
        version: VERSION,
        number,
        store,
        session,
        previous,
        sum,
    };
    (header, bytes)
}

/// Reads a segment's header.
///
/// # Errors
/// [`ErrorKind::Corruption`] for any other bytes, [`ErrorKind::NewerFormat`] for a later version.
pub(super) fn decode_segment_header(bytes: &[u8]) -> StoreResult<SegmentHeader> {
    let corrupt = || Error::corruption("the file does not begin as a log segment does");
    let mut reader = ByteReader::new(bytes);
    if reader.take_array::<8>() != Some(&MAGIC) {
        return Err(corrupt());
    }
    let version = reader.u32().ok_or_else(corrupt)?;
    let len = match version {
        1 => SEGMENT_HEADER_BYTES_V1,
        2 => SEGMENT_HEADER_BYTES,
        0 => return Err(corrupt()),
        // Not a newer version, but this one with a flipped bit in its number, or other bytes in place of it.
        _ if version > PLAUSIBLE_VERSION_MAX || passes_as_current(bytes) => return Err(corrupt()),
        _ => {
            return Err(Error::new(
                ErrorKind::NewerFormat,
                "the log was written by a newer version: open the store with that one",
            )
            .with("version found", version)
            .with("newest readable", VERSION));
        }
    };
    let head = bytes.get(..len).ok_or_else(corrupt)?;
    let (body, sum) = head.split_last_chunk::<4>().ok_or_else(corrupt)?;
    let sum = u32::from_le_bytes(*sum);
    if checksum(body) != sum {
        return Err(corrupt());
    }
    let mut fields = ByteReader::new(body.get(VERSION_BYTES..).ok_or_else(corrupt)?);
    let mut read = || {
        let mut header = SegmentHeader {
            version,
            number: fields.u64()?,
            store: 0,
            session: 0,
            previous: SegmentEnd::default(),
            sum,
        };
        if version > 1 {
            header.store = fields.u64()?;
            header.session = fields.u64()?;
            header.previous = SegmentEnd {
                bytes: fields.u64()?,
                sum: fields.u32()?,
                sequence: fields.u64()?,
            };
        }
        Some(header)
    };
    read().ok_or_else(corrupt)
}

/// Whether the header is valid once its version is replaced by the current one.
fn passes_as_current(bytes: &[u8]) -> bool {
    let Some(head) = bytes.get(..SEGMENT_HEADER_BYTES) else {
        return false;
    };
    let mut head = head.to_vec();
    if let Some(version) = head.get_mut(MAGIC.len()..VERSION_BYTES) {
        version.copy_from_slice(&VERSION.to_le_bytes());
    }
    head.split_last_chunk::<4>()
        .is_some_and(|(body, sum)| checksum(body) == u32::from_le_bytes(*sum))
}

/// Encodes the header of a record of `segment`, which has the version written; its checksum first.
#[must_use]
pub(super) fn encode_record_header(
    segment: &SegmentHeader,
    header: &RecordHeader,
    payload: &[u8],
) -> ([u8; RECORD_HEADER_BYTES], u32) {
    let mut bytes = [0; RECORD_HEADER_BYTES];
    let fields: [&[u8]; 7] = [
        &header.payload_len.to_le_bytes(),
        &header.sequence.to_le_bytes(),
        &header.table.to_le_bytes(),
        &header.updates.to_le_bytes(),
        &header.timestamp.to_le_bytes(),
        &header.synced.to_le_bytes(),
        &header.offset.to_le_bytes(),
    ];
    let (first, rest) = bytes.split_at_mut(4);
    let mut room = &mut *rest;
    for field in fields {
        let (now, later) = std::mem::take(&mut room).split_at_mut(field.len());
        now.copy_from_slice(field);
        room = later;
    }
    let mut sum = segment.record_sum();
    sum.update(rest);
    sum.update(payload);
    let sum = sum.value();
    first.copy_from_slice(&sum.to_le_bytes());
    (bytes, sum)
}

/// Reads the fields of a record's header without checking them; `None` when bytes are missing.
#[must_use]
pub(super) fn decode_record_header(
    segment: &SegmentHeader,
    bytes: &[u8],
) -> Option<(u32, RecordHeader)> {
    let mut reader = ByteReader::new(bytes);
    let sum = reader.u32()?;
    let mut header = RecordHeader {
        payload_len: reader.u32()?,
        sequence: reader.u64()?,
        table: reader.u32()?,
        updates: reader.u32()?,
        timestamp: reader.i64()?,
        synced: reader.u64()?,
        offset: 0,
    };
    if segment.version > 1 {
        header.offset = reader.u64()?;
    }
    Some((sum, header))
}

/// Reads the record at the start of `bytes`: its header and checksum. `None` unless there is a
/// complete, valid record of this segment. The caller checks its position.
#[must_use]
pub(super) fn decode_record(segment: &SegmentHeader, bytes: &[u8]) -> Option<(RecordHeader, u32)> {
    let (sum, header) = decode_record_header(segment, bytes)?;
    let payload = bytes
        .get(segment.record_header_bytes()..)?
        .get(..header.payload_len as usize)?;
    let mut actual = segment.record_sum();
    actual.update(bytes.get(4..segment.record_header_bytes())?);
    actual.update(payload);
    (actual.value() == sum).then_some((header, sum))
}
