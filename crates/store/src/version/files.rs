//! The table files of a store: opened once, shared by tablets, deleted when they are no longer
//! used.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;

use crate::cache::BlockCache;
use crate::catalog::{FileId, FileRecord};
use crate::error::StoreResult;
use crate::metrics::Metrics;
use crate::numbered;
use crate::sorted_file::{ENDING, SortedFile};
use crate::vfs::Vfs;

/// Ending of a copy of a table file that is to replace a damaged one.
const RESTORED_COPY: &str = ".sorted.restored";

/// All table files in use.
pub struct FileRegistry {
    vfs: Arc<dyn Vfs>,
    dir: PathBuf,
    cache: Arc<BlockCache>,
    metrics: Arc<Metrics>,
    open: Mutex<HashMap<FileId, Weak<TableFile>>>,
    garbage: Arc<Mutex<Vec<FileId>>>,
    /// Held while files are deleted.
    collecting: Arc<Mutex<Collecting>>,
}

/// Whether files may be deleted.
#[derive(Default)]
struct Collecting {
    /// Nothing is deleted any more.
    closed: bool,
    /// Number of callers that need all files to be kept.
    held: usize,
}

/// While it lives no file is deleted. The deletion does not wait for it: it is retried.
pub struct HeldGarbage(Arc<Mutex<Collecting>>);

impl Drop for HeldGarbage {
    fn drop(&mut self) {
        self.0.lock().held -= 1;
    }
}

/// One table file. Once it is removed from the catalog, it is deleted after its last reader.
pub struct TableFile {
    record: FileRecord,
    reader: Arc<SortedFile>,
    /// Oldest and newest timestamp, once they were requested.
    times: OnceLock<(i64, i64)>,
    obsolete: AtomicBool,
    garbage: Arc<Mutex<Vec<FileId>>>,
}

impl TableFile {
    /// The catalog's record of it.
    #[must_use]
    pub fn record(&self) -> &FileRecord {
        &self.record
    }

    /// Oldest and newest timestamp, read once; `None` while the file cannot be read.
    #[must_use]
    pub fn times(&self) -> Option<(i64, i64)> {
        if let Some(times) = self.times.get() {
            return Some(*times);
        }
        let summary = self.reader.summary().ok()?;
        Some(*self.times.get_or_init(|| (summary.oldest, summary.newest)))
    }

    /// The file's reader.
    #[must_use]
    pub fn reader(&self) -> &Arc<SortedFile> {
        &self.reader
    }
}

impl Drop for TableFile {
    fn drop(&mut self) {
        if self.obsolete.load(Ordering::Acquire) {
            self.garbage.lock().push(self.record.id);
        }
    }
}

impl FileRegistry {
    /// A registry of the files in `dir`.
    pub fn new(
        vfs: Arc<dyn Vfs>,
        dir: PathBuf,
        cache: Arc<BlockCache>,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            vfs,
            dir,
            cache,
            metrics,
            open: Mutex::new(HashMap::new()),
            garbage: Arc::new(Mutex::new(Vec::new())),
            collecting: Arc::default(),
        }
    }

    /// While the guard lives no file is deleted.
    #[must_use]
    pub fn hold_garbage(&self) -> HeldGarbage {
        self.collecting.lock().held += 1;
        HeldGarbage(self.collecting.clone())
    }

    /// The directory of the files.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The cache that the files share.
    #[must_use]
    pub fn cache(&self) -> &Arc<BlockCache> {
        &self.cache
    }

    /// The disk.
    #[must_use]
    pub fn vfs(&self) -> &Arc<dyn Vfs> {
        &self.vfs
    }

    /// The path of a file.
    #[must_use]
    pub fn path(&self, id: FileId) -> PathBuf {
        self.dir.join(numbered::name(id.0, ENDING))
    }

    /// The file of a record; nothing is read yet.
    pub fn file(&self, record: &FileRecord) -> StoreResult<Arc<TableFile>> {
        let mut open = self.open.lock();
        if let Some(file) = open.get(&record.id).and_then(Weak::upgrade) {
            return Ok(file);
        }
        let path = self.path(record.id);
        let reader = SortedFile::open_known(&self.vfs, &path, record, &self.cache, &self.metrics)?;
        let file = Arc::new(TableFile {
            record: record.clone(),
            reader,
            times: OnceLock::new(),
            obsolete: AtomicBool::new(false),
            garbage: self.garbage.clone(),
        });
        open.insert(record.id, Arc::downgrade(&file));
        Ok(file)
    }

    /// Releases files that were removed from the catalog. Those still read are deleted later.
    pub fn retire(&self, ids: &[FileId]) {
        for id in ids {
            let open = self.open.lock().remove(id).and_then(|file| file.upgrade());
            match open {
                Some(file) => file.obsolete.store(true, Ordering::Release),
                None => self.garbage.lock().push(*id),
            }
        }
    }

    /// Deletes files that are no longer used. A failed deletion is retried.
    pub fn collect(&self) -> StoreResult<usize> {
        let collecting = self.collecting.lock();
        if collecting.closed || collecting.held > 0 {
            return Ok(0);
        }
        let garbage = std::mem::take(&mut *self.garbage.lock());
        let mut deleted = 0;
        for (at, id) in garbage.iter().enumerate() {
            self.cache.forget_file(id.0);
            if let Err(error) = self.vfs.remove(&self.path(*id)) {
                if error.kind() == crate::error::ErrorKind::NotFound {
                    continue;
                }
                self.garbage.lock().extend_from_slice(&garbage[at..]);
                return Err(error);
            }
            self.metrics.files_deleted.increment();
            deleted += 1;
        }
        Ok(deleted)
    }

    /// Deletes files for the last time. Files that become unused later stay for the next opening,
    /// which may have reused the id by the time a late reader releases the file.
    pub fn close(&self) -> StoreResult<()> {
        let outcome = self.collect();
        self.collecting.lock().closed = true;
        outcome.map(drop)
    }

    /// Where a copy is written that is to replace a damaged file.
    #[must_use]
    pub fn restored_copy(&self, id: FileId) -> PathBuf {
        self.dir.join(numbered::name(id.0, RESTORED_COPY))
    }

    /// Deletes files in the directory that the catalog does not know, leftovers of a crash; returns
    /// the largest id among them that is near `last`, the largest known one.
    pub fn delete_leftovers(
        &self,
        last: FileId,
        is_known: impl Fn(FileId) -> bool,
    ) -> StoreResult<Option<FileId>> {
        let mut largest = None;
        for entry in self.vfs.list(&self.dir)? {
            let is_copy = numbered::number(&entry.name, RESTORED_COPY).is_some();
            if is_copy && !entry.is_dir {
                self.vfs.remove(&self.dir.join(&entry.name))?;
                continue;
            }
            let id = numbered::number(&entry.name, ENDING);
            let Some(id) = id.map(FileId).filter(|id| !is_known(*id)) else {
                continue;
            };
            let path = self.dir.join(&entry.name);
            // The store makes none, so it is not the store's to remove. Its name is given to no file.
            match entry.is_dir {
                true => tracing::warn!(
                    directory = %path.display(),
                    "a directory has the name of a table file; it stays, and is not used"
                ),
                false => self.vfs.remove(&path)?,
            }
            largest = largest.max(Some(id).filter(|id| numbered::is_near(id.0, last.0)));
        }
        Ok(largest)
    }
}
