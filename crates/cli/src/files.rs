//! Which file a path leads to, and whether it is part of a store.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A file, whatever its names are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg(unix)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

#[cfg(unix)]
impl Identity {
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        Ok(Self::found(&file.metadata()?))
    }

    fn found(data: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;

        Self {
            device: data.dev(),
            inode: data.ino(),
        }
    }

    /// Whether the file has this name. Symbolic links are not followed.
    pub(crate) fn is_at(self, path: &Path) -> io::Result<bool> {
        match path.symlink_metadata() {
            Ok(found) => Ok(Self::found(&found) == self),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Where files have no identity, a path is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg(not(unix))]
pub(crate) struct Identity;

#[cfg(not(unix))]
impl Identity {
    pub(crate) fn of(_: &File) -> io::Result<Self> {
        Ok(Self)
    }

    pub(crate) fn is_at(self, path: &Path) -> io::Result<bool> {
        path.try_exists()
    }
}

/// Whether both paths lead to the same file, which exists.
pub(crate) fn same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// Whether the directory has a store, as far as the names in it tell.
pub(crate) fn is_store(directory: &Path) -> bool {
    ["catalog", "catalog.mirror"]
        .iter()
        .any(|name| directory.join(name).exists())
}

/// What a store has in its directory; other files there are the user's.
const OWN: [&str; 7] = [
    "catalog",
    "catalog.mirror",
    "closed",
    "files",
    "LOCK",
    "lost",
    "wal",
];

/// How many symbolic links are followed, as by Linux.
const LINKS_MAX: usize = 40;

/// Where a file is, or would be made: also behind a link to a file that does not exist.
fn resolved(file: &Path, links: usize) -> Option<PathBuf> {
    if let Ok(file) = file.canonicalize() {
        return Some(file);
    }
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
        .canonicalize()
        .ok()?;
    match std::fs::read_link(file) {
        Ok(target) if links > 0 => resolved(&folder.join(target), links - 1),
        Ok(_) => None,
        Err(_) => Some(folder.join(file.file_name()?)),
    }
}

/// The directory of the store that a file is part of, or would be.
pub(crate) fn store_around(file: &Path) -> Option<PathBuf> {
    let file = resolved(file, LINKS_MAX)?;
    let is_own = |directory: &Path| {
        let inside = file.strip_prefix(directory).ok();
        let first = inside.and_then(|inside| inside.iter().next());
        first.is_some_and(|first| OWN.iter().any(|name| first == *name))
    };
    let mut around = file.ancestors().skip(1);
    // A directory of the user may have a file called `catalog`, too.
    around
        .find(|directory| {
            is_own(directory) && is_store(directory) && directory.join("wal").is_dir()
        })
        .map(Path::to_owned)
}
