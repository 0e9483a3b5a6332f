//! The frame of a sorted file: header, framed parts, description, footer.
//!
//! ```text
//! header             12 bytes: magic "ostrkSF\0", version u32
//! parts              data blocks, filter partitions, indexes, then the description; each framed
//! footer             40 bytes: offset u64 and stored bytes u64 of the description, identity u64, version u32,
//!                    checksum u32 of the 28 bytes before, magic "ostrkSFe"
//! ```
//!
//! The identity is a random number, not 0, chosen when the file is created. The catalog repeats it.
//!
//! A framed part is its codec (1 byte: 0 none, 1 LZ4, 2 Zstandard), its raw length (u32; for codec 0 the payload may
//! be longer than that can tell, and it is the payload's length modulo 2^32), the payload, and the checksum (u32) of
//! all that, xored with the lower half of the part's offset and with both halves of the identity, so that a part in
//! the wrong place or of another file does not pass.
//!
//! The description:
//!
//! ```text
//! number, table      varints: the number under which a store wrote the file, and the table's id; both 0 if none did
//! entries, deletes   varints
//! oldest, newest     timestamps, 8 bytes each
//! first, last row    each varint length, bytes
//! filter functor     1 byte: 0 no filter, 1 row, 2 row and family, 3 row, family and qualifier
//! partitions         varint count; each: first row (varint length, bytes), offset (varint), stored bytes (varint)
//! groups             varint count; each: name, families (varint count, each with length; the last group's are none:
//!                    it is the default one), index offset and stored bytes (varints), index levels (1 byte: 1 or 2),
//!                    blocks, entries (varints)
//! ```
//!
//! All fixed integers are little-endian. Version 1 has no identity (0 stands there), no number, no table and no index
//! levels: each of its indexes has one.

#![deny(clippy::indexing_slicing)]

use super::filter::FilterFunctor;
use super::index::BlockPlace;
use super::options::Origin;
use super::writer::FileSummary;
use crate::codec::put_length_prefixed;
use crate::codec::{BlockCodec, ByteReader, checksum, varint};

/// The version written, and the newest one read.
pub const VERSION: u32 = 2;

/// The first version whose files have an identity.
const VERSION_IDENTITY: u32 = 2;

const HEADER_MAGIC: [u8; 8] = *b"ostrkSF\0";
const FOOTER_MAGIC: [u8; 8] = *b"ostrkSFe";

/// Bytes of the header.
pub const HEADER_BYTES: usize = 12;
/// Bytes of the footer, whose layout is the same in every version.
pub const FOOTER_BYTES: usize = 40;

/// Bytes of a frame before its payload.
pub const FRAME_HEAD_BYTES: usize = 5;

/// Why bytes are not a valid sorted file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatError {
    /// The bytes are damaged.
    Corrupt(&'static str),
    /// Written by a newer version.
    Newer(u32),
}

/// Appends the header.
pub fn put_header(out: &mut Vec<u8>) {
    out.extend_from_slice(&HEADER_MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
}

/// Checks the first bytes of a file with the version in its footer.
pub fn check_header(bytes: &[u8], version: u32) -> Result<(), FormatError> {
    let mut reader = ByteReader::new(bytes);
    if reader.take_array() != Some(&HEADER_MAGIC) {
        return Err(FormatError::Corrupt(
            "the file does not begin as a sorted file",
        ));
    }
    match reader.u32() {
        Some(found) if found == version => Ok(()),
        _ => Err(FormatError::Corrupt(
            "the version in the header is not that of the footer",
        )),
    }
}

/// The position of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartPlace {
    /// Offset in the file.
    pub offset: u64,
    /// Stored bytes, frame included.
    pub bytes: u64,
}

/// The content of the footer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footer {
    /// Where the description lies.
    pub description: PartPlace,
    /// Unique per file; 0 in version 1.
    pub identity: u64,
    /// The file's version.
    pub version: u32,
}

impl From<BlockPlace> for PartPlace {
    fn from(place: BlockPlace) -> Self {
        Self {
            offset: place.offset,
            bytes: u64::from(place.bytes),
        }
    }
}

/// Appends the footer of a file with an identity that is not 0.
pub fn put_footer(description: PartPlace, identity: u64, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&description.offset.to_le_bytes());
    out.extend_from_slice(&description.bytes.to_le_bytes());
    out.extend_from_slice(&identity.to_le_bytes());
    out.extend_from_slice(&VERSION.to_le_bytes());
    let sum = checksum(out.get(start..).unwrap_or_default());
    out.extend_from_slice(&sum.to_le_bytes());
    out.extend_from_slice(&FOOTER_MAGIC);
}

/// Reads the last [`FOOTER_BYTES`] of a file.
pub fn read_footer(bytes: &[u8; FOOTER_BYTES]) -> Result<Footer, FormatError> {
    const CUT: FormatError = FormatError::Corrupt("the footer is damaged or the file was cut");
    let mut reader = ByteReader::new(bytes);
    let r = &mut reader;
    let offset = r.u64().ok_or(CUT)?;
    let stored = r.u64().ok_or(CUT)?;
    let identity = r.u64().ok_or(CUT)?;
    let version = r.u32().ok_or(CUT)?;
    let sum = r.u32().ok_or(CUT)?;
    let checked = bytes.get(..28).ok_or(CUT)?;
    if r.take_array() != Some(&FOOTER_MAGIC) || checksum(checked) != sum {
        return Err(CUT);
    }
    if version > VERSION {
        return Err(FormatError::Newer(version));
    }
    if version == 0 || (identity != 0) != (version >= VERSION_IDENTITY) {
        return Err(CUT);
    }
    Ok(Footer {
        description: PartPlace {
            offset,
            bytes: stored,
        },
        identity,
        version,
    })
}

/// The value that the checksum of a frame is xored with, from its offset and its file's identity.
#[inline]
fn place_mark(offset: u64, identity: u64) -> u32 {
    offset as u32 ^ identity as u32 ^ (identity >> 32) as u32
}

/// Begins a frame; the payload follows.
pub fn begin_frame(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; FRAME_HEAD_BYTES]);
    start
}

/// Ends the frame that begins at `start` of `out` and will begin at `offset` of the file with this identity.
pub fn end_frame(
    out: &mut Vec<u8>,
    start: usize,
    codec: BlockCodec,
    raw_len: usize,
    offset: u64,
    identity: u64,
) {
    if let Some(head) = out.get_mut(start..start + FRAME_HEAD_BYTES)
        && let Some((number, len)) = head.split_first_mut()
    {
        *number = codec.number();
        len.copy_from_slice(&(raw_len as u32).to_le_bytes());
    }
    let sum = checksum(out.get(start..).unwrap_or_default()) ^ place_mark(offset, identity);
    out.extend_from_slice(&sum.to_le_bytes());
}

/// The header of a frame, whose payload is `bytes[FRAME_HEAD_BYTES..bytes.len() - 4]`.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// How the payload is compressed.
    pub codec: BlockCodec,
    /// Bytes of the uncompressed payload.
    pub raw_len: usize,
}

/// Checks a frame read from `offset` of the file with this identity; `None` if it is damaged or of
/// another file.
pub fn read_frame(bytes: &[u8], offset: u64, identity: u64) -> Option<Frame> {
    let (checked, sum) = bytes.split_last_chunk::<4>()?;
    if checksum(checked) ^ place_mark(offset, identity) != u32::from_le_bytes(*sum) {
        return None;
    }
    let mut reader = ByteReader::new(checked);
    let codec = BlockCodec::from_number(reader.u8()?)?;
    let raw_len = reader.u32()?;
    let payload = reader.remaining();
    let raw_len = if codec == BlockCodec::None {
        if payload as u32 != raw_len {
            return None;
        }
        payload
    } else {
        raw_len as usize
    };
    Some(Frame { codec, raw_len })
}

/// The metadata of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Under which number a store wrote it; `None` if another program did.
    pub origin: Option<Origin>,
    /// Number of entries, delete markers included.
    pub entries: u64,
    /// Number of delete markers.
    pub deletes: u64,
    /// Oldest timestamp.
    pub oldest: i64,
    /// Newest timestamp.
    pub newest: i64,
    /// First row.
    pub first_row: Vec<u8>,
    /// Last row.
    pub last_row: Vec<u8>,
    /// The parts of a key in the filter, if there is one.
    pub functor: Option<FilterFunctor>,
    /// The filter's partitions, in order of rows.
    pub partitions: Vec<Partition>,
    /// The last one is the default group.
    pub groups: Vec<Group>,
}

/// One partition of the filter: for the rows from `first_row` up to and including that of the next
/// one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    /// Its first row.
    pub first_row: Vec<u8>,
    /// Where it lies.
    pub place: PartPlace,
}

/// A locality group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: Vec<u8>,
    /// Its families; none for the default group.
    pub families: Vec<Vec<u8>>,
    /// Where its index lies, or the root of the index if it is partitioned.
    pub index: PartPlace,
    /// Whether the index is partitioned.
    pub partitioned: bool,
    /// Number of its blocks.
    pub blocks: u64,
    /// Number of its entries.
    pub entries: u64,
}

impl Description {
    /// The summary for users of a file of `bytes` bytes with this identity.
    #[must_use]
    pub fn summary(&self, bytes: u64, identity: u64) -> FileSummary {
        FileSummary {
            identity,
            bytes,
            entries: self.entries,
            deletes: self.deletes,
            first_row: self.first_row.clone(),
            last_row: self.last_row.clone(),
            oldest: self.oldest,
            newest: self.newest,
        }
    }

    /// The filter partitions for `row`: the last one that begins before it, and those that begin
    /// with it.
    pub fn candidates(&self, row: &[u8]) -> std::ops::Range<usize> {
        let before = self
            .partitions
            .partition_point(|p| p.first_row.as_slice() < row);
        let through = self
            .partitions
            .partition_point(|p| p.first_row.as_slice() <= row);
        before.saturating_sub(1)..through
    }

    /// The bytes of the description.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let (number, table) = self
            .origin
            .map_or((0, 0), |origin| (origin.number, origin.table));
        varint::put_u64(&mut out, number);
        varint::put_u64(&mut out, u64::from(table));
        varint::put_u64(&mut out, self.entries);
        varint::put_u64(&mut out, self.deletes);
        out.extend_from_slice(&self.oldest.to_le_bytes());
        out.extend_from_slice(&self.newest.to_le_bytes());
        put_length_prefixed(&mut out, &self.first_row);
        put_length_prefixed(&mut out, &self.last_row);
        out.push(self.functor.map_or(0, |functor| functor as u8));
        varint::put_u64(&mut out, self.partitions.len() as u64);
        for partition in &self.partitions {
            put_length_prefixed(&mut out, &partition.first_row);
            put_place(partition.place, &mut out);
        }
        varint::put_u64(&mut out, self.groups.len() as u64);
        for group in &self.groups {
            put_length_prefixed(&mut out, &group.name);
            varint::put_u64(&mut out, group.families.len() as u64);
            for family in &group.families {
                put_length_prefixed(&mut out, family);
            }
            put_place(group.index, &mut out);
            out.push(if group.partitioned {
                TWO_LEVELS
            } else {
                ONE_LEVEL
            });
            varint::put_u64(&mut out, group.blocks);
            varint::put_u64(&mut out, group.entries);
        }
        out
    }

    /// Decodes a description of a file of some version; `None` if the bytes are invalid.
    pub fn decode(bytes: &[u8], version: u32) -> Option<Self> {
        let mut reader = ByteReader::new(bytes);
        let r = &mut reader;
        let is_first = version < VERSION_IDENTITY;
        let origin = match is_first {
            true => None,
            false => {
                let (number, table) = (r.varint_u64()?, u32::try_from(r.varint_u64()?).ok()?);
                (number > 0).then_some(Origin { number, table })
            }
        };
        let mut description = Self {
            origin,
            entries: r.varint_u64()?,
            deletes: r.varint_u64()?,
            oldest: r.i64()?,
            newest: r.i64()?,
            first_row: r.length_prefixed()?.to_vec(),
            last_row: r.length_prefixed()?.to_vec(),
            functor: match r.u8()? {
                0 => None,
                number => Some(FilterFunctor::from_number(number)?),
            },
            ..Self::default()
        };
        for _ in 0..r.varint_u64()? {
            description.partitions.push(Partition {
                first_row: r.length_prefixed()?.to_vec(),
                place: read_place(r)?,
            });
        }
        for _ in 0..r.varint_u64()? {
            let mut group = Group {
                name: r.length_prefixed()?.to_vec(),
                ..Group::default()
            };
            for _ in 0..r.varint_u64()? {
                group.families.push(r.length_prefixed()?.to_vec());
            }
            group.index = read_place(r)?;
            group.partitioned = match is_first {
                true => false,
                false => match r.u8()? {
                    ONE_LEVEL => false,
                    TWO_LEVELS => true,
                    _ => return None,
                },
            };
            group.blocks = r.varint_u64()?;
            group.entries = r.varint_u64()?;
            description.groups.push(group);
        }
        (r.is_empty() && !description.groups.is_empty()).then_some(description)
    }
}

const ONE_LEVEL: u8 = 1;
const TWO_LEVELS: u8 = 2;

fn put_place(place: PartPlace, out: &mut Vec<u8>) {
    varint::put_u64(out, place.offset);
    varint::put_u64(out, place.bytes);
}

fn read_place(reader: &mut ByteReader<'_>) -> Option<PartPlace> {
    Some(PartPlace {
        offset: reader.varint_u64()?,
        bytes: reader.varint_u64()?,
    })
}
