//! Checkpoint: a copy of the store in another directory, made while it runs.
//!
//! It is built in `NAME.partial/store` next to its destination and renamed when all of it is on the
//! disk. So it exists completely or not at all, and the remains of a crash cannot be mistaken for a
//! store. The next attempt removes them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::open::Store;
use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::vfs::{copy_file, remove_tree};

/// Suffix of the directory in which a checkpoint is built.
const PARTIAL: &str = ".partial";
/// Its subdirectory that becomes the checkpoint.
const BUILT: &str = "store";
/// Lock file against a concurrent checkpoint of the same name.
const LOCK: &str = "LOCK";

impl Store {
    /// Flushes every table, then copies the catalog and links the table files, or copies them if
    /// the destination is on another file system. Writes that arrive meanwhile may or may not be in
    /// the copy, batch by batch.
    pub(super) fn write_checkpoint(&self, directory: &Path) -> StoreResult<()> {
        self.context.health.check_writable()?;
        let disk = &self.outside;
        let exists = disk.exists(directory)?;
        if exists && !disk.list(directory)?.is_empty() {
            return Err(Error::new(
                ErrorKind::AlreadyExists,
                "a checkpoint is written to a directory that is empty or absent",
            )
            .with("directory", directory.display()));
        }
        if self.is_on_our_disk() && is_within(directory, &self.context.dir) {
            return Err(Error::invalid(
                "a checkpoint cannot lie in the store that it is made of: choose a directory outside",
            )
            .with("directory", directory.display()));
        }
        let partial = partial_of(directory)?;
        let parent = parent_of(directory);
        disk.create_dir_durably(parent)?;
        disk.create_dir_all(&partial)?;
        let lock = disk.lock(&partial.join(LOCK))?;
        let built = partial.join(BUILT);
        let written = remove_tree(&**disk, &built).and_then(|()| {
            self.build_copy(&built)?;
            if exists {
                disk.remove_dir(directory)?;
            }
            disk.rename(&built, directory)?;
            disk.sync_names(parent, &[directory]).inspect_err(|_| {
                // A copy that a power failure may remove must not look like a checkpoint. It goes with the rest below.
                let _ = disk.rename(directory, &built);
            })
        });
        if written.is_err() && exists {
            // What the caller created stays, as far as that is possible.
            let _ = disk.create_dir_all(directory);
        }
        // Not needed any more, whether the copy succeeded or not. If it cannot be removed, the log
        // names it; it is harmless.
        let removed = remove_tree(&**disk, &partial);
        drop(lock);
        if let Err(error) = &removed {
            tracing::warn!(%error, directory = %partial.display(), "cannot remove the remains of a checkpoint; remove them by hand");
        }
        written.map_err(|error| match removed {
            Ok(()) => error.with("checkpoint", directory.display()),
            Err(_) => error
                .with("checkpoint", directory.display())
                .with("left over", partial.display()),
        })
    }

    /// Makes the copy in `built`, which must not exist, and puts all of it on the disk.
    fn build_copy(&self, built: &Path) -> StoreResult<()> {
        let (context, disk) = (&self.context, &self.outside);
        // The copy of the catalog is consistent, whatever is created, renamed or deleted meanwhile:
        // the map of the tables is not locked while they are flushed.
        let tables: Vec<_> = self.tables.read().values().cloned().collect();
        for table in tables {
            table.flush_bounded()?;
        }
        disk.create_dir_all(&built.join("wal"))?;
        disk.create_dir_all(&built.join("files"))?;
        // Files that a compaction replaces are kept while this guard lives.
        let _kept = context.files.hold_garbage();
        context.catalog.copy_to(disk, built)?;
        let copy = Catalog::open_read_only(disk, built, Catalog::CACHE_BYTES_DEFAULT)?;
        let mut may_link = true;
        for file in copy.view()?.files()? {
            let from = context.files.path(file.id);
            let Some(name) = from.file_name() else {
                continue;
            };
            let to = built.join("files").join(name);
            may_link = may_link && self.link(&from, &to)?;
            if !may_link {
                copy_file(&*context.vfs, &from, &**disk, &to)?;
            }
        }
        for dir in [&built.join("files"), &built.join("wal"), built] {
            disk.sync_dir(dir)?;
        }
        Ok(())
    }

    /// Gives a file a second name; `false` if that is impossible: on another disk or file system,
    /// or on one without hard links.
    fn link(&self, from: &Path, to: &Path) -> StoreResult<bool> {
        if !self.is_on_our_disk() {
            return Ok(false);
        }
        match self.context.vfs.hard_link(from, to) {
            Ok(()) => Ok(true),
            Err(error) => match error.kind() {
                ErrorKind::Io | ErrorKind::ReadOnly | ErrorKind::Unsupported => Ok(false),
                _ => Err(error),
            },
        }
    }

    /// Whether checkpoints go to the store's own file system abstraction.
    fn is_on_our_disk(&self) -> bool {
        std::ptr::addr_eq(&raw const *self.outside, &raw const *self.context.vfs)
    }
}

/// Whether a path lies in a directory, comparing the names only.
fn is_within(path: &Path, directory: &Path) -> bool {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute(path).starts_with(absolute(directory))
}

/// The directory in which a checkpoint is built.
fn partial_of(directory: &Path) -> StoreResult<PathBuf> {
    let name = directory.file_name().ok_or_else(|| {
        Error::invalid("a checkpoint needs a directory with a name of its own, and not `.` or `..`")
            .with("directory", directory.display())
    })?;
    let mut partial = OsString::from(name);
    partial.push(PARTIAL);
    Ok(parent_of(directory).join(partial))
}

fn parent_of(directory: &Path) -> &Path {
    directory.parent().unwrap_or(directory)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    #![allow(clippy::disallowed_methods, reason = "the disk is looked at")]

    use std::sync::Arc;

    use ostrakon_cell::{Mutation, MutationBatch, Scanner, Source, TableOptions};

    use super::*;
    use crate::StoreOptions;

    fn fill(store: &Arc<Store>) {
        store.create_table("t", &TableOptions::default()).unwrap();
        let mut batch = MutationBatch::new();
        let mut mutation = Mutation::new("row");
        mutation.put("f", "q", "v").unwrap();
        batch.push(&mutation).unwrap();
        let table = store.table("t").unwrap();
        table.submit(batch, None).unwrap().wait().unwrap();
    }

    fn check_copy(copy: &Path) {
        let store = Store::open(copy, StoreOptions::default()).unwrap();
        let entries = Scanner::new(store.table("t").unwrap()).entries().unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!(store.check(&mut |_, _| true).unwrap().problems, []);
    }

    /// It used to go to the store's own in-memory disk, which was lost with the store, and still
    /// reported success.
    #[test]
    fn a_checkpoint_of_a_store_in_memory_is_on_the_machines_disk() {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("deep/copy");
        let store = Store::in_memory().unwrap();
        fill(&store);
        store.checkpoint(&copy).unwrap();
        drop(store);
        check_copy(&copy);
    }

    #[test]
    fn a_failed_attempt_leaves_no_store_and_can_be_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("copy");
        let store = Store::open(folder.path().join("store"), StoreOptions::default()).unwrap();
        fill(&store);
        // The state after a crash in the middle.
        let partial = folder.path().join("copy.partial");
        std::fs::create_dir_all(partial.join("store/files")).unwrap();
        std::fs::write(partial.join("store/catalog"), "half").unwrap();
        let options = StoreOptions {
            create: false,
            ..StoreOptions::default()
        };
        let opened = Store::open(&partial, options).unwrap_err();
        assert_eq!(opened.kind(), ErrorKind::NotFound, "{opened}");
        std::fs::create_dir(&copy).unwrap();
        store.checkpoint(&copy).unwrap();
        assert!(!partial.exists());
        let again = store.checkpoint(&copy).unwrap_err();
        assert_eq!(again.kind(), ErrorKind::AlreadyExists);
        // A missing table file: the copy fails, and nothing of it remains.
        let other = folder.path().join("other");
        let file = std::fs::read_dir(folder.path().join("store/files"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        std::fs::rename(&file, folder.path().join("kept")).unwrap();
        let error = store.checkpoint(&other).unwrap_err();
        assert!(error.to_string().contains("other"), "{error}");
        assert!(!other.exists() && !folder.path().join("other.partial").exists());
        std::fs::rename(folder.path().join("kept"), &file).unwrap();
        store.checkpoint(&other).unwrap();
        drop(store);
        check_copy(&copy);
        check_copy(&other);
    }
}
