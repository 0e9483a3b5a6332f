//! The file-system contract of the store.

use std::ffi::OsString;
use std::fmt::Debug;
use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, StoreResult};

/// Bytes copied at a time.
const COPY_BYTES: u64 = 1 << 20;

/// A file system.
///
/// Requirements on an implementation:
///
/// * A write that returned is seen by every later read in any process (the operating system has
///   it), and survives the death of this process. It survives loss of power only after
///   [`WritableFile::sync_data`].
/// * A created, renamed, linked or removed name survives loss of power only after [`Vfs::sync_dir`]
///   on the directory that holds it. File contents and names are independent: each needs its own
///   sync.
/// * `rename` is atomic: after a crash the target is either the old file or the new one.
/// * Errors name the path and the operation, and have these kinds: `NotFound`,
///   `AlreadyExists`, `OutOfSpace`, `TooManyOpenFiles`, `ReadOnly`, `PermissionDenied`, `Locked`,
///   `Corruption` (a file shorter than it should be), else `Io`.
///
/// Paths are those of the operating system. Shared as `Arc<dyn Vfs>`.
pub trait Vfs: Send + Sync + Debug {
    /// Creates a file and opens it for appending. `AlreadyExists` if it exists.
    fn create(&self, path: &Path) -> StoreResult<Box<dyn WritableFile>>;

    /// Creates a file that is written once, sequentially, as fast as the disk allows.
    /// `AlreadyExists` if it exists.
    fn create_streaming(&self, path: &Path) -> StoreResult<Box<dyn StreamingFile>> {
        Ok(Box::new(Streamed::new(self.create(path)?)))
    }

    /// Opens a file from which long pieces are read once, in ascending order.
    fn open_sequential(&self, path: &Path) -> StoreResult<Arc<dyn SequentialFile>> {
        Ok(Arc::new(self.open(path)?))
    }

    /// Runs `job`, which reads a piece of a file, on a thread of the file system, asynchronously. A
    /// file system without such threads, which is the default, returns it.
    fn spawn_io(&self, job: Job) -> Result<(), Job> {
        Err(job)
    }

    /// Opens a file for reading at any offset.
    fn open(&self, path: &Path) -> StoreResult<Arc<dyn ReadableFile>>;

    /// Opens a file for reading and writing at any offset; an absent one is created empty.
    fn open_random(&self, path: &Path) -> StoreResult<Arc<dyn RandomAccessFile>>;

    /// Renames a file, replacing a file that has the new name. Atomic.
    fn rename(&self, from: &Path, to: &Path) -> StoreResult<()>;

    /// Removes a file. Open handles keep working until dropped.
    fn remove(&self, path: &Path) -> StoreResult<()>;

    /// Gives a file a second name. `AlreadyExists` if the name is taken.
    fn hard_link(&self, from: &Path, to: &Path) -> StoreResult<()>;

    /// Whether this file has more names than this one. A file system without hard links answers no, which is the default.
    fn has_other_names(&self, path: &Path) -> StoreResult<bool> {
        let _ = path;
        Ok(false)
    }

    /// The entries of a directory, sorted by name.
    fn list(&self, dir: &Path) -> StoreResult<Vec<DirectoryEntry>>;

    /// Creates a directory and its missing parents; succeeds if it exists.
    fn create_dir_all(&self, dir: &Path) -> StoreResult<()>;

    /// Removes an empty directory.
    fn remove_dir(&self, dir: &Path) -> StoreResult<()>;

    /// Whether a file or directory has this name, even if it cannot be opened, such as a symbolic link that leads to
    /// itself. One that leads nowhere counts as absent.
    fn exists(&self, path: &Path) -> StoreResult<bool>;

    /// Length of a file in bytes.
    fn len(&self, path: &Path) -> StoreResult<u64>;

    /// Makes the names in a directory durable. `NotFound`, `PermissionDenied` and `TooManyOpenFiles` are errors from before
    /// the sync, which lose nothing; with `Unsupported`, the file system cannot do it.
    fn sync_dir(&self, dir: &Path) -> StoreResult<()>;

    /// Makes the names in a directory durable for a caller that needs only these, which it has created there. What happened
    /// to other names is for others to know.
    fn sync_names(&self, dir: &Path, needed: &[&Path]) -> StoreResult<()> {
        let _ = needed;
        self.sync_dir(dir)
    }

    /// Takes the exclusive lock of the directory that contains `path`, and writes the holder into
    /// that file, which is created if absent.
    ///
    /// Never waits. If another process, or another handle in this one, holds the lock, shared or
    /// not: `Locked`, and the message names a holder (process id and command). The lock ends when
    /// the guard is dropped or the process dies. Removing or replacing the file does not affect it.
    fn lock(&self, path: &Path) -> StoreResult<Box<dyn FileLock>>;

    /// Takes the shared lock of the directory that contains `path`, for reading. Changes nothing on
    /// the disk, and only needs permission to read the directory.
    ///
    /// Never waits. `Locked` while the exclusive lock is held. A file system without shared locks
    /// takes the exclusive one, which is the default.
    fn lock_shared(&self, path: &Path) -> StoreResult<Box<dyn FileLock>> {
        self.lock(path)
    }

    /// Opens a file to write in place, as [`open_random`](Self::open_random). If it has other names, it becomes a file of
    /// its own first: what is written would change the files of those names too. A backup may consist of such names, or a
    /// program that saves space may have linked equal files.
    ///
    /// `PATH.copied` exists until the name of the new file is durable. If it is there, the process before this one ended
    /// in between, and the new file may be lost with its name: it is written again.
    fn open_in_place(&self, path: &Path) -> StoreResult<Arc<dyn RandomAccessFile>> {
        let marker = with_ending(path, ".copied");
        let is_marked = self.exists(&marker)?;
        let has_other_names = match self.has_other_names(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return self.open_random(path),
            answer => answer?,
        };
        if has_other_names && !is_marked {
            drop(self.create(&marker)?);
        }
        if has_other_names || is_marked {
            // Opened as the file is to be written: what is refused there, as a symbolic link is, is not copied either.
            let file = self.open_random(path)?;
            let len = file.len()?;
            self.replace_with(path, &mut |copy| {
                copy_content(len, |at, bytes| file.read_at(at, bytes), copy)
            })?;
            drop(file);
            self.remove(&marker)?;
        }
        self.open_random(path)
    }

    /// Free bytes of the file system that contains `dir`.
    fn free_space(&self, dir: &Path) -> StoreResult<u64>;

    /// [`create_dir_all`](Self::create_dir_all), and makes every new name durable: data synced
    /// inside a directory is lost if the directory's own name is.
    ///
    /// A directory that others make at the same time may vanish again: a file system that several use must let one call
    /// end before the next begins.
    fn create_dir_durably(&self, dir: &Path) -> StoreResult<()> {
        create_dir_durably(self, dir)
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

    /// Replaces the content of a small file so that after a crash it has the old or the new
    /// content: writes `PATH.new`, syncs it, renames it, syncs the directory.
    fn replace(&self, path: &Path, bytes: &[u8]) -> StoreResult<()> {
        self.replace_with(path, &mut |file| file.write_all(bytes))
    }

    /// [`replace`](Self::replace) with what `write` writes.
    fn replace_with(
        &self,
        path: &Path,
        write: &mut dyn FnMut(&mut dyn WritableFile) -> StoreResult<()>,
    ) -> StoreResult<()> {
        let temporary = with_ending(path, ".new");
        match self.remove(&temporary) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error
                    .with("needed to write", path.display())
                    .with("hint", "move away what has this name"));
            }
            _ => {}
        }
        let mut file = self.create(&temporary)?;
        let written = write(&mut *file).and_then(|()| file.sync_data());
        drop(file);
        written
            .and_then(|()| self.rename(&temporary, path))
            .inspect_err(|_| {
                // On a full disk the space is freed again.
                let _ = self.remove(&temporary);
            })?;
        match path.parent() {
            Some(dir) => self.sync_names(dir, &[path]),
            None => Ok(()),
        }
    }
}

/// See [`Vfs::create_dir_durably`].
pub(super) fn create_dir_durably<V: Vfs + ?Sized>(disk: &V, dir: &Path) -> StoreResult<()> {
    let mut missing = Vec::new();
    let mut at = dir;
    while let Some(parent) = at.parent()
        && !at.as_os_str().is_empty()
        && !disk.exists(at)?
    {
        missing.push((at, parent));
        at = parent;
    }
    // Each is durable before the next is made. So of those that are there already, only the last may be the work of a
    // process that was killed before it synced. Its parent may be out of reach: that of a mounted volume is often
    // read-only, and that of a home directory cannot always be read or synced.
    if let Some(parent) = at.parent() {
        // An error if it is a file. If it was removed a moment ago, what makes it anew has to come before the sync.
        disk.create_dir_all(at)?;
        match disk.sync_names(parent, &[at]) {
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::PermissionDenied | ErrorKind::ReadOnly | ErrorKind::Unsupported
                ) => {}
            synced => synced?,
        }
    }
    for (made, parent) in missing.into_iter().rev() {
        disk.create_dir_all(made)?;
        disk.sync_names(parent, &[made]).inspect_err(|_| {
            // The system may have dropped the name, and report success for the next sync. The next call makes it anew.
            let _ = disk.remove_dir(made);
        })?;
    }
    Ok(())
}

/// Writes `len` bytes, which `read` reads piece by piece.
pub(super) fn copy_content(
    len: u64,
    read: impl Fn(u64, &mut [u8]) -> StoreResult<()>,
    target: &mut dyn WritableFile,
) -> StoreResult<()> {
    let mut buffer = vec![0; COPY_BYTES.min(len) as usize];
    let mut at = 0;
    while at < len {
        buffer.truncate((len - at) as usize);
        read(at, &mut buffer)?;
        target.write_all(&buffer)?;
        at += buffer.len() as u64;
    }
    Ok(())
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectoryEntry {
    /// The name, without the directory.
    pub name: OsString,
    /// Whether it is itself a directory.
    pub is_dir: bool,
}

/// A file that grows at its end. Unbuffered: each call is one system call, so pass large pieces.
///
/// After a failed write or sync the file rejects further writes and syncs, since the kernel may
/// have dropped the pages it could not write: earlier writes can then no longer be made durable.
pub trait WritableFile: Send + Debug {
    /// Appends all bytes. On error an unknown prefix of them may have been appended.
    fn write_all(&mut self, bytes: &[u8]) -> StoreResult<()>;

    /// Appends all slices in order, in as few system calls as the system allows.
    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> StoreResult<()>;

    /// As [`write_vectored`](Self::write_vectored), for data that is synced right after: a file
    /// system may then combine the two. The guarantees are the same.
    fn write_through(&mut self, slices: &[IoSlice<'_>]) -> StoreResult<()> {
        self.write_vectored(slices)
    }

    /// Makes everything written so far durable, including the length of the file.
    fn sync_data(&mut self) -> StoreResult<()>;

    /// A handle that makes this file durable from another thread while its owner appends.
    fn syncer(&self) -> Arc<dyn FileSyncer>;

    /// Bytes appended so far, which is the offset of the next one.
    fn position(&self) -> u64;

    /// Hint: this file will hold about `bytes` in all. Reserves space without changing the length;
    /// a system that cannot do so ignores it, but a full disk is reported as `OutOfSpace`.
    fn allocate(&mut self, bytes: u64) -> StoreResult<()>;

    /// Hint: start writing this range to the disk now, without waiting, so that a later sync has
    /// less to do. Guarantees nothing about durability.
    fn start_writeback(&mut self, offset: u64, bytes: u64);

    /// The path given when the file was created.
    fn path(&self) -> &Path;
}

/// A file that is written once, sequentially. Written data may still be in this process's memory:
/// it is neither visible nor durable before [`finish`](Self::finish).
///
/// After an error the file is unusable; its name still exists.
pub trait StreamingFile: Send + Debug {
    /// Appends all bytes. An error may be that of an earlier call.
    fn write_all(&mut self, bytes: &[u8]) -> StoreResult<()>;

    /// Writes the rest and makes the whole file durable, including its length; its name needs
    /// [`Vfs::sync_dir`].
    fn finish(self: Box<Self>) -> StoreResult<()>;
}

/// Work that another thread may do. It must not wait for other jobs.
pub type Job = Box<dyn FnOnce() + Send>;

/// A file from which long pieces are read once, by any number of threads.
pub trait SequentialFile: Send + Sync + Debug {
    /// Passes `bytes` bytes from `offset` on to `see`, which is not called if they cannot be read.
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

/// Bytes after which the system is asked to start writing them to the disk.
const WRITEBACK_BYTES: u64 = 4 << 20;

/// Writes sequentially to an ordinary file.
#[derive(Debug)]
struct Streamed {
    file: Box<dyn WritableFile>,
    /// End of the range whose write-back has begun.
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

/// Syncs a file to which another thread appends.
pub trait FileSyncer: Send + Sync + Debug {
    /// Makes all bytes durable whose write returned before this call began.
    fn sync_data(&self) -> StoreResult<()>;
}

/// A file read at any offset, by any number of threads.
#[expect(
    clippy::len_without_is_empty,
    reason = "the length is a system call, not a container's"
)]
pub trait ReadableFile: Send + Sync + Debug {
    /// Fills `bytes` from `offset`. A file that ends before that is `Corruption`: callers read only
    /// what the store recorded as written.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> StoreResult<()>;

    /// Length in bytes.
    fn len(&self) -> StoreResult<u64>;

    /// Hint: this range is read soon.
    fn prefetch(&self, offset: u64, bytes: u64);

    /// Hint: the system should not read ahead, since the reader requests what it needs.
    fn expect_random(&self) {}

    /// The path given when the file was opened.
    fn path(&self) -> &Path;
}

/// A file read and written at any offset, as the catalog's library needs it.
#[expect(
    clippy::len_without_is_empty,
    reason = "the length is a system call, not a container's"
)]
pub trait RandomAccessFile: Send + Sync + Debug {
    /// Fills `bytes` from `offset`; `Corruption` if the file ends before that.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> StoreResult<()>;

    /// Writes all bytes at `offset`, growing the file if it ends before that.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> StoreResult<()>;

    /// Truncates the file, or extends it with zeros.
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

    /// Returns an error if the lock no longer protects the directory: it was moved or replaced, or
    /// this is a child of the process that took the lock. Cheap; call before any change that would
    /// harm a second writer.
    fn check(&self) -> StoreResult<()> {
        Ok(())
    }
}
