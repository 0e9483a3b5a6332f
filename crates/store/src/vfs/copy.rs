//! Copies between disks, and whole trees.

use std::path::Path;

use super::contract::{Vfs, copy_content};
use crate::error::{ErrorKind, StoreResult};

/// Copies a file to a new one, perhaps on another disk, and makes its bytes durable; the name needs
/// [`Vfs::sync_dir`].
///
/// # Errors
/// Those of the disks. The bytes copied so far remain.
pub fn copy_file(
    from_disk: &dyn Vfs,
    from: &Path,
    to_disk: &dyn Vfs,
    to: &Path,
) -> StoreResult<()> {
    let source = from_disk.open(from)?;
    let len = source.len()?;
    let mut target = to_disk.create(to)?;
    target.allocate(len)?;
    copy_content(len, |at, bytes| source.read_at(at, bytes), &mut *target)?;
    target.sync_data()
}

/// Removes a directory and everything in it; succeeds if it does not exist.
///
/// # Errors
/// Those of the disk. Files removed so far stay removed.
pub fn remove_tree(disk: &dyn Vfs, dir: &Path) -> StoreResult<()> {
    let entries = match disk.list(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = dir.join(&entry.name);
        if entry.is_dir {
            remove_tree(disk, &path)?;
        } else {
            disk.remove(&path)?;
        }
    }
    disk.remove_dir(dir)
}
