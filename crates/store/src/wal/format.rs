//! The bytes of a log segment. Page: `docs/format/wal.md`.
//!
//! ```text
//! segment := header record*
//! header  := magic:8 version:u32 number:u64 checksum:u32          checksum over the 20 bytes before
//! record  := checksum:u32 payload_len:u32 sequence:u64 table:u32 updates:u32 timestamp:i64
//!            synced:u64 payload
//! ```
//!
//! All integers are little-endian. A record's checksum (CRC-32C) covers everything behind it, the
//! payload included. `synced` is the length of the segment that was known to be on the disk when
//! the record was written: it tells a torn end (after it) from damage (before it).
#![deny(clippy::indexing_slicing)]

use crate::codec::{ByteReader, Checksum, checksum};
use crate::error::{Error, ErrorKind, StoreResult};

/// First bytes of every segment.
pub(super) const MAGIC: [u8; 8] = *b"OSTKWAL\n";
/// The version this code writes, and the newest it reads.
pub(super) const VERSION: u32 = 1;
/// Bytes of a segment's header.
pub const SEGMENT_HEADER_BYTES: usize = 24;
/// Bytes of a record's header.
pub const RECORD_HEADER_BYTES: usize = 40;

/// What stands before a record's payload, the checksum apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordHeader {
    /// Bytes of payload.
    pub payload_len: u32,
    /// Position of the batch among all batches of the store; grows by one.
    pub sequence: u64,
    /// The table's id.
    pub table: u32,
    /// Column updates in the payload.
    pub updates: u32,
    /// Timestamp of the updates that carry none of their own.
    pub timestamp: i64,
    /// Bytes of this segment known to be on the disk when the record was written.
    pub synced: u64,
}

/// The header of segment `number`.
#[must_use]
pub(super) fn encode_segment_header(number: u64) -> [u8; SEGMENT_HEADER_BYTES] {
    let mut bytes = Vec::with_capacity(SEGMENT_HEADER_BYTES);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&number.to_le_bytes());
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    let mut header = [0; SEGMENT_HEADER_BYTES];
    header.copy_from_slice(&bytes);
    header
}

/// Reads a segment's header; returns its number.
///
/// # Errors
/// [`ErrorKind::Corruption`] for any other bytes, [`ErrorKind::NewerFormat`] for a later version.
pub(super) fn decode_segment_header(bytes: &[u8]) -> StoreResult<u64> {
    let corrupt = || Error::corruption("the file does not begin like a log segment");
    let head = bytes.get(..SEGMENT_HEADER_BYTES).ok_or_else(corrupt)?;
    let (body, sum) = head.split_last_chunk::<4>().ok_or_else(corrupt)?;
    let mut reader = ByteReader::new(body);
    if reader.take_array::<8>() != Some(&MAGIC) {
        return Err(corrupt());
    }
    let version = reader.u32().ok_or_else(corrupt)?;
    let number = reader.u64().ok_or_else(corrupt)?;
    if checksum(body) != u32::from_le_bytes(*sum) {
        return Err(corrupt());
    }
    if version > VERSION {
        return Err(Error::new(
            ErrorKind::NewerFormat,
            "the log was written by a newer version: open the store with that one",
        )
        .with("version found", version)
        .with("newest readable", VERSION));
    }
    Ok(number)
}

/// The header of a record, checksum first.
#[must_use]
pub(super) fn encode_record_header(
    header: &RecordHeader,
    payload: &[u8],
) -> [u8; RECORD_HEADER_BYTES] {
    let mut body = Vec::with_capacity(RECORD_HEADER_BYTES);
    body.extend_from_slice(&header.payload_len.to_le_bytes());
    body.extend_from_slice(&header.sequence.to_le_bytes());
    body.extend_from_slice(&header.table.to_le_bytes());
    body.extend_from_slice(&header.updates.to_le_bytes());
    body.extend_from_slice(&header.timestamp.to_le_bytes());
    body.extend_from_slice(&header.synced.to_le_bytes());
    let mut sum = Checksum::new();
    sum.update(&body);
    sum.update(payload);
    let mut bytes = [0; RECORD_HEADER_BYTES];
    let (first, rest) = bytes.split_at_mut(4);
    first.copy_from_slice(&sum.value().to_le_bytes());
    rest.copy_from_slice(&body);
    bytes
}

/// Reads the fields of a record's header without judging them; `None` when bytes are missing.
#[must_use]
pub(super) fn decode_record_header(bytes: &[u8]) -> Option<(u32, RecordHeader)> {
    let mut reader = ByteReader::new(bytes);
    let sum = reader.u32()?;
    let header = RecordHeader {
        payload_len: reader.u32()?,
        sequence: reader.u64()?,
        table: reader.u32()?,
        updates: reader.u32()?,
        timestamp: reader.i64()?,
        synced: reader.u64()?,
    };
    Some((sum, header))
}

/// Reads the record at the start of `bytes`: its header and payload. `None` when there is no
/// whole, unharmed record.
#[must_use]
pub(super) fn decode_record(bytes: &[u8]) -> Option<(RecordHeader, &[u8])> {
    let (sum, header) = decode_record_header(bytes)?;
    let payload = bytes
        .get(RECORD_HEADER_BYTES..)?
        .get(..header.payload_len as usize)?;
    let mut actual = Checksum::new();
    actual.update(bytes.get(4..RECORD_HEADER_BYTES)?);
    actual.update(payload);
    (actual.value() == sum).then_some((header, payload))
}
