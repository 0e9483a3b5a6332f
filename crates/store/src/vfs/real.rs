//! The file system of the operating system.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this module implements the file system for all others"
)]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::appended::AppendedFile;
use super::contract::{
    DirectoryEntry, FileLock, Job, RandomAccessFile, ReadableFile, SequentialFile, StreamingFile,
    Vfs, WritableFile,
};
use super::direct::{self, DirectReader, DirectWriter};
use super::fault::{Operation, io_error, not_followed, not_synced, short_file};
use super::lock::{self, Mode};
use super::system;
use crate::error::{Error, StoreResult};

/// Directories and files of the operating system. Advisory locks are `flock`, so they work between
/// processes and between handles of one process alike.
#[derive(Debug, Default, Clone, Copy)]
pub struct RealVfs;

impl RealVfs {
    /// The file system as a shared trait object.
    #[must_use]
    pub fn shared() -> Arc<dyn Vfs> {
        Arc::new(Self)
    }
}

/// Opens a file for reading. Anything else in its place is damage: a directory, or a pipe, which would wait for a
/// writer.
fn open_regular(path: &Path) -> StoreResult<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .map_err(|e| io_error(Operation::Open, path, e))?;
    let metadata = file
        .metadata()
        .map_err(|e| io_error(Operation::Inspect, path, e))?;
    if metadata.is_file() {
        return Ok(file);
    }
    let error = Error::corruption("something other than a regular file is in its place");
    Err(error.with("file", path.display()))
}

impl Vfs for RealVfs {
    fn create(&self, path: &Path) -> StoreResult<Box<dyn WritableFile>> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(|e| io_error(Operation::Create, path, e))?;
        Ok(Box::new(AppendedFile::new(file, path)))
    }

    fn create_streaming(&self, path: &Path) -> StoreResult<Box<dyn StreamingFile>> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(|e| io_error(Operation::Create, path, e))?;
        Ok(Box::new(DirectWriter::new(file, path)))
    }

    fn open_sequential(&self, path: &Path) -> StoreResult<Arc<dyn SequentialFile>> {
        let file = open_regular(path)?;
        Ok(Arc::new(DirectReader::new(file, path)))
    }

    fn spawn_io(&self, job: Job) -> Result<(), Job> {
        direct::spawn_io(job)
    }

    fn open(&self, path: &Path) -> StoreResult<Arc<dyn ReadableFile>> {
        let file = open_regular(path)?;
        Ok(Arc::new(RealFile {
            file,
            path: path.to_owned(),
        }))
    }

    fn open_random(&self, path: &Path) -> StoreResult<Arc<dyn RandomAccessFile>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(path)
            .map_err(|e| not_followed(Operation::Create, path, e))?;
        Ok(Arc::new(RealFile {
            file,
            path: path.to_owned(),
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> StoreResult<()> {
        fs::rename(from, to)
            .map_err(|e| io_error(Operation::Rename, from, e).with("to", to.display()))
    }

    fn remove(&self, path: &Path) -> StoreResult<()> {
        fs::remove_file(path).map_err(|e| io_error(Operation::Remove, path, e))
    }

    fn hard_link(&self, from: &Path, to: &Path) -> StoreResult<()> {
        fs::hard_link(from, to).map_err(|e| {
            let crosses = e.raw_os_error() == Some(Errno::XDEV.raw_os_error());
            let error = io_error(Operation::Link, from, e).with("to", to.display());
            if crosses {
                error.with(
                    "hint",
                    "a hard link cannot cross file systems: choose a place on the same one",
                )
            } else {
                error
            }
        })
    }

    fn has_other_names(&self, path: &Path) -> StoreResult<bool> {
        let metadata =
            fs::symlink_metadata(path).map_err(|e| io_error(Operation::Inspect, path, e))?;
        Ok(metadata.is_file() && metadata.nlink() > 1)
    }

    fn list(&self, dir: &Path) -> StoreResult<Vec<DirectoryEntry>> {
        let fail = |e| io_error(Operation::List, dir, e);
        let mut entries = Vec::new();
        for entry in fs::read_dir(dir).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let is_dir = entry.file_type().map_err(fail)?.is_dir();
            entries.push(DirectoryEntry {
                name: entry.file_name(),
                is_dir,
            });
        }
        entries.sort_unstable();
        Ok(entries)
    }

    fn create_dir_all(&self, dir: &Path) -> StoreResult<()> {
        fs::create_dir_all(dir).map_err(|e| io_error(Operation::CreateDirectory, dir, e))
    }

    fn remove_dir(&self, dir: &Path) -> StoreResult<()> {
        fs::remove_dir(dir).map_err(|e| io_error(Operation::Remove, dir, e))
    }

    fn exists(&self, path: &Path) -> StoreResult<bool> {
        match fs::exists(path) {
            Err(e) if e.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => Ok(true),
            exists => exists.map_err(|e| io_error(Operation::Inspect, path, e)),
        }
    }

    fn len(&self, path: &Path) -> StoreResult<u64> {
        let metadata = fs::metadata(path).map_err(|e| io_error(Operation::Inspect, path, e))?;
        Ok(metadata.len())
    }

    fn sync_dir(&self, dir: &Path) -> StoreResult<()> {
        // The parent of a plain file name is the empty path, which means the current directory.
        let dir = if dir.as_os_str().is_empty() {
            Path::new(".")
        } else {
            dir
        };
        let handle = File::open(dir).map_err(|e| io_error(Operation::Open, dir, e))?;
        handle.sync_all().map_err(|e| not_synced(dir, e))
    }

    fn lock(&self, path: &Path) -> StoreResult<Box<dyn FileLock>> {
        lock::take(path, Mode::Alone)
    }

    fn lock_shared(&self, path: &Path) -> StoreResult<Box<dyn FileLock>> {
        lock::take(path, Mode::Shared)
    }

    fn free_space(&self, dir: &Path) -> StoreResult<u64> {
        let space =
            rustix::fs::statvfs(dir).map_err(|e| io_error(Operation::Inspect, dir, e.into()))?;
        Ok(space.f_bavail.saturating_mul(space.f_frsize))
    }
}

/// Memory of this machine, in bytes; 4 GiB where the system does not report it.
#[must_use]
pub fn machine_memory_bytes() -> u64 {
    system::machine_memory()
}

#[derive(Debug)]
struct RealFile {
    file: File,
    path: PathBuf,
}

impl RealFile {
    fn read_exact_at(&self, offset: u64, bytes: &mut [u8]) -> StoreResult<()> {
        self.file.read_exact_at(bytes, offset).map_err(|e| {
            // An offset that no file can have is also beyond the end of this file.
            let invalid = e.kind() == io::ErrorKind::InvalidInput && i64::try_from(offset).is_err();
            if e.kind() == io::ErrorKind::UnexpectedEof || invalid {
                let len = self.file.metadata().map_or(0, |m| m.len());
                short_file(&self.path, offset, bytes.len(), len)
            } else {
                io_error(Operation::Read, &self.path, e).with("offset", offset)
            }
        })
    }

    fn file_len(&self) -> StoreResult<u64> {
        let metadata = self
            .file
            .metadata()
            .map_err(|e| io_error(Operation::Inspect, &self.path, e))?;
        Ok(metadata.len())
    }
}

impl ReadableFile for RealFile {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> StoreResult<()> {
        self.read_exact_at(offset, bytes)
    }

    fn len(&self) -> StoreResult<u64> {
        self.file_len()
    }

    fn prefetch(&self, offset: u64, bytes: u64) {
        system::prefetch(&self.file, offset, bytes);
    }

    fn expect_random(&self) {
        system::expect_random(&self.file);
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl RandomAccessFile for RealFile {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> StoreResult<()> {
        self.read_exact_at(offset, bytes)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> StoreResult<()> {
        self.file
            .write_all_at(bytes, offset)
            .map_err(|e| io_error(Operation::Write, &self.path, e))
    }

    fn set_len(&self, bytes: u64) -> StoreResult<()> {
        self.file
            .set_len(bytes)
            .map_err(|e| io_error(Operation::Resize, &self.path, e))
    }

    fn len(&self) -> StoreResult<u64> {
        self.file_len()
    }

    fn sync_data(&self) -> StoreResult<()> {
        self.file
            .sync_data()
            .map_err(|e| io_error(Operation::Sync, &self.path, e))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_file_with_two_names_is_recognized() {
        let directory = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| directory.path().join(name));
        fs::write(&one, "content").unwrap();
        assert!(!RealVfs.has_other_names(&one).unwrap());
        RealVfs.hard_link(&one, &other).unwrap();
        assert!(RealVfs.has_other_names(&one).unwrap());
        RealVfs.replace(&one, b"content").unwrap();
        assert!(!RealVfs.has_other_names(&one).unwrap());
        assert!(!RealVfs.has_other_names(&other).unwrap());
    }

    /// Automounted directories and some read-only file systems are as `/proc`.
    #[cfg(target_os = "linux")]
    #[test]
    fn directories_that_cannot_be_synced_are_told_from_failures() {
        let error = RealVfs.sync_dir(Path::new("/proc")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        RealVfs.create_dir_durably(Path::new("/proc/self")).unwrap();
        let absent = RealVfs.create_dir_durably(Path::new("/proc/absent"));
        assert!(absent.is_err());
    }

    /// Also if a marker says that the file is to be copied: the link could name a file of somebody else.
    #[test]
    fn a_symbolic_link_is_not_opened_in_place() {
        let directory = tempfile::tempdir().unwrap();
        let [secret, link, marker] =
            ["secret", "link", "link.copied"].map(|name| directory.path().join(name));
        fs::write(&secret, "secret").unwrap();
        std::os::unix::fs::symlink(&secret, &link).unwrap();
        for is_marked in [false, true] {
            if is_marked {
                fs::write(&marker, "").unwrap();
            }
            let error = RealVfs.open_in_place(&link).unwrap_err().to_string();
            assert!(error.contains("symbolic link"), "{error}");
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        }
    }

    #[test]
    fn what_stands_in_the_way_of_a_replacement_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let new = directory.path().join("file.new");
        fs::create_dir(&new).unwrap();
        let error = RealVfs.replace(&path, b"content").unwrap_err().to_string();
        assert!(
            error.contains("file.new") && error.contains("move away"),
            "{error}"
        );
        fs::remove_dir(&new).unwrap();
        // A link of an earlier attempt, which leads nowhere.
        std::os::unix::fs::symlink("absent", &new).unwrap();
        RealVfs.replace(&path, b"content").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"content");
    }

    #[test]
    fn a_read_only_directory_is_reported() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o500)).unwrap();
        let path = directory.path().join("new");
        // The superuser may write anywhere; then there is nothing to test.
        if let Err(error) = RealVfs.create(&path) {
            assert_eq!(error.kind(), ErrorKind::ReadOnly);
            assert!(error.to_string().contains("may not write"), "{error}");
            assert_eq!(RealVfs.lock(&path).unwrap_err().kind(), ErrorKind::ReadOnly);
        }
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).unwrap();
    }
}
