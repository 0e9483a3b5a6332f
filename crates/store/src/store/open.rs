//! Opening and closing.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use ostrakon_cell::{ConstraintRegistry, IteratorRegistry};
use parking_lot::{Mutex, RwLock};

use super::background;
use super::log::LogThread;
use super::recovery::{Recovered, recover};
use crate::cache::{BlockCache, CacheOptions};
use crate::catalog::{Catalog, CatalogIdentity};
use crate::clock::{Clock, Random, SystemClock};
use crate::constraint::stock_constraints;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::iterator::stock_iterators;
use crate::memtable::BufferPool;
use crate::metrics::{Metrics, MetricsSnapshot};
use crate::options::StoreOptions;
use crate::table::{Health, StoreContext, TableCore};
use crate::tablet::{FileRegistry, Layout};
use crate::timer::Timer;
use crate::vfs::{FileLock, MemoryVfs, RealVfs, Vfs, WatchedNames};
use crate::wal::{CommitGroup, Damage, WalWriter, list_segments};

/// Where the parts of a store stand in its directory.
const LOCK_FILE: &str = "LOCK";
const WAL_DIR: &str = "wal";
const FILES_DIR: &str = "files";

/// Memory for the catalog's pages, in bytes.
const CATALOG_CACHE_BYTES: usize = 4 << 20;

/// Memory of a table that is left to the log when the store closes: replaying it takes less than
/// a tenth of a second.
const KEPT_IN_LOG_BYTES: u64 = 16 << 20;

/// What does work for a store and can be replaced: disk, clock, classes of iterators and
/// constraints.
#[derive(Clone)]
pub struct Components {
    /// The disk. Default: the operating system's.
    pub vfs: Arc<dyn Vfs>,
    /// Time. Default: the operating system's.
    pub clock: Arc<dyn Clock>,
    /// Iterator classes. Default: the stock iterators.
    pub iterators: IteratorRegistry,
    /// Constraint classes. Default: the stock constraints.
    pub constraints: ConstraintRegistry,
}

impl Default for Components {
    fn default() -> Self {
        Self {
            vfs: RealVfs::shared(),
            clock: SystemClock::shared(),
            iterators: stock_iterators(),
            constraints: stock_constraints(),
        }
    }
}

/// An open store: a directory of tables. Implements [`Source`](ostrakon_cell::Source).
///
/// One process has a store open at a time. Dropping the store closes it; what was acknowledged is
/// kept as its durability says.
pub struct Store {
    pub(super) context: Arc<StoreContext>,
    pub(super) tables: Arc<Tables>,
    pub(super) damages: Vec<Damage>,
    log: Mutex<Option<LogThread>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    stop: Arc<AtomicBool>,
    _lock: Option<Box<dyn FileLock>>,
}

/// The tables by name. Creating, renaming and deleting take the lock for writing, catalog change
/// included.
pub(super) type Tables = RwLock<BTreeMap<String, Arc<TableCore>>>;

impl Store {
    /// Opens the store in `dir`, making it one first if allowed.
    ///
    /// # Errors
    /// [`Locked`](ErrorKind::Locked) naming the process that has it open;
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) for a directory with something else in it;
    /// [`NewerFormat`](ErrorKind::NewerFormat); [`Corruption`](ErrorKind::Corruption) naming the
    /// file.
    pub fn open(dir: impl AsRef<Path>, options: StoreOptions) -> StoreResult<Arc<Self>> {
        Self::open_with(Components::default(), dir, options)
    }

    /// A store without a directory, gone when dropped. Opens in well under a millisecond.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn in_memory() -> StoreResult<Arc<Self>> {
        let components = Components {
            vfs: MemoryVfs::shared(),
            ..Components::default()
        };
        Self::open_with(components, "/", StoreOptions::default())
    }

    /// Opens a store with parts of the caller's choice.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        components: Components,
        dir: impl AsRef<Path>,
        options: StoreOptions,
    ) -> StoreResult<Arc<Self>> {
        let dir = dir.as_ref().to_owned();
        let Components {
            vfs,
            clock,
            iterators,
            constraints,
        } = components;
        let vfs = WatchedNames::on(vfs);
        let is_new = !Catalog::is_present(&*vfs, &dir)?;
        if is_new && (!options.create || options.read_only) {
            return Err(Error::not_found(
                "there is no store in this directory; name another, or let one be created",
            )
            .with("directory", dir.display()));
        }
        if is_new {
            vfs.create_dir_durably(&dir)?;
            // Before the lock, whose file would be left in a directory of somebody else. What another
            // process makes a store of in this moment is decided by the lock.
            if let Err(error) = Catalog::check_empty(&*vfs, &dir)
                && !Catalog::is_present(&*vfs, &dir)?
            {
                return Err(error);
            }
        }
        let lock = match vfs.lock(&dir.join(LOCK_FILE)) {
            Ok(lock) => Some(lock),
            // Nobody writes to a directory that cannot be written.
            Err(error) if options.read_only && error.kind() == ErrorKind::ReadOnly => None,
            Err(error) => return Err(error),
        };
        let catalog = if options.read_only {
            Catalog::open_read_only(&vfs, &dir, CATALOG_CACHE_BYTES)?
        } else {
            open_catalog(&vfs, &dir, is_new, &*clock)?
        };
        if !options.read_only {
            vfs.create_dir_all(&dir.join(WAL_DIR))?;
            vfs.create_dir_all(&dir.join(FILES_DIR))?;
            vfs.sync_dir(&dir)?;
        }
        let metrics = Arc::new(Metrics::default());
        let sizes = CacheOptions {
            bytes: options.cache_bytes(),
            open_files: options.max_open_files,
        };
        let cache = BlockCache::new(sizes, metrics.clone())?;
        // Whoever flushes and compacts by hand has a cache of one size.
        let borrower = (options.lend_unused && (options.background || options.read_only))
            .then(|| cache.clone());
        let files = FileRegistry::new(vfs.clone(), dir.join(FILES_DIR), cache, metrics.clone());
        let context = Arc::new(StoreContext {
            timer: Timer::new(clock.clone()),
            pressure: crate::table::Pressure::new(options.memtable_bytes(), borrower),
            buffers: Arc::new(BufferPool::new(options.flush_bytes() / 2)),
            vfs,
            dir,
            options,
            clock,
            metrics,
            catalog,
            files,
            iterators: Arc::new(iterators),
            constraints,
            commits: CommitGroup::default(),
            health: Health::default(),
            wakeups: crate::table::Wakeups::default(),
            segment: AtomicU64::new(0),
            log_end: AtomicU64::new(0),
            gapless_from: AtomicU64::new(0),
            oldest_segment: AtomicU64::new(0),
            sequence: AtomicU64::new(0),
            requests: Mutex::new(Vec::new()),
        });
        let tables = load_tables(&context)?;
        if !context.options.read_only {
            // Before recovery, which may flush.
            let known: Vec<_> = context.catalog.view()?.files()?;
            let is_known = |id| known.binary_search_by_key(&id, |file| file.id).is_ok();
            if let Some(largest) = context.files.delete_leftovers(is_known)? {
                // Somebody who still holds a handle of the store before may delete it by name once
                // more: never give that name to another file.
                context.catalog.skip_file_ids(largest);
            }
        }
        let Recovered {
            next_segment,
            gapless_from,
            damages,
        } = recover(&context, &context.dir.join(WAL_DIR), &tables)?;
        context.gapless_from.store(gapless_from, Ordering::SeqCst);
        context.pressure.lend(&*context.clock);
        let store = Self {
            log: Mutex::new(None),
            threads: Mutex::new(Vec::new()),
            stop: Arc::new(AtomicBool::new(false)),
            tables: Arc::new(RwLock::new(tables)),
            damages,
            context,
            _lock: lock,
        };
        if store.context.options.read_only {
            store.context.health.open_read_only();
            store.context.commits.close();
        } else {
            store.start(next_segment)?;
        }
        Ok(Arc::new(store))
    }

    fn start(&self, next_segment: u64) -> StoreResult<()> {
        let context = &self.context;
        let writer = WalWriter::create(&context.vfs, &self.wal_dir(), next_segment)?;
        context.segment.store(next_segment, Ordering::SeqCst);
        *self.log.lock() = Some(LogThread::start(context.clone(), writer)?);
        background::delete_old_segments(context, &self.tables)?;
        if context.options.background {
            *self.threads.lock() = background::start(context, &self.tables, &self.stop)?;
        }
        Ok(())
    }

    pub(super) fn wal_dir(&self) -> PathBuf {
        self.context.dir.join(WAL_DIR)
    }

    /// The store's directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.context.dir
    }

    /// The instance id: 36 characters, chosen when the store was made.
    #[must_use]
    pub fn instance_id(&self) -> &str {
        &self.context.catalog.identity().instance
    }

    /// What the store counted since it was opened.
    #[must_use]
    pub fn metrics(&self) -> MetricsSnapshot {
        let metrics = &self.context.metrics;
        let tables = self.tables.read();
        let (mut entries, mut tablets, mut files, mut bytes) = (0, 0, HashSet::new(), 0);
        for table in tables.values() {
            entries += table.unflushed_entries();
            let layout = table.layout();
            tablets += layout.tablets().len();
            for file in layout.tablets().iter().flat_map(|tablet| &tablet.files) {
                if files.insert(file.reference.file) {
                    bytes += file.file.record().bytes;
                }
            }
        }
        let oldest = tables
            .values()
            .filter_map(|table| table.unflushed().1)
            .min();
        let current = self.context.segment.load(Ordering::SeqCst);
        let kept = current - oldest.unwrap_or(current).min(current);
        metrics
            .wal_live_bytes
            .set(kept * self.context.options.segment_bytes());
        metrics.memtable_bytes.set(self.context.pressure.used());
        metrics.memtable_entries.set(entries);
        metrics.tables.set(tables.len() as u64);
        metrics.tablets.set(tablets as u64);
        metrics.files.set(files.len() as u64);
        metrics.file_bytes.set(bytes);
        metrics.snapshot()
    }

    /// Parts of the log that could not be read when the store was opened read-only.
    #[must_use]
    pub fn damages(&self) -> &[Damage] {
        &self.damages
    }

    /// Stops all threads after what was submitted is in the log. Later calls on the store and its
    /// tables fail with [`Closed`](ErrorKind::Closed). Little that is in memory stays in the log,
    /// and the next opening reads it from there; much, or what was written without log, is flushed
    /// first.
    ///
    /// # Errors
    /// When the log could not be synced, or a table not be flushed; what is in the log is safe then.
    pub fn close(&self) -> StoreResult<()> {
        // First: a writer that it submits for may wait for room that only the other threads make.
        self.context.timer.close();
        self.context.commits.close();
        let mut outcome = match self.log.lock().take() {
            Some(log) => log.join().and_then(|()| self.flush_for_closing()),
            None => Ok(()),
        };
        self.stop.store(true, Ordering::SeqCst);
        self.context.wakeups.all();
        for thread in self.threads.lock().drain(..) {
            self.context.wakeups.all();
            // A panic was reported by the thread itself.
            let _ = thread.join();
        }
        self.context.health.close();
        let mut requests = std::mem::take(&mut *self.context.requests.lock());
        for request in requests.drain(..) {
            for table in self.tables.read().values() {
                table.cancel_user_compactions();
            }
            let _ = request.join();
        }
        outcome = outcome.and(self.context.files.close());
        // Tables in somebody's hand may outlive the store, and the lock on the directory may not
        // outlive it: from here on nothing of this store writes.
        self.context.catalog.close();
        outcome
    }

    /// Leaves little in the log: opening reads all of it, records of flushed batches included. Nothing
    /// is added to it any more.
    fn flush_for_closing(&self) -> StoreResult<()> {
        let context = &self.context;
        if context.health.check_writable().is_err() {
            return Ok(());
        }
        let tables: Vec<_> = self.tables.read().values().cloned().collect();
        let current = context.segment.load(Ordering::SeqCst);
        let oldest = tables.iter().filter_map(|table| table.unflushed().1).min();
        let needed = oldest.unwrap_or(current).min(current);
        // As long as they are: a segment ends behind the group of commits that filled it.
        let mut log_bytes = 0;
        let mut written = None;
        for (number, path) in list_segments(&*context.vfs, &self.wal_dir())? {
            if number >= needed {
                log_bytes += context.vfs.len(&path)?;
            }
            if number == current {
                written = Some(path);
            }
        }
        let long_log = log_bytes > KEPT_IN_LOG_BYTES;
        let mut flushed = Ok(());
        for table in tables {
            let unflushed = table.unflushed().0;
            if table.has_unlogged() || unflushed > KEPT_IN_LOG_BYTES || (long_log && unflushed > 0)
            {
                // The others too if one fails: what is in no log would be lost.
                flushed = flushed.and(table.flush_memtables());
            }
        }
        flushed?;
        if long_log {
            // The current segment may go only when another stands behind it: that of one with records
            // never comes back. Of one with another behind it all must be on the disk, also what says
            // that it was closed.
            if let Some(path) = written {
                context.vfs.open_random(&path)?.sync_data()?;
            }
            WalWriter::create(&context.vfs, &self.wal_dir(), current + 1)?;
            context.segment.store(current + 1, Ordering::SeqCst);
            context.log_end.store(0, Ordering::SeqCst);
        }
        background::delete_old_segments(context, &self.tables)?;
        // The writes are safe without it, and a disk may be full.
        if let Err(error) = background::record_last_segment(context, &self.wal_dir()) {
            tracing::warn!(%error, "the catalog does not know the last segment of the log");
        }
        Ok(())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::error!(%error, "closing the store failed");
        }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store in {}", self.context.dir.display())
    }
}

fn open_catalog(
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    is_new: bool,
    clock: &dyn Clock,
) -> StoreResult<Catalog> {
    if is_new {
        let identity = CatalogIdentity::new(&mut Random::from_system(), clock.now_millis());
        return Catalog::create(vfs, dir, identity, CATALOG_CACHE_BYTES);
    }
    Catalog::open(vfs, dir, CATALOG_CACHE_BYTES)
}

fn load_tables(context: &Arc<StoreContext>) -> StoreResult<BTreeMap<String, Arc<TableCore>>> {
    let view = context.catalog.view()?;
    let mut tables = BTreeMap::new();
    for file in view.files()? {
        // Imported files have sequences that neither log nor tables know of.
        context.sequence.fetch_max(file.sequence, Ordering::SeqCst);
    }
    for record in view.tables()? {
        let config = context
            .table_config(&record.properties)
            .map_err(|error| error.with("table", &record.name))?;
        let layout = Layout::load(&view, record.id, &context.files)?;
        let core = TableCore::new(context.clone(), &record, config, layout);
        tables.insert(record.name.clone(), Arc::new(core));
        context
            .sequence
            .fetch_max(record.flushed_sequence, Ordering::SeqCst);
    }
    Ok(tables)
}
