//! Appends records to the current segment and rolls segments over.

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::{
    NO_TABLE, RECORD_HEADER_BYTES, RecordHeader, SEGMENT_HEADER_BYTES, SegmentEnd, SegmentHeader,
    encode_record_header, encode_segment_header,
};
use crate::error::StoreResult;
use crate::vfs::{Vfs, WritableFile};

/// Whose log it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogOrigin {
    /// Tells stores apart: the same number as long as the store lives.
    pub store: u64,
    /// Drawn anew for each opening, so that leftovers of an earlier one never pass for records.
    pub session: u64,
}

/// The writing end of the log.
pub struct WalWriter {
    vfs: Arc<dyn Vfs>,
    dir: PathBuf,
    origin: LogOrigin,
    segment: SegmentHeader,
    file: Box<dyn WritableFile>,
    synced: u64,
    /// Checksum of the last record, or of the segment's header.
    sum: u32,
    /// Sequence of the last batch in the log.
    sequence: u64,
    headers: Vec<[u8; RECORD_HEADER_BYTES]>,
}

/// The file of segment `number`.
pub(super) fn segment_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:016}.wal"))
}

impl WalWriter {
    /// Begins segment `number` in `dir`, behind one that ended as `previous` says; the default if
    /// there is none.
    pub fn create(
        vfs: &Arc<dyn Vfs>,
        dir: &Path,
        number: u64,
        origin: LogOrigin,
        previous: SegmentEnd,
    ) -> StoreResult<Self> {
        let (segment, file) = begin(vfs, dir, number, origin, previous)?;
        Ok(Self {
            vfs: vfs.clone(),
            dir: dir.to_owned(),
            origin,
            sum: segment.sum,
            segment,
            file,
            synced: SEGMENT_HEADER_BYTES as u64,
            sequence: previous.sequence,
            headers: Vec::new(),
        })
    }

    /// Number of the current segment.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.segment.number
    }

    /// Bytes in the current segment.
    #[must_use]
    pub fn segment_bytes(&self) -> u64 {
        self.file.position()
    }

    /// The end of the current segment as it is now: what a segment behind it must be begun with.
    #[must_use]
    pub fn end(&self) -> SegmentEnd {
        SegmentEnd {
            bytes: self.file.position(),
            sum: self.sum,
            sequence: self.sequence,
        }
    }

    /// Appends records, whose sequences rise, and hands them to the operating system; not yet on
    /// the disk. `then_sync` when [`sync`](Self::sync) is called at once.
    pub fn append<'a>(
        &mut self,
        records: impl Iterator<Item = (RecordHeader, &'a [u8])>,
        then_sync: bool,
    ) -> StoreResult<()> {
        self.headers.clear();
        let mut payloads: Vec<&[u8]> = Vec::new();
        let mut offset = self.file.position();
        for (mut header, payload) in records {
            header.payload_len = payload.len() as u32;
            header.synced = self.synced;
            header.offset = offset;
            offset += (RECORD_HEADER_BYTES + payload.len()) as u64;
            let (bytes, sum) = encode_record_header(&self.segment, &header, payload);
            self.headers.push(bytes);
            self.sum = sum;
            self.sequence = self.sequence.max(header.sequence);
            payloads.push(payload);
        }
        let slices: Vec<IoSlice<'_>> = self
            .headers
            .iter()
            .zip(&payloads)
            .flat_map(|(header, payload)| [IoSlice::new(header), IoSlice::new(payload)])
            .collect();
        if then_sync {
            self.file.write_through(&slices)
        } else {
            self.file.write_vectored(&slices)
        }
    }

    /// Puts everything appended on the disk.
    pub fn sync(&mut self) -> StoreResult<()> {
        let end = self.file.position();
        if self.synced < end {
            self.file.sync_data()?;
            self.synced = end;
        }
        Ok(())
    }

    /// Writes what says, to whoever opens the store next, that all before it was on the disk: the last
    /// segment of a store that was closed has no torn end, and an unreadable record in it is damage.
    /// Needs no sync of its own: without it the segment reads as after a crash.
    pub fn seal(&mut self) -> StoreResult<()> {
        self.sync()?;
        if self.synced <= SEGMENT_HEADER_BYTES as u64 {
            return Ok(());
        }
        let seal = RecordHeader {
            table: NO_TABLE,
            sequence: self.sequence,
            ..RecordHeader::default()
        };
        self.append([(seal, &b""[..])].into_iter(), false)
    }

    /// Ends the segment, on the disk, and begins the next. Only the last segment of a log may thus
    /// have a torn end.
    pub fn roll(&mut self) -> StoreResult<()> {
        self.sync()?;
        let next = self.segment.number + 1;
        let (segment, file) = begin(&self.vfs, &self.dir, next, self.origin, self.end())?;
        self.sum = segment.sum;
        self.segment = segment;
        self.file = file;
        self.synced = SEGMENT_HEADER_BYTES as u64;
        Ok(())
    }
}

fn begin(
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    number: u64,
    origin: LogOrigin,
    previous: SegmentEnd,
) -> StoreResult<(SegmentHeader, Box<dyn WritableFile>)> {
    let mut file = vfs.create(&segment_path(dir, number))?;
    let (header, bytes) = encode_segment_header(number, origin.store, origin.session, previous);
    file.write_all(&bytes)?;
    file.sync_data()?;
    vfs.sync_dir(dir)?;
    Ok((header, file))
}
