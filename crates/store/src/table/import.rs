//! Imports sorted files that other processes wrote: checks them, takes them over, publishes them in
//! one transaction.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostrakon_cell::{ImportDirectoryOptions, ImportReport, ImportTransfer};

use super::core::TableCore;
use crate::catalog::{AgeRange, CatalogTransaction, FileId, FileRecord};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::sorted_file::{ENDING, FileSummary, SortedFile};
use crate::tablet::file_record;
use crate::vfs::{RealVfs, Vfs};

/// Bytes copied at a time.
const COPY_BYTES: usize = 1 << 20;

/// A file of the directory that passed its checks.
struct Candidate {
    path: PathBuf,
    id: FileId,
    summary: FileSummary,
}

impl TableCore {
    /// Imports every sorted file of `directory` atomically.
    ///
    /// The order makes a crash at any step safe: files are checked in place, then given a second
    /// name (or a copy) in the store and synced, then published, and only then removed from the
    /// directory. Before the publication the next opening deletes the second names as leftovers;
    /// after it, nothing is missing.
    pub(super) fn import_files(
        &self,
        directory: &Path,
        options: &ImportDirectoryOptions,
    ) -> StoreResult<ImportReport> {
        self.writable()?;
        let disk = self.disk_of(directory)?;
        let paths = sorted_files(&*disk, directory)?;
        if paths.is_empty() && !options.allow_empty {
            return Err(Error::invalid(
                "there is no file to import in the directory: a sorted file's name ends with .sorted",
            )
            .with("directory", directory.display()));
        }
        let mut report = ImportReport::default();
        let mut candidates = Vec::with_capacity(paths.len());
        let mut done_with = Vec::with_capacity(paths.len());
        for path in paths {
            let id = self.context.catalog.new_file_id();
            let summary = self
                .examine(&disk, &path, id, options)
                .map_err(|error| refused(error, &path))?;
            done_with.push(path.clone());
            if summary.entries == 0 {
                report.empty_files += 1;
                continue;
            }
            report.entries += summary.entries;
            report.bytes += summary.bytes;
            candidates.push(Candidate { path, id, summary });
        }
        report.files = candidates.len() as u64;
        let mut taken = Vec::with_capacity(candidates.len());
        let published = self.take_over(&*disk, candidates, options, &mut taken, &mut report);
        if let Err(error) = published {
            self.context.discard(&taken);
            return Err(error);
        }
        if options.transfer == ImportTransfer::Move {
            for path in done_with {
                if let Err(error) = disk.remove(&path) {
                    tracing::warn!(%error, "an imported file stays in its directory; remove it by hand");
                    report.files_left += 1;
                }
            }
        }
        Ok(report)
    }

    /// The store's file system, or the machine's if the store has its own (in memory) without this
    /// directory.
    fn disk_of(&self, directory: &Path) -> StoreResult<Arc<dyn Vfs>> {
        let own = &self.context.vfs;
        let disk = if own.exists(directory)? {
            own.clone()
        } else {
            RealVfs::shared()
        };
        // Moving files out of any store would destroy it.
        let parent = directory.join("..");
        let is_of_a_store = directory.starts_with(&self.context.dir)
            && self.context.dir.parent().is_some()
            || (disk.exists(&parent.join("LOCK"))? && disk.exists(&parent.join("wal"))?);
        if is_of_a_store {
            return Err(Error::invalid(
                "the directory is part of a store; import files that were written for it elsewhere",
            )
            .with("directory", directory.display()));
        }
        Ok(disk)
    }

    fn examine(
        &self,
        disk: &Arc<dyn Vfs>,
        path: &Path,
        id: FileId,
        options: &ImportDirectoryOptions,
    ) -> StoreResult<FileSummary> {
        let context = &self.context;
        let cache = context.files.cache();
        let file = SortedFile::open(disk, path, id.0, cache, &context.metrics)?;
        let summary = file.check_outline()?;
        if options.verify {
            file.verify(&mut |_| ())?;
        }
        // Cached blocks of it are dropped with `file`: the store opens its own handle later.
        Ok(summary)
    }

    fn take_over(
        &self,
        disk: &dyn Vfs,
        candidates: Vec<Candidate>,
        options: &ImportDirectoryOptions,
        taken: &mut Vec<FileId>,
        report: &mut ImportReport,
    ) -> StoreResult<()> {
        if candidates.is_empty() {
            return Ok(());
        }
        let context = &self.context;
        let now = context.clock.now_millis();
        let mut records: Vec<FileRecord> = Vec::with_capacity(candidates.len());
        let newest = candidates.iter().map(|candidate| candidate.summary.newest);
        let newest = newest.max().unwrap_or(i64::MIN);
        for candidate in candidates {
            let target = context.files.path(candidate.id);
            taken.push(candidate.id);
            let linked = options.transfer != ImportTransfer::Copy
                && link(&*context.vfs, &candidate.path, &target)?;
            if !linked {
                copy(disk, &candidate.path, &*context.vfs, &target)?;
                report.copied_files += 1;
            }
            // The age is set when the import is published.
            let age = AgeRange::default();
            records.push(file_record(candidate.id, candidate.summary, 0, age, now));
        }
        let targets: Vec<_> = taken.iter().map(|id| context.files.path(*id)).collect();
        let targets: Vec<&Path> = targets.iter().map(PathBuf::as_path).collect();
        context.vfs.sync_names(context.files.dir(), &targets)?;
        self.publish_import(&mut records, newest)
    }
}

impl TableCore {
    /// Makes finished files part of the table in one step. They get ages in the order of the
    /// table's data: newer than every write that was acknowledged before, older than every later
    /// one, and of two of them the later one is newer.
    ///
    /// Advances the table's clock beyond `newest`, the greatest timestamp in the files, so that
    /// imported entries do not hide writes that the table stamps later.
    pub(super) fn publish_import(&self, files: &mut [FileRecord], newest: i64) -> StoreResult<()> {
        let _flushing = self.flushing.take();
        self.writable()?;
        let ages = self.ages_of_import(files.len())?;
        for (file, ages) in files.iter_mut().zip(ages) {
            file.ages = ages;
        }
        let _structure = self.structure.lock();
        // Under `structure`: a deleted table has no tablets.
        self.writable()?;
        let version = self.version();
        let change = |change: &mut CatalogTransaction<'_>| {
            for file in files.iter() {
                change.add_file(file)?;
                for (end, share) in super::flushing::shares(file, &version) {
                    change.replace_files(self.id, end.as_deref(), &[], &[share])?;
                }
            }
            // So that it also holds after a restart.
            change.set_flushed(self.id, 0, self.time.last())
        };
        self.time.advance_to(newest);
        let _ = self.edit(change, |_| ())?;
        self.context.wakeups.compact.wake();
        Ok(())
    }
}

/// The files to import, sorted by name.
fn sorted_files(disk: &dyn Vfs, directory: &Path) -> StoreResult<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in disk.list(directory)? {
        let name = entry.name.as_encoded_bytes();
        if name.starts_with(b"_") || name.starts_with(b".") {
            continue;
        }
        let path = directory.join(&entry.name);
        if entry.is_dir || !name.ends_with(ENDING.as_bytes()) {
            return Err(Error::invalid(
                "the directory holds something else than sorted files (their names end with .sorted); \
                 nothing was imported",
            )
            .with("file", path.display()));
        }
        paths.push(path);
    }
    Ok(paths)
}

fn refused(error: Error, path: &Path) -> Error {
    Error::new(
        error.kind(),
        "a file cannot be imported, so nothing was imported: write the file again, or take it out of the directory",
    )
    .with("file", path.display())
    .with_source(error)
}

/// Gives a file a second name in the store and makes its bytes durable. `false` where that is
/// impossible: across disks, on file systems without hard links, without permission.
fn link(disk: &dyn Vfs, from: &Path, to: &Path) -> StoreResult<bool> {
    match disk.hard_link(from, to) {
        Ok(()) => {}
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::OutOfSpace | ErrorKind::TooManyOpenFiles
            ) =>
        {
            return Err(error);
        }
        Err(_) => return Ok(false),
    }
    match disk.open_random(to) {
        Ok(file) => file.sync_data().map(|()| true),
        Err(_) => {
            disk.remove(to)?;
            Ok(false)
        }
    }
}

fn copy(from_disk: &dyn Vfs, from: &Path, to_disk: &dyn Vfs, to: &Path) -> StoreResult<()> {
    let source = from_disk.open(from)?;
    let len = source.len()?;
    let mut target = to_disk.create(to)?;
    target.allocate(len)?;
    let mut buffer = vec![0; COPY_BYTES.min(len as usize)];
    let mut at = 0;
    while at < len {
        let piece = (COPY_BYTES as u64).min(len - at) as usize;
        buffer.truncate(piece);
        source.read_at(at, &mut buffer)?;
        target.write_all(&buffer)?;
        at += piece as u64;
    }
    target.sync_data()
}
