//! Checkpoint: a copy of the store in another directory, made while it runs.

use std::path::Path;

use super::open::Store;
use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind, StoreResult};

impl Store {
    /// Flushes every table, then links the table files and copies the catalog. Writes that arrive
    /// meanwhile may or may not be in the copy, batch by batch.
    pub(super) fn write_checkpoint(&self, directory: &Path) -> StoreResult<()> {
        self.context.health.check_writable()?;
        let context = &self.context;
        let vfs = &context.vfs;
        if vfs.exists(directory)? && !vfs.list(directory)?.is_empty() {
            return Err(Error::new(
                ErrorKind::AlreadyExists,
                "a checkpoint is written to a directory that is empty or absent",
            )
            .with("directory", directory.display()));
        }
        // No table comes, goes or is renamed while this is held.
        let tables = self.tables.read();
        for table in tables.values() {
            table.flush_memtables()?;
        }
        vfs.create_dir_durably(&directory.join("wal"))?;
        vfs.create_dir_all(&directory.join("files"))?;
        // Files that a compaction replaces stay until this guard goes.
        let _kept = context.files.hold_garbage();
        context.catalog.copy_to(vfs, directory)?;
        let copy = Catalog::open(vfs, directory, Catalog::CACHE_BYTES_DEFAULT)?;
        for file in copy.view()?.files()? {
            let from = context.files.path(file.id);
            let Some(name) = from.file_name() else {
                continue;
            };
            vfs.hard_link(&from, &directory.join("files").join(name))?;
        }
        vfs.sync_dir(&directory.join("files"))?;
        vfs.sync_dir(&directory.join("wal"))?;
        vfs.sync_dir(directory)
    }
}
