//! The directory for what queries cannot keep in memory.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use ostrakon_cell::{Error, ErrorKind, Result};
use parking_lot::Mutex;

/// What the names of the directories begin with.
const PREFIX: &str = "ostrakon-sql-";
/// What the name of the file beside a directory adds to the directory's; its process keeps it locked.
const LOCK: &str = ".lock";

/// The directory that the sessions of this process share.
static SHARED: Mutex<Weak<SpillDirectory>> = Mutex::new(Weak::new());

/// A directory for the temporary files of queries, which hold cells: only this user can read it. It is removed with all
/// that is in it. What a killed process leaves behind is removed by the next one that makes such a directory.
///
/// A directory exists only while its lock file does: that is made before it, and removed after it.
#[derive(Debug)]
pub struct SpillDirectory {
    parent: PathBuf,
    path: PathBuf,
    /// The process that made it. One that was forked from it leaves it alone.
    process: u32,
    _lock: File,
}

impl SpillDirectory {
    /// The directory of this process, in the system's directory for temporary files. Sessions without a directory of
    /// their own have it while they live.
    ///
    /// # Errors
    /// It cannot be made, or the file system has no locks.
    pub fn shared() -> Result<Arc<Self>> {
        let parent = std::env::temp_dir();
        let mut shared = SHARED.lock();
        let found = shared.upgrade();
        if let Some(found) = found.filter(|found| found.parent == parent && found.is_there()) {
            return Ok(found);
        }
        remove_abandoned(&parent);
        let made = Self::create_in(&parent).map_err(|error| {
            Error::new(
                ErrorKind::Io,
                "cannot make a directory for temporary files: set TMPDIR to a directory that can be written",
            )
            .with("directory", parent.display())
            .with_source(error)
        })?;
        let made = Arc::new(made);
        *shared = Arc::downgrade(&made);
        Ok(made)
    }

    fn create_in(parent: &Path) -> io::Result<Self> {
        /// Another process may take a new lock file for an abandoned one, before it is locked.
        const TRIES: usize = 16;
        for _ in 0..TRIES {
            let since = SystemTime::now().duration_since(UNIX_EPOCH);
            let nanos = since.map_or(0, |since| since.as_nanos());
            let path = parent.join(format!("{PREFIX}{}-{nanos}", std::process::id()));
            let lock_path = lock_of(&path);
            let lock = private(OpenOptions::new().write(true).create_new(true)).open(&lock_path)?;
            match lock.try_lock() {
                Ok(()) if is_at(&lock, &lock_path) => {}
                Ok(()) | Err(std::fs::TryLockError::WouldBlock) => continue,
                Err(std::fs::TryLockError::Error(error)) => {
                    remove(&path);
                    return Err(error);
                }
            }
            if let Err(error) = make(&path) {
                remove(&path);
                return Err(error);
            }
            return Ok(Self {
                parent: parent.to_owned(),
                path,
                process: std::process::id(),
                _lock: lock,
            });
        }
        Err(io::Error::other(
            "the lock files were removed again and again",
        ))
    }

    /// Whether it is still there, and this process has made it.
    pub(super) fn is_there(&self) -> bool {
        self.process == std::process::id() && self.path.is_dir() && lock_of(&self.path).is_file()
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What a program that ends at once has to remove, in this order.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        vec![self.path.clone(), lock_of(&self.path)]
    }
}

impl Drop for SpillDirectory {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            remove(&self.path);
        }
    }
}

/// Removes a directory, and its lock file if the directory is gone.
fn remove(directory: &Path) {
    if is_removed(directory) {
        is_removed(&lock_of(directory));
    }
}

/// Removes a file or a directory. Threads of a query that was stopped may still write into it.
fn is_removed(path: &Path) -> bool {
    const TRIES: usize = 20;
    (0..TRIES).any(|_| {
        let removed = match path.is_dir() {
            true => std::fs::remove_dir_all(path),
            false => std::fs::remove_file(path),
        };
        removed.is_ok() || !path.exists()
    })
}

fn lock_of(directory: &Path) -> PathBuf {
    let mut name = directory.as_os_str().to_owned();
    name.push(LOCK);
    name.into()
}

/// Removes the directories of processes of this user that have ended.
fn remove_abandoned(parent: &Path) {
    let Ok(found) = std::fs::read_dir(parent) else {
        return;
    };
    for entry in found.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().and_then(|name| name.strip_suffix(LOCK)) else {
            continue;
        };
        let (directory, lock_path) = (parent.join(name), entry.path());
        if name.starts_with(PREFIX)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && let Ok(lock) = private(OpenOptions::new().write(true)).open(&lock_path)
            && is_own(&lock)
            && lock.try_lock().is_ok()
            && is_at(&lock, &lock_path)
        {
            remove(&directory);
        }
    }
}

/// A file of this user alone. Neither what a link leads to, nor a pipe, which would make the caller
/// wait: anyone can make these in a directory for temporary files.
#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;

    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.mode(0o600).custom_flags(flags.bits().cast_signed())
}

#[cfg(unix)]
fn is_own(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    let user = rustix::process::geteuid().as_raw();
    file.metadata()
        .is_ok_and(|found| found.is_file() && found.uid() == user)
}

/// Whether a path leads to an open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    let place = |found: std::fs::Metadata| (found.dev(), found.ino());
    let (opened, named) = (file.metadata(), std::fs::symlink_metadata(path));
    opened.is_ok_and(|opened| named.is_ok_and(|named| place(opened) == place(named)))
}

#[cfg(unix)]
fn make(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;

    std::fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

#[cfg(not(unix))]
fn is_own(_: &File) -> bool {
    true
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(not(unix))]
fn make(path: &Path) -> io::Result<()> {
    std::fs::create_dir(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(parent: &Path) -> Vec<String> {
        let found = std::fs::read_dir(parent).expect("a directory");
        let name = |entry: io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<String> = found
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn directories_of_killed_processes_are_removed() {
        let parent = tempfile::tempdir().expect("a directory");
        let parent = parent.path();
        let make = |name: &str| {
            let path = parent.join(name);
            std::fs::create_dir_all(path.join("inner")).expect("a directory");
            std::fs::write(path.join("cells"), "x").expect("a file");
            File::create_new(lock_of(&path)).expect("a file")
        };
        drop(make("ostrakon-sql-1-1"));
        let running = make("ostrakon-sql-2-2");
        running.try_lock().expect("a lock");
        drop(make("other"));
        // Killed before its directory was made.
        File::create_new(parent.join("ostrakon-sql-3-3.lock")).expect("a file");
        remove_abandoned(parent);
        let expected = [
            "ostrakon-sql-2-2",
            "ostrakon-sql-2-2.lock",
            "other",
            "other.lock",
        ];
        assert_eq!(names(parent), expected);
    }

    #[test]
    fn nothing_is_left_and_nobody_else_can_read_it() {
        let parent = tempfile::tempdir().expect("a directory");
        let made = SpillDirectory::create_in(parent.path()).expect("a directory");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;

            let found = std::fs::metadata(made.path()).expect("a directory");
            assert_eq!(found.permissions().mode() & 0o777, 0o700);
        }
        std::fs::write(made.path().join("cells"), "x").expect("a file");
        // Another process that starts leaves it alone.
        remove_abandoned(parent.path());
        assert!(made.path().join("cells").exists());
        drop(made);
        assert_eq!(names(parent.path()), [""; 0]);
    }

    #[test]
    fn only_the_process_that_made_it_removes_it() {
        let parent = tempfile::tempdir().expect("a directory");
        let mut made = SpillDirectory::create_in(parent.path()).expect("a directory");
        made.process += 1;
        assert!(!made.is_there());
        drop(made);
        assert_eq!(names(parent.path()).len(), 2);
    }

    #[test]
    #[cfg(unix)]
    fn neither_links_nor_pipes_of_others_are_opened() {
        let parent = tempfile::tempdir().expect("a directory");
        let outside = tempfile::tempdir().expect("a directory");
        let file = outside.path().join("file");
        File::create_new(&file).expect("a file");
        let parent = parent.path();
        let link = parent.join("ostrakon-sql-1-1.lock");
        std::os::unix::fs::symlink(&file, link).expect("a link");
        std::fs::create_dir(parent.join("ostrakon-sql-1-1")).expect("a directory");
        // A directory that is a link leads nowhere else.
        std::os::unix::fs::symlink(outside.path(), parent.join("ostrakon-sql-2-2"))
            .expect("a link");
        File::create_new(parent.join("ostrakon-sql-2-2.lock")).expect("a file");
        let pipe = parent.join("ostrakon-sql-3-3.lock");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).expect("a pipe");
        remove_abandoned(parent);
        assert!(file.exists());
        let left = names(parent);
        assert!(
            left.contains(&"ostrakon-sql-1-1.lock".to_owned()),
            "{left:?}"
        );
        assert!(
            left.contains(&"ostrakon-sql-3-3.lock".to_owned()),
            "{left:?}"
        );
    }
}
