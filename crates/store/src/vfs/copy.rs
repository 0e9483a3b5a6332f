//! Copies between disks, and whole trees.

use std::path::Path;

use super::contract::Vfs;
use crate::error::{ErrorKind, StoreResult};

/// Bytes copied at a time.
const COPY_BYTES: u64 = 1 << 20;

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
    let mut buffer = vec![0; COPY_BYTES.min(len) as usize];
    let mut at = 0;
    while at < len {
        buffer.truncate((len - at) as usize);
        source.read_at(at, &mut buffer)?;
        target.write_all(&buffer)?;
        at += buffer.len() as u64;
    }
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
