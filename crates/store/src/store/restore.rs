//! Restores a table file from a checkpoint or another copy, while the store is open.

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::source::RestoredFile;

use super::accept_loss::move_to_lost;
use super::open::Store;
use crate::cache::{BlockCache, CacheOptions};
use crate::catalog::{FileId, FileRecord};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::metrics::Metrics;
use crate::numbered;
use crate::sorted_file::{ENDING, SortedFile};
use crate::vfs::Vfs;

/// Memory to read the candidate, in bytes.
const CACHE_BYTES: u64 = 4 << 20;

/// Bytes copied at a time.
const COPY_BYTES: u64 = 1 << 20;

impl Store {
    /// Verifies that `from` is the file that the catalog knows under its name, complete and
    /// undamaged, and replaces the store's own file with it.
    pub(super) fn restore_one(&self, from: &Path) -> StoreResult<RestoredFile> {
        let context = &self.context;
        context.health.check_writable()?;
        let name = from.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| numbered::number(name.as_ref(), ENDING));
        let (Some(name), Some(number)) = (name, number) else {
            return Err(Error::invalid(
                "a table file of a store is named by its number, as in files/0000000000000012.sorted of a checkpoint",
            )
            .with("file", from.display()));
        };
        // While this is held the catalog does not forget the file, or if it does the file is
        // deleted later.
        let _kept = context.files.hold_garbage();
        let record = self.referenced(FileId(number), from)?;
        self.verify_candidate(from, &record)?;
        let target = context.files.path(record.id);
        let beside = context.files.restored_copy(record.id);
        let _restoring = self.restoring.lock();
        let copied = copy(&*context.vfs, from, &beside);
        // The file is not given up meanwhile.
        let _administration = self.administration.lock();
        let copied = copied
            .and_then(|()| self.referenced(record.id, from).map(drop))
            .and_then(|()| self.clear(&target))
            .and_then(|()| context.vfs.rename(&beside, &target))
            .and_then(|()| context.vfs.sync_names(context.files.dir(), &[&target]));
        if copied.is_err() {
            // It may not exist. The next opening removes it if the store was closed meanwhile.
            let _ = context.vfs.remove(&beside);
        }
        copied?;
        context.files.cache().forget_file(record.id.0);
        let mut restored = RestoredFile {
            file: format!("files/{name}"),
            bytes: record.bytes,
            tables: Vec::new(),
        };
        let tables: Vec<_> = self.tables.read().values().cloned().collect();
        for table in tables {
            let version = table.version();
            let mut files = version.tablets().iter().flat_map(|tablet| &tablet.files);
            if files.any(|file| file.reference.file == record.id) {
                table.retry();
                restored.tables.push(table.status().name.to_string());
            }
        }
        Ok(restored)
    }

    /// The record of a file that a table reads.
    fn referenced(&self, id: FileId, from: &Path) -> StoreResult<FileRecord> {
        self.context.catalog.view()?.file(id)?.ok_or_else(|| {
            Error::not_found(
                "no table of this store reads a file of that number: it was merged into another since, or is of another \
                 store",
            )
            .with("file", from.display())
        })
    }

    /// Moves what is at `target` away unless it is a file, or a link to one, which would be replaced: a directory would not.
    fn clear(&self, target: &Path) -> StoreResult<()> {
        let vfs = &self.context.vfs;
        let is_file = |error: Error| error.kind() != ErrorKind::Corruption;
        let stays = vfs.open(target).err().is_none_or(is_file);
        match stays {
            true => Ok(()),
            false => move_to_lost(&self.context, target).map(drop),
        }
    }

    fn verify_candidate(&self, from: &Path, record: &FileRecord) -> StoreResult<()> {
        let metrics = Arc::new(Metrics::default());
        let sizes = CacheOptions {
            bytes: CACHE_BYTES,
            open_files: 1,
        };
        let cache = BlockCache::new(sizes, metrics.clone())?;
        let candidate = SortedFile::open_known(&self.context.vfs, from, record, &cache, &metrics)?;
        candidate.verify(&mut |_| ()).map(drop)
    }
}

fn copy(vfs: &dyn Vfs, from: &Path, to: &Path) -> StoreResult<()> {
    let source = vfs.open(from)?;
    let len = source.len()?;
    if vfs.exists(to)? {
        vfs.remove(to)?;
    }
    let mut target = vfs.create(to)?;
    let mut buffer = Vec::new();
    let mut at = 0;
    while at < len {
        let piece = COPY_BYTES.min(len - at);
        buffer.resize(piece as usize, 0);
        source.read_at(at, &mut buffer)?;
        target.write_all(&buffer)?;
        at += piece;
    }
    target.sync_data()
}
