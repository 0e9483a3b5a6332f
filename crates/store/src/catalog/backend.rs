//! Gives redb access to the catalog's two files, and passes the disk's errors through it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use redb::StorageBackend;

use crate::error::{Error, ErrorKind, StoreResult};
use crate::vfs::RandomAccessFile;

/// The catalog's file and its mirror. Both get every write, in the same order, and both are synced
/// before a commit returns; only the first is read.
#[derive(Debug)]
pub(super) struct Pair {
    first: Arc<dyn RandomAccessFile>,
    /// Missing only while a catalog is created.
    mirror: OnceLock<Arc<dyn RandomAccessFile>>,
    /// Held while the two differ. redb lets one transaction write at a time, so only
    /// [`at_rest`](Self::at_rest) contends for it.
    writing: Mutex<()>,
}

impl Pair {
    /// A file without a mirror.
    pub(super) fn alone(first: Arc<dyn RandomAccessFile>) -> Arc<Self> {
        Arc::new(Self {
            first,
            mirror: OnceLock::new(),
            writing: Mutex::new(()),
        })
    }

    /// Both files, which have the same bytes.
    pub(super) fn of(
        first: Arc<dyn RandomAccessFile>,
        mirror: Arc<dyn RandomAccessFile>,
    ) -> Arc<Self> {
        let pair = Self::alone(first);
        let _ = pair.mirror.set(mirror);
        pair
    }

    pub(super) fn is_empty(&self) -> StoreResult<bool> {
        Ok(self.first.len()? == 0)
    }

    /// Creates a mirror of the first file's bytes through `make`, and writes to both from then on.
    pub(super) fn attach(
        &self,
        make: impl FnOnce(&[u8]) -> StoreResult<Arc<dyn RandomAccessFile>>,
    ) -> StoreResult<()> {
        self.at_rest(|| {
            let mut bytes = vec![0; self.first.len()? as usize];
            self.first.read_at(0, &mut bytes)?;
            let _ = self.mirror.set(make(&bytes)?);
            Ok(())
        })
    }

    /// Runs `work` while neither file is written to. The files are then in the state that a killed
    /// process would leave.
    pub(super) fn at_rest<T>(&self, work: impl FnOnce() -> T) -> T {
        let _writing = self.writing.lock();
        work()
    }

    /// Makes the same change to both files.
    fn both(&self, change: impl Fn(&dyn RandomAccessFile) -> StoreResult<()>) -> io::Result<()> {
        let _writing = self.writing.lock();
        change(&*self.first).map_err(io::Error::other)?;
        match self.mirror.get() {
            Some(mirror) => change(&**mirror).map_err(io::Error::other),
            None => Ok(()),
        }
    }

    /// Rewrites the first file's bytes in place and syncs them. A failed sync before the store was
    /// reopened may have left pages in the page cache that count as written: a later power failure
    /// would lose them, and the catalog with them. The mirror is not changed: if it lost pages, the
    /// next opening creates a new one.
    pub(super) fn refresh(&self) -> StoreResult<()> {
        const PIECE_BYTES: u64 = 1 << 20;
        let len = self.first.len()?;
        let mut piece = vec![0; PIECE_BYTES.min(len) as usize];
        let mut at = 0;
        while at < len {
            piece.truncate((len - at) as usize);
            self.first.read_at(at, &mut piece)?;
            self.first.write_at(at, &piece)?;
            at += piece.len() as u64;
        }
        self.first.sync_data()
    }
}

/// redb's view of the files. The store's own lock keeps other processes out, so redb needs none.
#[derive(Debug)]
pub(super) struct Backend(pub(super) Arc<Pair>);

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.0.first.len().map_err(io::Error::other)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.first.read_at(offset, out).map_err(io::Error::other)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.both(|file| file.set_len(len))
    }

    /// The first file first: the mirror is never ahead of it, except by unacknowledged commits.
    fn sync_data(&self) -> io::Result<()> {
        self.0.both(|file| file.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.both(|file| file.write_at(offset, data))
    }
}

/// A copy of a catalog in memory, for a store that is opened read-only: redb writes when it opens a
/// file, and these writes stay in the copy.
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

/// Converts redb's errors to the store's, with the catalog's path.
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
                    // Our own error, passed through redb: its kind tells what to do.
                    Some(ours) => Error::new(ours.kind(), "the catalog cannot be read or written"),
                    // redb's own error: it found no database in the file. Or that of a copy in
                    // memory, which is shorter than its header says.
                    None if matches!(
                        io.kind(),
                        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
                    ) =>
                    {
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
