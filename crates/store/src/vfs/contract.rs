//! What a disk owes the store.

use std::ffi::OsString;
use std::fmt::Debug;
use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, StoreResult};

/// A disk.
///
/// What an implementer owes:
///
/// * A write that returned is seen by every later read in any process (the operating system has
///   it), and survives the death of this process. It survives loss of power only after
///   [`WritableFile::sync_data`].
/// * A created, renamed, linked or removed name survives loss of power only after [`Vfs::sync_dir`]
///   on the directory that holds it. File contents and names are independent: each needs its own
///   sync.
/// * `rename` is atomic: after a crash the target is either the old file or the new one.
/// * Errors name the path and the operation, and their kind tells what to do: `NotFound`,
///   `AlreadyExists`, `OutOfSpace`, `TooManyOpenFiles`, `ReadOnly`, `PermissionDenied`, `Locked`,
///   `Corruption` (a file shorter than it should be), else `Io`.
///
/// Paths are those of the operating system. Handed around as `Arc<dyn Vfs>`.
pub trait Vfs: Send + Sync + Debug {
    /// Creates a file and opens it for appending. `AlreadyExists` if there is one.
    fn create(&self, path: &Path) -> StoreResult<Box<dyn WritableFile>>;

    /// Creates a file that is written once, from beginning to end, as fast as the disk allows.
    /// `AlreadyExists` if there is one.
    fn create_streaming(&self, path: &Path) -> StoreResult<Box<dyn StreamingFile>> {
        Ok(Box::new(Streamed::new(self.create(path)?)))
    }

    /// Opens a file of which long pieces are read once, in ascending order.
    fn open_sequential(&self, path: &Path) -> StoreResult<Arc<dyn SequentialFile>> {
        Ok(Arc::new(self.open(path)?))
    }

    /// Has `job`, which reads a piece of a file, done by a thread of the disk's own while the caller
    /// does something else. A disk without such threads, which is the default, gives it back.
    fn spawn_io(&self, job: Job) -> Result<(), Job> {
        Err(job)
    }

    /// Opens a file for reading at any offset.
    fn open(&self, path: &Path) -> StoreResult<Arc<dyn ReadableFile>>;

    /// Opens a file for reading and writing at any offset; an absent one is created empty.
    fn open_random(&self, path: &Path) -> StoreResult<Arc<dyn RandomAccessFile>>;

    /// Gives a file another name, replacing a file that has that name. Atomic.
    fn rename(&self, from: &Path, to: &Path) -> StoreResult<()>;

    /// Removes a file. Open handles keep working until dropped.
    fn remove(&self, path: &Path) -> StoreResult<()>;

    /// Gives a file a second name. `AlreadyExists` if the name is taken.
    fn hard_link(&self, from: &Path, to: &Path) -> StoreResult<()>;

    /// The entries of a directory, sorted by name.
    fn list(&self, dir: &Path) -> StoreResult<Vec<DirectoryEntry>>;

    /// Creates a directory and its missing parents; succeeds if it exists.
    fn create_dir_all(&self, dir: &Path) -> StoreResult<()>;

    /// Removes an empty directory.
    fn remove_dir(&self, dir: &Path) -> StoreResult<()>;

    /// Whether a file or directory has this name.
    fn exists(&self, path: &Path) -> StoreResult<bool>;

    /// Length of a file in bytes.
    fn len(&self, path: &Path) -> StoreResult<u64>;

    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &Path) -> StoreResult<()>;

    /// Takes the exclusive lock of the directory that holds `path`, and says in that file, which is
    /// created if absent, by whom.
    ///
    /// Never waits. If another process, or another handle in this one, holds the lock, shared or not:
    /// `Locked`, and the message names a holder (process id and command). The lock ends when the guard
    /// is dropped or the process dies. It holds although the file is removed or replaced.
    fn lock(&self, path: &Path) -> StoreResult<Box<dyn FileLock>>;

    /// Takes the lock of the directory that holds `path` together with others that only read.
    /// Changes nothing on the disk, and needs no permission but to read the directory.
    ///
    /// Never waits. `Locked` while somebody holds the exclusive lock. A disk without shared locks takes
    /// the exclusive one, which is the default.
    fn lock_shared(&self, path: &Path) -> StoreResult<Box<dyn FileLock>> {
        self.lock(path)
    }

    /// Bytes that may still be written to the file system holding `dir`.
    fn free_space(&self, dir: &Path) -> StoreResult<u64>;

    /// [`create_dir_all`](Self::create_dir_all), and makes every name that was missing durable:
    /// what is synced inside a directory is lost with the directory's own name.
    fn create_dir_durably(&self, dir: &Path) -> StoreResult<()> {
        let mut parents = Vec::new();
        let mut at = dir;
        while let Some(parent) = at.parent()
            && !self.exists(at)?
        {
            parents.push(parent);
            at = parent;
            if at.as_os_str().is_empty() {
                break;
            }
        }
        self.create_dir_all(dir)?;
        parents.iter().try_for_each(|parent| self.sync_dir(parent))
    }

    /// The whole content of a small file; an error if it is longer than `max_bytes`.
    fn read_to_vec(&self, path: &Path, max_bytes: u64) -> StoreResult<Vec<u8>> {
        let file = self.open(path)?;
        let len = file.len()?;
        if len > max_bytes {
            return Err(Error::new(
                ErrorKind::Corruption,
                format!("file of {len} bytes where at most {max_bytes} were expected"),
            )
            .with("file", path.display()));
        }
        let mut bytes = vec![0; len as usize];
        file.read_at(0, &mut bytes)?;
        Ok(bytes)
    }

    /// Replaces the content of a small file so that a crash leaves the old or the new one, never a
    /// mixture: writes `PATH.new`, syncs it, renames it, syncs the directory.
    fn replace(&self, path: &Path, bytes: &[u8]) -> StoreResult<()> {
        let mut name = path.as_os_str().to_owned();
        name.push(".new");
        let temporary = PathBuf::from(name);
        if self.exists(&temporary)? {
            self.remove(&temporary)?;
        }
        let mut file = self.create(&temporary)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_data());
        drop(file);
        written
            .and_then(|()| self.rename(&temporary, path))
            .inspect_err(|_| {
                // A full disk is no fuller than before.
                let _ = self.remove(&temporary);
            })?;
        match path.parent() {
            Some(dir) => self.sync_dir(dir),
            None => Ok(()),
        }
    }
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectoryEntry {
    /// The name, without the directory.
    pub name: OsString,
    /// Whether it is itself a directory.
    pub is_dir: bool,
}

/// A file that grows at its end. There is no buffer: each call is one system call, so hand over
/// large pieces.
///
/// After a failed write or sync the file refuses further writes and syncs, since the kernel may
/// have dropped the pages it could not write: what was written before can then no longer be made
/// durable.
pub trait WritableFile: Send + Debug {
    /// Appends all bytes. On error an unknown prefix of them may have been appended.
    fn write_all(&mut self, bytes: &[u8]) -> StoreResult<()>;

    /// Appends all slices in order, in as few system calls as the system allows.
    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> StoreResult<()>;

    /// As [`write_vectored`](Self::write_vectored), for what is synced at once: a disk may then do in one
    /// go what would else be done twice. What it promises is the same.
    fn write_through(&mut self, slices: &[IoSlice<'_>]) -> StoreResult<()> {
        self.write_vectored(slices)
    }

    /// Makes everything written so far durable, including the length of the file.
    fn sync_data(&mut self) -> StoreResult<()>;

    /// A handle that makes this file durable from another thread while its owner goes on appending.
    fn syncer(&self) -> Arc<dyn FileSyncer>;

    /// Bytes appended so far, which is the offset of the next one.
    fn position(&self) -> u64;

    /// Hint: this file will hold about `bytes` in all. Reserves room without changing the length; a
    /// system that cannot do so ignores it, but a full disk is reported as `OutOfSpace`.
    fn allocate(&mut self, bytes: u64) -> StoreResult<()>;

    /// Hint: start writing this range to the disk now, without waiting, so that a later sync has
    /// less to do. Promises nothing about durability.
    fn start_writeback(&mut self, offset: u64, bytes: u64);

    /// The path given when the file was created.
    fn path(&self) -> &Path;
}

/// A file that is written once, from beginning to end. What was handed over may stand in this
/// process's memory: nobody sees it, and nothing of it is safe, before [`finish`](Self::finish).
///
/// After an error the file is of no use; its name is still there.
pub trait StreamingFile: Send + Debug {
    /// Appends all bytes. An error may be that of an earlier call.
    fn write_all(&mut self, bytes: &[u8]) -> StoreResult<()>;

    /// Writes what is left and makes the whole file durable, its length included; its name is the
    /// business of [`Vfs::sync_dir`].
    fn finish(self: Box<Self>) -> StoreResult<()>;
}

/// Work that another thread may do. It must not wait for other work of this kind.
pub type Job = Box<dyn FnOnce() + Send>;

/// A file of which long pieces are read once, by any number of threads.
pub trait SequentialFile: Send + Sync + Debug {
    /// Shows `bytes` bytes from `offset` on to `see`, which is not called when they cannot be read.
    /// A file that ends before that is `Corruption`.
    fn read(&self, offset: u64, bytes: usize, see: &mut dyn FnMut(&[u8])) -> StoreResult<()>;
}

impl SequentialFile for Arc<dyn ReadableFile> {
    fn read(&self, offset: u64, bytes: usize, see: &mut dyn FnMut(&[u8])) -> StoreResult<()> {
        let mut buffer = vec![0; bytes];
        (**self).read_at(offset, &mut buffer)?;
        see(&buffer);
        Ok(())
    }
}

/// Bytes after which the system is asked to begin writing them to the disk.
const WRITEBACK_BYTES: u64 = 4 << 20;

/// Streams into an ordinary file.
#[derive(Debug)]
struct Streamed {
    file: Box<dyn WritableFile>,
    /// Up to where writing to the disk has begun.
    begun: u64,
}

impl Streamed {
    fn new(file: Box<dyn WritableFile>) -> Self {
        Self { file, begun: 0 }
    }
}

impl StreamingFile for Streamed {
    fn write_all(&mut self, bytes: &[u8]) -> StoreResult<()> {
        self.file.write_all(bytes)?;
        let pending = self.file.position() - self.begun;
        if pending >= WRITEBACK_BYTES {
            self.file.start_writeback(self.begun, pending);
            self.begun += pending;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> StoreResult<()> {
        self.file.sync_data()
    }
}

/// Syncs a file that another thread is appending to.
pub trait FileSyncer: Send + Sync + Debug {
    /// Makes every byte durable whose write returned before this call began.
    fn sync_data(&self) -> StoreResult<()>;
}

/// A file read at any offset, by any number of threads.
#[expect(
    clippy::len_without_is_empty,
    reason = "the length is a system call, not a container's"
)]
pub trait ReadableFile: Send + Sync + Debug {
    /// Fills `bytes` from `offset`. A file that ends before that is `Corruption`: callers ask only
    /// for what the store recorded as written.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> StoreResult<()>;

    /// Length in bytes.
    fn len(&self) -> StoreResult<u64>;

    /// Hint: this range is read soon.
    fn prefetch(&self, offset: u64, bytes: u64);

    /// Hint: the system need not guess what is read next, since whoever reads knows.
    fn expect_random(&self) {}

    /// The path given when the file was opened.
    fn path(&self) -> &Path;
}

/// A file read and written at any offset, as the catalog's library wants it.
#[expect(
    clippy::len_without_is_empty,
    reason = "the length is a system call, not a container's"
)]
pub trait RandomAccessFile: Send + Sync + Debug {
    /// Fills `bytes` from `offset`; `Corruption` if the file ends before that.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> StoreResult<()>;

    /// Writes all bytes at `offset`, growing the file if it ends before that.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> StoreResult<()>;

    /// Cuts the file, or grows it with zeros.
    fn set_len(&self, bytes: u64) -> StoreResult<()>;

    /// Length in bytes.
    fn len(&self) -> StoreResult<u64>;

    /// Makes everything written so far durable.
    fn sync_data(&self) -> StoreResult<()>;
}

/// Holds a lock until dropped.
pub trait FileLock: Send + Sync + Debug {
    /// The file that names the holder.
    fn path(&self) -> &Path;

    /// An error if the lock protects the directory no more: it was moved or replaced by another, or
    /// this is a child of the process that took the lock. Cheap; to be called before what a second
    /// writer would be harmed by.
    fn check(&self) -> StoreResult<()> {
        Ok(())
    }
}
