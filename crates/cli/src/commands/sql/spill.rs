//! The directory for what a query cannot keep in memory.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::interrupt::Incomplete;

/// A directory that is removed with all that is in it, also by a signal that ends the program: it holds cells.
pub(super) struct SpillDirectory(Incomplete, PathBuf);

impl SpillDirectory {
    /// A new directory that only this user can read. `None` if there cannot be one: most queries need none.
    pub(super) fn create() -> Option<Self> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = since.map_or(0, |since| since.as_nanos());
        let name = format!("ostrakon-sql-{}-{nanos}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let guard = Incomplete::new(&path);
        create(&path).ok()?;
        Some(Self(guard, path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.1
    }
}

impl Drop for SpillDirectory {
    fn drop(&mut self) {
        // Threads of a query that was stopped may still be writing.
        self.0.remove();
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
