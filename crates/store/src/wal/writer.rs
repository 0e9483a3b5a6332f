//! Appends records to the current segment and begins new segments.

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::{
    RECORD_HEADER_BYTES, RecordHeader, SEGMENT_HEADER_BYTES, SegmentEnd, SegmentHeader, VERSION,
    encode_record_header, encode_segment_header,
};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::numbered;
use crate::vfs::{RandomAccessFile, Vfs, WritableFile};

/// The store and the opening of it that write a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogOrigin {
    /// The id of the store, which never changes.
    pub store: u64,
    /// Random for each opening, so that leftovers of an earlier one are never taken for records.
    pub session: u64,
}

/// The writer of the log.
pub struct WalWriter {
    vfs: Arc<dyn Vfs>,
    dir: PathBuf,
    origin: LogOrigin,
    segment: SegmentHeader,
    file: SegmentFile,
    synced: u64,
    /// Checksum of the last record, or of the segment's header.
    sum: u32,
    /// Sequence of the last batch in the log.
    sequence: u64,
    headers: Vec<[u8; RECORD_HEADER_BYTES]>,
}

/// The file of the current segment.
enum SegmentFile {
    /// A segment begun by this writer.
    Begun(Box<dyn WritableFile>),
    /// An existing segment, continued at this offset.
    Continued {
        file: Arc<dyn RandomAccessFile>,
        position: u64,
    },
}

impl SegmentFile {
    fn position(&self) -> u64 {
        match self {
            Self::Begun(file) => file.position(),
            Self::Continued { position, .. } => *position,
        }
    }

    fn append(&mut self, slices: &[IoSlice<'_>], then_sync: bool) -> StoreResult<()> {
        match self {
            Self::Begun(file) if then_sync => file.write_through(slices),
            Self::Begun(file) => file.write_vectored(slices),
            Self::Continued { file, position } => {
                let bytes: Vec<u8> = slices
                    .iter()
                    .flat_map(|slice| slice.iter().copied())
                    .collect();
                file.write_at(*position, &bytes)?;
                *position += bytes.len() as u64;
                Ok(())
            }
        }
    }

    fn sync(&mut self) -> StoreResult<()> {
        match self {
            Self::Begun(file) => file.sync_data(),
            Self::Continued { file, .. } => file.sync_data(),
        }
    }
}

/// Larger groups are not written to a continued segment, which uses a different write path.
const CONTINUED_GROUP_BYTES: usize = 64 << 10;

/// A segment that ended cleanly, and may be continued.
#[derive(Debug, Clone)]
pub struct OpenEnd {
    segment: SegmentHeader,
    end: SegmentEnd,
}

impl OpenEnd {
    /// The end of a segment with this header, all of it on the disk; `None` for an older format
    /// version.
    pub(super) fn of(segment: SegmentHeader, end: SegmentEnd) -> Option<Self> {
        (segment.version == VERSION).then_some(Self { segment, end })
    }
}

pub(super) const SEGMENT_ENDING: &str = ".wal";

/// The file of segment `number`.
pub(super) fn segment_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(numbered::name(number, SEGMENT_ENDING))
}

impl WalWriter {
    /// Begins segment `number` in `dir` after one that ended with `previous`; the default if there
    /// is none.
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
            file: SegmentFile::Begun(file),
            synced: SEGMENT_HEADER_BYTES as u64,
            sequence: previous.sequence,
            headers: Vec::new(),
        })
    }

    /// Continues a segment of an earlier writer. Does not touch the disk before something is
    /// written, unless the segment has other names.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn resume(
        vfs: &Arc<dyn Vfs>,
        dir: &Path,
        origin: LogOrigin,
        at: &OpenEnd,
    ) -> StoreResult<Self> {
        let file = vfs.open_in_place(&segment_path(dir, at.segment.number))?;
        Ok(Self {
            vfs: vfs.clone(),
            dir: dir.to_owned(),
            origin,
            segment: at.segment,
            file: SegmentFile::Continued {
                file,
                position: at.end.bytes,
            },
            synced: at.end.bytes,
            sum: at.end.sum,
            sequence: at.end.sequence,
            headers: Vec::new(),
        })
    }

    /// Begins another segment if the present one is a continued one and a group of this many bytes
    /// follows. Returns whether it did.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn make_way_for(&mut self, bytes: usize) -> StoreResult<bool> {
        let is_continued = matches!(self.file, SegmentFile::Continued { .. });
        if !is_continued || bytes <= CONTINUED_GROUP_BYTES {
            return Ok(false);
        }
        self.roll()?;
        Ok(true)
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

    /// The present end of the current segment, for the header of the next one.
    #[must_use]
    pub fn end(&self) -> SegmentEnd {
        SegmentEnd {
            bytes: self.file.position(),
            sum: self.sum,
            sequence: self.sequence,
        }
    }

    /// Appends records, whose sequences must rise, and passes them to the operating system; they
    /// are not yet on the disk. `then_sync` when [`sync`](Self::sync) is called right after.
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
        self.file.append(&slices, then_sync)
    }

    /// Puts everything appended on the disk.
    pub fn sync(&mut self) -> StoreResult<()> {
        let end = self.file.position();
        if self.synced < end {
            self.file.sync()?;
            self.synced = end;
        }
        Ok(())
    }

    /// Ends and syncs the segment, and begins the next. So only the last segment of a log may have
    /// a torn end.
    pub fn roll(&mut self) -> StoreResult<()> {
        self.sync()?;
        let next = self.segment.number + 1;
        let (segment, file) = begin(&self.vfs, &self.dir, next, self.origin, self.end())?;
        self.sum = segment.sum;
        self.segment = segment;
        self.file = SegmentFile::Begun(file);
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
    // A segment that is not found by its name would be lost.
    if number >= numbered::END {
        return Err(Error::new(
            ErrorKind::Corruption,
            "the log has no number left for another segment, because a file in its directory has the last one",
        )
        .with("directory", dir.display()));
    }
    let path = segment_path(dir, number);
    let mut file = vfs.create(&path)?;
    let (header, bytes) = encode_segment_header(number, origin.store, origin.session, previous);
    file.write_all(&bytes)?;
    file.sync_data()?;
    vfs.sync_names(dir, &[&path])?;
    Ok((header, file))
}
