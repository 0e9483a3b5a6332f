//! Lends a file of the store's disk to redb, and carries the disk's errors through it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use redb::StorageBackend;

use crate::error::{Error, ErrorKind, StoreResult};
use crate::vfs::RandomAccessFile;

/// redb's view of a file. The store's own lock keeps others out, so redb needs none.
#[derive(Debug)]
pub(super) struct Backend(pub(super) Arc<dyn RandomAccessFile>);

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.0.len().map_err(io::Error::other)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read_at(offset, out).map_err(io::Error::other)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len).map_err(io::Error::other)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data().map_err(io::Error::other)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, data).map_err(io::Error::other)
    }
}

impl Backend {
    /// Writes the file's bytes over themselves and syncs them. A sync that failed before the store
    /// was reopened may have left pages in the operating system's hands that it takes for written:
    /// a later power loss would take them, and the catalog with them.
    pub(super) fn refresh(&self) -> StoreResult<()> {
        const PIECE_BYTES: u64 = 1 << 20;
        let len = self.0.len()?;
        let mut piece = vec![0; PIECE_BYTES.min(len) as usize];
        let mut at = 0;
        while at < len {
            piece.truncate((len - at) as usize);
            self.0.read_at(at, &mut piece)?;
            self.0.write_at(at, &piece)?;
            at += piece.len() as u64;
        }
        self.0.sync_data()
    }
}

/// A copy of a catalog in memory, for a store that is opened read-only: redb writes when it opens a
/// file, and that stays in the copy.
#[derive(Debug)]
pub(super) struct Copied(pub(super) Mutex<Vec<u8>>);

impl StorageBackend for Copied {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let bytes = self.0.lock();
        let from = bytes
            .get(offset as usize..)
            .and_then(|rest| rest.get(..out.len()))
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(from);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.lock().resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut bytes = self.0.lock();
        let to = bytes
            .get_mut(offset as usize..)
            .and_then(|rest| rest.get_mut(..data.len()))
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        to.copy_from_slice(data);
        Ok(())
    }
}

/// Turns redb's errors into ours, with the catalog's path.
#[derive(Clone, Debug)]
pub(super) struct Failing {
    path: PathBuf,
}

impl Failing {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The error of a call to redb.
    pub(super) fn error(&self, cause: impl Into<redb::Error>) -> Error {
        let cause = cause.into();
        let error = match &cause {
            redb::Error::Corrupted(_) | redb::Error::TableTypeMismatch { .. } => {
                Error::new(ErrorKind::Corruption, RESTORE)
            }
            redb::Error::UpgradeRequired(version) => Error::new(
                ErrorKind::NewerFormat,
                format!("the catalog's file has version {version}, which this version cannot read"),
            ),
            redb::Error::PreviousIo | redb::Error::DatabaseClosed => Error::new(
                ErrorKind::ReadOnly,
                "an earlier write to the catalog failed, so it accepts no more; reopen the store",
            ),
            redb::Error::Io(io) => {
                match io.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
                    // Ours, from below redb: its kind tells what to do.
                    Some(ours) => Error::new(ours.kind(), "the catalog cannot be read or written"),
                    // redb's own: it found no database in the file.
                    None if io.kind() == io::ErrorKind::InvalidData => {
                        Error::new(ErrorKind::Corruption, RESTORE)
                    }
                    None => Error::new(ErrorKind::Io, "the catalog cannot be read or written"),
                }
            }
            _ => Error::new(ErrorKind::Internal, "the catalog's library refused a call"),
        };
        error.with("file", self.path.display()).with_source(cause)
    }

    /// Adds the catalog's path to an error of a record.
    pub(super) fn record(&self, error: Error) -> Error {
        error.with("file", self.path.display())
    }
}

const RESTORE: &str = "the catalog is damaged; restore the store from a checkpoint";
