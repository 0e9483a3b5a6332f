//! Appends records to the current segment and rolls segments over.

use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::{
    RECORD_HEADER_BYTES, RecordHeader, SEGMENT_HEADER_BYTES, encode_record_header,
    encode_segment_header,
};
use crate::error::StoreResult;
use crate::vfs::{Vfs, WritableFile};

/// What a seal has for its table: ids begin with 1, and recovery passes over those it does not know.
const NO_TABLE: u32 = 0;

/// The writing end of the log.
pub struct WalWriter {
    vfs: Arc<dyn Vfs>,
    dir: PathBuf,
    number: u64,
    file: Box<dyn WritableFile>,
    synced: u64,
    headers: Vec<[u8; RECORD_HEADER_BYTES]>,
}

/// The file of segment `number`.
pub(super) fn segment_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:016}.wal"))
}

impl WalWriter {
    /// Begins segment `number` in `dir`.
    pub fn create(vfs: &Arc<dyn Vfs>, dir: &Path, number: u64) -> StoreResult<Self> {
        let file = begin(vfs, dir, number)?;
        Ok(Self {
            vfs: vfs.clone(),
            dir: dir.to_owned(),
            number,
            file,
            synced: SEGMENT_HEADER_BYTES as u64,
            headers: Vec::new(),
        })
    }

    /// Number of the current segment.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Bytes in the current segment.
    #[must_use]
    pub fn segment_bytes(&self) -> u64 {
        self.file.position()
    }

    /// Appends records and hands them to the operating system; not yet on the disk. `then_sync` when
    /// [`sync`](Self::sync) is called at once.
    pub fn append<'a>(
        &mut self,
        records: impl Iterator<Item = (RecordHeader, &'a [u8])>,
        then_sync: bool,
    ) -> StoreResult<()> {
        self.headers.clear();
        let mut payloads: Vec<&[u8]> = Vec::new();
        for (mut header, payload) in records {
            header.payload_len = payload.len() as u32;
            header.synced = self.synced;
            self.headers.push(encode_record_header(&header, payload));
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
            ..RecordHeader::default()
        };
        self.append([(seal, &b""[..])].into_iter(), false)
    }

    /// Ends the segment, on the disk, and begins the next. Only the last segment of a log may thus
    /// have a torn end.
    pub fn roll(&mut self) -> StoreResult<()> {
        self.sync()?;
        self.file = begin(&self.vfs, &self.dir, self.number + 1)?;
        self.number += 1;
        self.synced = SEGMENT_HEADER_BYTES as u64;
        Ok(())
    }
}

fn begin(vfs: &Arc<dyn Vfs>, dir: &Path, number: u64) -> StoreResult<Box<dyn WritableFile>> {
    let mut file = vfs.create(&segment_path(dir, number))?;
    file.write_all(&encode_segment_header(number))?;
    file.sync_data()?;
    vfs.sync_dir(dir)?;
    Ok(file)
}
