//! The lock of a store's directory, between processes and between handles of one process.
//!
//! The directory itself is locked: unlike a file in it, it can neither be removed nor replaced
//! while the store exists, and every user who may read it may lock it. The file `LOCK` names the
//! holder, and is locked as well, to keep out older versions that lock only the file.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this module implements the file system for all others"
)]

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;

use super::contract::FileLock;
use super::fault::{Operation, check_process, io_error, not_followed};
use crate::error::{Error, ErrorKind, StoreResult};

/// Whether the holder of a lock writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Alone,
    Shared,
}

impl Mode {
    fn operation(self) -> FlockOperation {
        match self {
            Self::Alone => FlockOperation::NonBlockingLockExclusive,
            Self::Shared => FlockOperation::NonBlockingLockShared,
        }
    }
}

/// Holds the lock until dropped.
#[derive(Debug)]
struct RealLock {
    /// The directory; closing it releases the lock. `None` where the file system cannot lock one.
    directory: Option<File>,
    /// The file that names the holder. `None` where it is absent or may not be opened.
    file: Option<File>,
    path: PathBuf,
    process: u32,
}

/// A pipe in the place of the file would be waited for, and the target of a link be overwritten.
fn for_reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed());
    options
}

/// Takes the lock of the directory that holds `path`.
pub(super) fn take(path: &Path, mode: Mode) -> StoreResult<Box<dyn FileLock>> {
    let dir = directory_of(path);
    let directory = File::open(dir).map_err(|e| io_error(Operation::Lock, dir, e))?;
    let directory = match rustix::fs::flock(&directory, mode.operation()) {
        Ok(()) => Some(directory),
        Err(Errno::WOULDBLOCK) => return Err(held_by_another(path, Some(&directory))),
        // Some network file systems lock only files that are open for writing.
        Err(Errno::BADF | Errno::OPNOTSUPP | Errno::NOLCK | Errno::INVAL) => None,
        Err(e) => return Err(io_error(Operation::Lock, dir, e.into())),
    };
    // Older versions lock the file alone. One with other names, such as in a backup by hard links, is locked by those who
    // use the directories of those names, too: then the directory's lock decides.
    let is_shared = directory.is_some() && has_other_names(path);
    if is_shared && mode == Mode::Alone {
        fs::remove_file(path).map_err(|e| io_error(Operation::Lock, path, e))?;
    }
    let opened = match mode {
        Mode::Shared if is_shared => Ok(None),
        Mode::Alone => for_reading()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map(Some),
        // Readers change nothing, and the directory's lock is sufficient.
        Mode::Shared => match for_reading().open(path) {
            Err(_) if directory.is_some() => Ok(None),
            opened => opened.map(Some),
        },
    };
    let file = opened.map_err(|e| {
        let is_directory = e.kind() == std::io::ErrorKind::IsADirectory;
        let error = not_followed(Operation::Lock, path, e);
        match is_directory {
            true => error.with(
                "hint",
                "move the directory away; the file is then made anew",
            ),
            false => error,
        }
    })?;
    if let Some(file) = &file {
        match rustix::fs::flock(file, mode.operation()) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(held_by_another(path, directory.as_ref())),
            Err(_) if mode == Mode::Shared && directory.is_some() => {}
            Err(e) => return Err(io_error(Operation::Lock, path, e.into())),
        }
    }
    if let (Mode::Alone, Some(mut file)) = (mode, file.as_ref()) {
        // The name of the holder is only for the message to the next process; the lock itself is
        // the kernel's.
        file.set_len(0)
            .and_then(|()| file.write_all(describe_this_process().as_bytes()))
            .map_err(|e| io_error(Operation::Lock, path, e))?;
    }
    Ok(Box::new(RealLock {
        directory,
        file,
        path: path.to_owned(),
        process: std::process::id(),
    }))
}

impl FileLock for RealLock {
    fn path(&self) -> &Path {
        &self.path
    }

    fn check(&self) -> StoreResult<()> {
        check_process(self.process, &self.path)?;
        let Some(directory) = &self.directory else {
            return Ok(());
        };
        let dir = directory_of(&self.path);
        let held = directory
            .metadata()
            .map_err(|e| io_error(Operation::Inspect, dir, e))?;
        // A directory that no longer exists counts as moved.
        let there = fs::metadata(dir).ok();
        if there.is_some_and(|there| (there.dev(), there.ino()) == (held.dev(), held.ino())) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::ReadOnly,
            "the store's directory was moved or replaced while the store was open, so nothing more is \
             written to it; close the store and open it where it is now",
        )
        .with("directory", dir.display()))
    }
}

impl Drop for RealLock {
    fn drop(&mut self) {
        // A forked child shares the lock: it ends when the process that took it releases it, also
        // for the child, and not when the child does.
        if self.process == std::process::id() {
            for file in [&self.directory, &self.file].into_iter().flatten() {
                let _ = rustix::fs::flock(file, FlockOperation::Unlock);
            }
        }
    }
}

fn has_other_names(path: &Path) -> bool {
    let metadata = fs::symlink_metadata(path);
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.nlink() > 1)
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}

/// One line for the lock file: process id, then the command.
fn describe_this_process() -> String {
    format!("{} {}\n", std::process::id(), command_of(None))
}

/// The command of a process, or of this one.
fn command_of(process: Option<u32>) -> String {
    let path = match process {
        Some(id) => format!("/proc/{id}/comm"),
        None => "/proc/self/comm".to_owned(),
    };
    let named = fs::read_to_string(path).ok();
    let own = || {
        let program = std::env::args_os().next().filter(|_| process.is_none())?;
        let name = Path::new(&program).file_name()?;
        Some(name.to_string_lossy().into_owned())
    };
    let command = named.or_else(own).unwrap_or_else(|| "unknown".to_owned());
    command.trim().to_owned()
}

fn held_by_another(path: &Path, directory: Option<&File>) -> Error {
    let mut holders = directory.map(holders_of).unwrap_or_default();
    if holders.is_empty()
        && let Some(named) = named_in(path)
    {
        holders.push(named);
    }
    let holder = match &holders[..] {
        [] => "another process".to_owned(),
        [(id, command)] if *id == std::process::id() => {
            format!("this process (pid {id}, {command}) through another handle")
        }
        [(id, command)] => format!("process {id} ({command})"),
        [(id, command), others @ ..] => {
            format!("process {id} ({command}) and {} more", others.len())
        }
    };
    Error::new(
        ErrorKind::Locked,
        format!(
            "the store is in use by {holder}. One process writes to a store, or any number read it: \
             wait until it is closed there, or read a checkpoint made by that process"
        ),
    )
    .with("file", path.display())
}

/// The processes that hold a lock of a file, with their commands, according to Linux.
fn holders_of(file: &File) -> Vec<(u32, String)> {
    let (Ok(metadata), Ok(locks)) = (file.metadata(), fs::read_to_string("/proc/locks")) else {
        return Vec::new();
    };
    let inode = metadata.ino().to_string();
    let mut holders: Vec<u32> = locks
        .lines()
        .filter_map(|line| {
            // 1: FLOCK  ADVISORY  WRITE 708 08:01:2359461 0 EOF
            let mut words = line.split_whitespace().skip(1);
            let kind = words.next().filter(|kind| *kind == "FLOCK");
            let process = words.nth(2)?.parse().ok().filter(|id| *id > 0)?;
            let place = words.next()?.rsplit(':').next()?;
            (kind.is_some() && place == inode).then_some(process)
        })
        .collect();
    holders.sort_unstable();
    holders.dedup();
    let named = |id: u32| (id, command_of(Some(id)));
    holders.into_iter().map(named).collect()
}

/// The process named in the lock file.
fn named_in(path: &Path) -> Option<(u32, String)> {
    let mut bytes = [0_u8; 256];
    let file = for_reading().open(path).ok()?;
    let len = file.read_at(&mut bytes, 0).ok()?;
    let text = String::from_utf8_lossy(bytes.get(..len)?).into_owned();
    let (id, command) = text.trim().split_once(' ')?;
    Some((id.parse().ok()?, command.to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use std::io::{self, BufRead};

    use super::*;

    fn alone(path: &Path) -> StoreResult<Box<dyn FileLock>> {
        take(path, Mode::Alone)
    }

    fn shared(path: &Path) -> StoreResult<Box<dyn FileLock>> {
        take(path, Mode::Shared)
    }

    #[test]
    fn the_holder_of_a_lock_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("LOCK");
        let lock = alone(&path).unwrap();
        let content = fs::read_to_string(&path).unwrap();
        let (pid, command) = content.trim_end().split_once(' ').unwrap();
        assert_eq!(pid, std::process::id().to_string());
        assert!(!command.is_empty());
        for error in [alone(&path).unwrap_err(), shared(&path).unwrap_err()] {
            let text = error.to_string();
            assert_eq!(error.kind(), ErrorKind::Locked, "{text}");
            assert!(
                text.contains("this process") && text.contains(pid),
                "{text}"
            );
        }
        drop(lock);

        // Another process: this test program again, with only the test below.
        let mut other = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", HOLDER, "--ignored", "--nocapture"])
            .env(HOLDER_PATH, &path)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = io::BufReader::new(other.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().ends_with(HOLDS)));
        // Also if the file with the name was removed or replaced.
        for change in ["none", "removed", "replaced"] {
            if change != "none" {
                let _ = fs::remove_file(&path);
            }
            if change == "replaced" {
                fs::write(&path, "").unwrap();
            }
            for error in [alone(&path).unwrap_err(), shared(&path).unwrap_err()] {
                assert_eq!(error.kind(), ErrorKind::Locked, "{change}");
                let expected = format!("process {} (", other.id());
                assert!(error.to_string().contains(&expected), "{change}: {error}");
            }
        }
        other.kill().unwrap();
        other.wait().unwrap();
        drop(alone(&path).unwrap());
    }

    const HOLDER: &str = "vfs::lock::tests::keeps_a_lock_until_killed";
    const HOLDER_PATH: &str = "OSTRAKON_TEST_LOCK";
    const HOLDS: &str = "the lock is held";

    #[test]
    #[ignore = "run by the_holder_of_a_lock_is_named in a process of its own"]
    fn keeps_a_lock_until_killed() {
        let Some(path) = std::env::var_os(HOLDER_PATH) else {
            return;
        };
        let _lock = alone(Path::new(&path)).unwrap();
        writeln!(io::stdout(), "{HOLDS}").unwrap();
        // Ends when killed, or when the parent has ended.
        io::stdin().read_line(&mut String::new()).unwrap();
    }

    #[test]
    fn readers_share_and_keep_a_writer_out() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("LOCK");
        // Nothing is written, so nothing need be writable.
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o500)).unwrap();
        let readers = [shared(&path).unwrap(), shared(&path).unwrap()];
        assert!(!path.exists());
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(alone(&path).unwrap_err().kind(), ErrorKind::Locked);
        let [one, other] = readers;
        drop(one);
        assert_eq!(alone(&path).unwrap_err().kind(), ErrorKind::Locked);
        drop(other);
        let writer = alone(&path).unwrap();
        assert_eq!(shared(&path).unwrap_err().kind(), ErrorKind::Locked);
        drop(writer);
        drop(shared(&path).unwrap());
    }

    #[test]
    fn a_moved_or_replaced_directory_is_detected() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("store");
        fs::create_dir(&dir).unwrap();
        let lock = alone(&dir.join("LOCK")).unwrap();
        lock.check().unwrap();
        fs::remove_file(dir.join("LOCK")).unwrap();
        lock.check().unwrap();
        fs::rename(&dir, folder.path().join("moved")).unwrap();
        assert_eq!(lock.check().unwrap_err().kind(), ErrorKind::ReadOnly);
        fs::create_dir(&dir).unwrap();
        assert_eq!(lock.check().unwrap_err().kind(), ErrorKind::ReadOnly);
        // At its new path it is still locked.
        let moved = folder.path().join("moved/LOCK");
        assert_eq!(alone(&moved).unwrap_err().kind(), ErrorKind::Locked);
    }
}
