//! The directory for what a query cannot keep in memory.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::interrupt::Incomplete;

/// What the names of the directories begin with.
const PREFIX: &str = "ostrakon-sql-";
/// The file in the directory that its process keeps locked.
const LOCK: &str = "lock";

/// A directory that is removed with all that is in it, also by a signal that ends the program: it holds cells. What a
/// process leaves that was killed, the next one removes.
pub(super) struct SpillDirectory {
    guard: Incomplete,
    path: PathBuf,
    _lock: File,
}

impl SpillDirectory {
    /// A new directory that only this user can read. `None` if there cannot be one: most queries need none.
    pub(super) fn create() -> Option<Self> {
        let parent = std::env::temp_dir();
        remove_abandoned(&parent);
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = since.map_or(0, |since| since.as_nanos());
        let path = parent.join(format!("{PREFIX}{}-{nanos}", std::process::id()));
        let guard = Incomplete::new(&path);
        create(&path).ok()?;
        let lock = File::create_new(path.join(LOCK)).ok()?;
        lock.try_lock().ok()?;
        Some(Self {
            guard,
            path,
            _lock: lock,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SpillDirectory {
    fn drop(&mut self) {
        // Threads of a query that was stopped may still be writing.
        self.guard.remove();
    }
}

/// Removes the directories of processes that have ended. One without a lock file is empty, or is being made.
fn remove_abandoned(parent: &Path) {
    let Ok(found) = std::fs::read_dir(parent) else {
        return;
    };
    for entry in found.flatten() {
        let is_ours = entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.starts_with(PREFIX));
        // Those of other users cannot be opened.
        if is_ours
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
            && let Ok(lock) = File::options().write(true).open(entry.path().join(LOCK))
            && lock.try_lock().is_ok()
        {
            // Another process may be removing it, too.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(unix)]
fn create(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;

    std::fs::DirBuilder::new().mode(0o700).create(path)
}

#[cfg(not(unix))]
fn create(path: &Path) -> std::io::Result<()> {
    std::fs::create_dir(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_processes_that_were_killed_are_removed() {
        let parent = tempfile::tempdir().expect("a directory");
        let make = |name: &str, with_lock: bool| {
            let path = parent.path().join(name);
            std::fs::create_dir_all(&path).expect("a directory");
            std::fs::write(path.join("cells"), "x").expect("a file");
            let lock = with_lock.then(|| File::create_new(path.join(LOCK)).expect("a file"));
            (path, lock)
        };
        let (killed, lock) = make("ostrakon-sql-1-1", true);
        drop(lock);
        let (running, held) = make("ostrakon-sql-2-2", true);
        held.as_ref().expect("a file").try_lock().expect("a lock");
        let (begun, _) = make("ostrakon-sql-3-3", false);
        let (other, _) = make("other", true);
        remove_abandoned(parent.path());
        assert!(!killed.exists());
        assert!(running.join("cells").exists() && begun.exists() && other.exists());
    }
}
