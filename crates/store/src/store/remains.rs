//! Directories of stores whose catalog was lost.

use std::path::Path;

use super::open::{FILES_DIR, WAL_DIR};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::numbered;
use crate::sorted_file::ENDING;
use crate::vfs::Vfs;
use crate::wal::list_segments;

/// For a directory without a catalog: fails if files of a store are there. It is not a wrong name then, and no store may be
/// created among them: only the catalog knew what they hold.
pub(super) fn check_for_remains(vfs: &dyn Vfs, dir: &Path) -> StoreResult<()> {
    let files = dir.join(FILES_DIR);
    let entries = if_there(vfs.list(&files))?;
    let sorted = entries
        .iter()
        .find(|entry| numbered::number(&entry.name, ENDING).is_some())
        .map(|entry| files.join(&entry.name));
    let segments = if_there(list_segments(vfs, &dir.join(WAL_DIR)))?;
    let found = sorted.or_else(|| Some(segments.into_iter().next()?.1));
    match found {
        None => Ok(()),
        Some(found) => Err(Error::corruption(
            "files of a store are in this directory, but its catalog and the mirror of the catalog are missing: put both \
             back if they were moved, or use a checkpoint or a backup of the whole directory",
        )
        .with("directory", dir.display())
        .with("holds", found.display())),
    }
}

/// Nothing for a directory that is not there, or is none.
fn if_there<T>(listed: StoreResult<Vec<T>>) -> StoreResult<Vec<T>> {
    match listed {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(error),
        listed => Ok(listed.unwrap_or_default()),
    }
}
