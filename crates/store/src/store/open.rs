//! Opening and closing.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ostrakon_cell::{ConstraintRegistry, IteratorRegistry};
use parking_lot::{Mutex, RwLock};

use super::admin::Administration;
use super::background;
use super::closed::Closed;

use super::accept_loss::end_log;
use super::recovery::{Recovered, known_log, recover};
use super::remains::check_for_remains;
use crate::cache::{BlockCache, CacheOptions};
use crate::catalog::{Catalog, CatalogIdentity};
use crate::clock::{Clock, Random, SystemClock};
use crate::commit::{LogShared, LogThread};
use crate::compaction::{BySizeRatio, ChooseFiles};
use crate::constraint::stock_constraints;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::fork::OpenStore;
use crate::iterator::stock_iterators;
use crate::memtable::BufferPool;
use crate::metrics::{Metrics, MetricsSnapshot};
use crate::options::StoreOptions;
use crate::read::{ScanMemory, ScanThreads};
use crate::runtime::{Health, LogState, Pressure};
use crate::table::{Inherited, StoreContext, TableCore};
use crate::tablet::{FileRegistry, TableVersion};
use crate::timer::Timer;
use crate::vfs::{FileLock, MemoryVfs, RealVfs, Vfs, WatchedNames};
use crate::wal::{Damage, LogOrigin, OpenEnd, SegmentEnd, WalWriter};

/// Names of files in the store's directory.
const LOCK_FILE: &str = "LOCK";
pub(super) const WAL_DIR: &str = "wal";
pub(super) const FILES_DIR: &str = "files";

/// Memory for the catalog's pages, in bytes.
const CATALOG_CACHE_BYTES: usize = 4 << 20;

/// The replaceable parts of a store: disk, clock, classes of iterators and constraints.
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
    /// Which files background compactions merge. Default: by the ratio of their sizes.
    pub chooser: Arc<dyn ChooseFiles>,
}

impl Default for Components {
    fn default() -> Self {
        Self {
            vfs: RealVfs::shared(),
            clock: SystemClock::shared(),
            iterators: stock_iterators(),
            constraints: stock_constraints(),
            chooser: Arc::new(BySizeRatio),
        }
    }
}

/// An open store: a directory of tables. Implements [`Source`](ostrakon_cell::Source).
///
/// One process writes a store at a time, or any number read it. Dropping the store closes it;
/// acknowledged writes are kept as their durability says.
pub struct Store {
    pub(super) context: Arc<StoreContext>,
    pub(super) tables: Arc<Tables>,
    pub(super) damages: Vec<Damage>,
    /// How the store was closed before it was opened.
    pub(super) closed: Closed,
    /// Whether nothing proved where the log should end when the store was opened.
    pub(super) is_end_unproven: bool,
    /// Serializes changes of the set of tables, of names and of states: see `admin.rs`.
    pub(super) administration: Administration,
    /// Held while a table file is restored, before `administration`: two copies of one file would have one name.
    pub(super) restoring: Mutex<()>,
    /// Held by the thread that closes the store.
    pub(super) closing: Mutex<()>,
    /// The file system to which checkpoints are written.
    pub(super) outside: Arc<dyn Vfs>,
    /// The file system of the store's directory.
    pub(super) names: Arc<WatchedNames>,
    pub(super) log: Mutex<Option<LogThread>>,
    pub(super) threads: Arc<Mutex<Vec<JoinHandle<()>>>>,
    pub(super) stop: Arc<AtomicBool>,
    /// Keeps other processes out while it lives.
    pub(super) lock: Arc<dyn FileLock>,
    /// Until its threads have ended.
    pub(super) counted: Mutex<Option<OpenStore>>,
}

/// The tables by name. Administration changes it, and each table's own name and state, under the
/// write lock and after the catalog, so that a reader sees a consistent state.
pub(super) type Tables = RwLock<BTreeMap<String, Arc<TableCore>>>;

impl Store {
    /// Opens the store in `dir`, creating it first if allowed.
    ///
    /// # Errors
    /// [`Locked`](ErrorKind::Locked) naming the process that has it open;
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) for a directory with other files in it;
    /// [`NewerFormat`](ErrorKind::NewerFormat); [`Corruption`](ErrorKind::Corruption) naming the
    /// file.
    pub fn open(dir: impl AsRef<Path>, options: StoreOptions) -> StoreResult<Arc<Self>> {
        Self::open_with(Components::default(), dir, options)
    }

    /// A store without a directory, which is gone when dropped. Opens in well under a millisecond.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn in_memory() -> StoreResult<Arc<Self>> {
        Self::in_memory_with(Components::default(), StoreOptions::default())
    }

    /// As [`in_memory`](Self::in_memory), with components chosen by the caller; the file system
    /// among them is used for checkpoints.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn in_memory_with(components: Components, options: StoreOptions) -> StoreResult<Arc<Self>> {
        let outside = WatchedNames::outside(components.vfs.clone());
        let components = Components {
            vfs: MemoryVfs::shared(),
            ..components
        };
        Self::open_on(components, Path::new("/"), options, Some(outside))
    }

    /// Opens a store with components chosen by the caller.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        components: Components,
        dir: impl AsRef<Path>,
        options: StoreOptions,
    ) -> StoreResult<Arc<Self>> {
        Self::open_on(components, dir.as_ref(), options, None)
    }

    /// Opens a store whose checkpoints may go to a different file system.
    fn open_on(
        components: Components,
        dir: &Path,
        options: StoreOptions,
        outside: Option<Arc<dyn Vfs>>,
    ) -> StoreResult<Arc<Self>> {
        let dir = dir.to_owned();
        // Before the first lock.
        let counted = OpenStore::new(&dir)?;
        let Components {
            vfs,
            clock,
            iterators,
            constraints,
            chooser,
        } = components;
        let names = WatchedNames::on(vfs, &dir);
        let vfs: Arc<dyn Vfs> = names.clone();
        let is_new = !Catalog::is_present(&*vfs, &dir)?;
        // Another process that creates the store makes its catalog first.
        if is_new
            && let Err(error) = check_for_remains(&*vfs, &dir)
            && !Catalog::is_present(&*vfs, &dir)?
        {
            return Err(error);
        }
        if is_new && (!options.create || options.read_only) {
            return Err(Error::not_found(
                "there is no store in this directory: choose another directory, or create a store here",
            )
            .with("directory", dir.display()));
        }
        if is_new {
            vfs.create_dir_durably(&dir)?;
            // Before the lock is taken, since its file would be left in a foreign directory. If
            // another process creates a store at this moment, the lock decides.
            if let Err(error) = Catalog::check_empty(&*vfs, &dir)
                && !Catalog::is_present(&*vfs, &dir)?
            {
                return Err(error);
            }
        }
        let lock: Arc<dyn FileLock> = Arc::from(take_lock(&*vfs, &dir, &options, &*clock)?);
        // Another process may have created the store while this one waited.
        let is_new = is_new && !Catalog::is_present(&*vfs, &dir)?;
        let closed = Closed::read(&*vfs, &dir);
        let catalog = if options.read_only {
            Catalog::open_read_only(&vfs, &dir, CATALOG_CACHE_BYTES)?
        } else {
            open_catalog(&vfs, &dir, is_new, &closed, &*clock)?
        };
        if !options.read_only {
            for inner in [dir.join(WAL_DIR), dir.join(FILES_DIR)] {
                // On the disk already if the store was closed cleanly.
                let made = match catalog.is_copy() && vfs.exists(&inner)? {
                    true => vfs.create_dir_all(&inner),
                    false => vfs.create_dir_durably(&inner),
                };
                made.map_err(|error| match error.kind() {
                    ErrorKind::AlreadyExists => Error::corruption(
                        "a file is in the place of this directory of the store: move it away, and restore the directory, \
                         or the store from a checkpoint",
                    )
                    .with("directory", inner.display()),
                    _ => error,
                })?;
            }
        }
        if !(options.read_only && options.allow_damage) {
            check_belongs(&catalog, &closed, &dir)?;
        }
        catalog.guard_with(&lock);
        let metrics = Arc::new(Metrics::default());
        let sizes = CacheOptions {
            bytes: options.cache_bytes(),
            open_files: options.max_open_files,
        };
        let cache = BlockCache::new(sizes, metrics.clone())?;
        // A program that flushes and compacts by itself has a cache of fixed size.
        let borrower = (options.lend_unused && (options.background || options.read_only))
            .then(|| cache.clone());
        let files = FileRegistry::new(vfs.clone(), dir.join(FILES_DIR), cache, metrics.clone());
        let log_origin = LogOrigin {
            store: catalog.identity().number(),
            session: Random::from_system().next_u64(),
        };
        let inherited = Inherited::load(&catalog.view()?)?;
        let context = Arc::new(StoreContext {
            log: Arc::new(LogState::new(log_origin)),
            timer: Timer::new(clock.clone()),
            scan_memory: ScanMemory::new(options.scan_bytes()),
            scan_threads: ScanThreads::new(options.scan_threads),
            pressure: Arc::new(Pressure::new(options.memtable_bytes(), borrower)),
            buffers: Arc::new(BufferPool::new(options.flush_bytes() / 2)),
            health: Arc::new(Health::new(&dir)),
            vfs,
            dir,
            options,
            clock,
            metrics,
            catalog,
            files,
            iterators: Arc::new(iterators),
            constraints,
            inherited: RwLock::new(inherited),
            chooser,
            commits: Arc::default(),
            wakeups: Arc::default(),
            attention: crate::table::Attention::default(),
            running: crate::table::Running::default(),
            requests: Mutex::new(Vec::new()),
        });
        let tables = load_tables(&context)?;
        if !context.options.read_only {
            // Before recovery, which may flush.
            let known: Vec<_> = context.catalog.view()?.files()?;
            let is_known = |id| known.binary_search_by_key(&id, |file| file.id).is_ok();
            let last = context.catalog.last_file_id();
            if let Some(largest) = context.files.delete_leftovers(last, is_known)? {
                // A process that the lock does not keep out may still delete a file by this name.
                context.catalog.skip_file_ids(largest);
            }
        }
        let wal_dir = context.dir.join(WAL_DIR);
        let mut recovered = recover(&context, &wal_dir, &tables, &closed)?;
        if !recovered.damages.is_empty() && !context.options.read_only {
            let known = known_log(&context, &context.catalog.view()?, &closed)?;
            end_log(&context, &wal_dir, &tables, known, &mut recovered)?;
        }
        let Recovered {
            next_segment,
            end,
            open_end,
            gapless_from,
            damages,
        } = recovered;
        context
            .log
            .gapless_from
            .store(gapless_from, Ordering::SeqCst);
        context.pressure.lend(&*context.clock);
        let store = Self {
            administration: Administration::default(),
            restoring: Mutex::default(),
            closing: Mutex::default(),
            log: Mutex::new(None),
            threads: Arc::default(),
            stop: Arc::new(AtomicBool::new(false)),
            tables: Arc::new(RwLock::new(tables)),
            damages,
            is_end_unproven: closed.store == 0
                && (next_segment > 1 || open_end.is_some())
                && context.catalog.view()?.wal_last()?.segment == 0,
            closed,
            outside: outside.unwrap_or_else(|| context.vfs.clone()),
            names,
            context,
            lock,
            counted: Mutex::new(Some(counted)),
        };
        if store.context.options.read_only {
            store.context.health.open_read_only();
            store.context.commits.close();
        } else {
            store.start(next_segment, end, open_end.as_ref())?;
        }
        Ok(Arc::new(store))
    }

    fn start(
        &self,
        next_segment: u64,
        end: SegmentEnd,
        open_end: Option<&OpenEnd>,
    ) -> StoreResult<()> {
        let context = &self.context;
        let (vfs, dir, origin) = (&context.vfs, self.wal_dir(), context.log.origin);
        let writer = match open_end {
            Some(at) => WalWriter::resume(vfs, &dir, origin, at)?,
            None => WalWriter::create(vfs, &dir, next_segment, origin, end)?,
        };
        context.log.segment.store(next_segment, Ordering::SeqCst);
        *self.log.lock() = Some(LogThread::start(log_shared(context), writer)?);
        background::delete_old_segments(context)?;
        if context.options.background {
            background::start(context, &self.threads, &self.stop)?;
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

    /// The metrics of the store since it was opened.
    #[must_use]
    pub fn metrics(&self) -> MetricsSnapshot {
        let metrics = &self.context.metrics;
        let tables = self.tables.read();
        let (mut entries, mut tablets, mut files, mut bytes) = (0, 0, HashSet::new(), 0);
        for table in tables.values() {
            entries += table.unflushed_entries();
            let version = table.version();
            tablets += version.tablets().len();
            for file in version.tablets().iter().flat_map(|tablet| &tablet.files) {
                if files.insert(file.reference.file) {
                    bytes += file.file.record().bytes;
                }
            }
        }
        let oldest = tables
            .values()
            .filter_map(|table| table.unflushed().1)
            .min();
        let current = self.context.log.segment.load(Ordering::SeqCst);
        let kept = current - oldest.unwrap_or(current).min(current);
        metrics
            .wal_live_bytes
            .set(kept * self.context.options.segment_bytes());
        metrics.memtable_bytes.set(self.context.pressure.used());
        metrics.memtable_entries.set(entries);
        metrics.tables.set(tables.len() as u64);
        let degraded = tables.values().filter(|table| table.is_degraded());
        metrics.tables_degraded.set(degraded.count() as u64);
        metrics.tablets.set(tablets as u64);
        metrics.files.set(files.len() as u64);
        metrics.file_bytes.set(bytes);
        metrics.snapshot()
    }

    /// Does one step of the work of the background threads: splits tablets that are too large, runs
    /// the most urgent compaction of each table, and deletes files that are no longer needed. For a
    /// store opened without [`background`](StoreOptions::background), whose program decides when.
    /// Returns whether there was anything to split or to compact.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn maintain(&self) -> StoreResult<bool> {
        self.context.health.check_writable()?;
        background::maintain(&self.context)
    }

    /// Parts of the log that could not be read when the store was opened with
    /// [`allow_damage`](StoreOptions::allow_damage) or
    /// [`accept_log_loss`](StoreOptions::accept_log_loss).
    #[must_use]
    pub fn damages(&self) -> &[Damage] {
        &self.damages
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store in {}", self.context.dir.display())
    }
}

/// Time between two attempts to take a lock.
const LOCK_RETRY: Duration = Duration::from_millis(10);

/// Takes the lock of the directory, waiting for at most the time in the options.
fn take_lock(
    vfs: &dyn Vfs,
    dir: &Path,
    options: &StoreOptions,
    clock: &dyn Clock,
) -> StoreResult<Box<dyn FileLock>> {
    let path = dir.join(LOCK_FILE);
    let begun = clock.monotonic_nanos();
    loop {
        let taken = match options.read_only {
            true => vfs.lock_shared(&path),
            false => vfs.lock(&path),
        };
        let waited = Duration::from_nanos(clock.monotonic_nanos() - begun);
        match taken {
            Err(error) if error.kind() == ErrorKind::Locked && waited < options.lock_wait => {
                clock.sleep(LOCK_RETRY.min(options.lock_wait - waited));
            }
            Err(error) if error.kind() == ErrorKind::Locked && !options.lock_wait.is_zero() => {
                return Err(error.with("waited", format!("{:.1} s", waited.as_secs_f64())));
            }
            taken => return taken,
        }
    }
}

fn open_catalog(
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    is_new: bool,
    closed: &Closed,
    clock: &dyn Clock,
) -> StoreResult<Catalog> {
    if is_new {
        let identity = CatalogIdentity::new(&mut Random::from_system(), clock.now_millis());
        return Catalog::create(vfs, dir, identity, CATALOG_CACHE_BYTES);
    }
    let (store, commits) = (closed.store, closed.commits);
    if store != 0
        && let Some(catalog) =
            Catalog::open_as_closed(vfs, dir, CATALOG_CACHE_BYTES, store, commits)?
    {
        return Ok(catalog);
    }
    Catalog::open(vfs, dir, CATALOG_CACHE_BYTES)
}

/// Rejects a catalog that is neither the one with which the store was closed nor a later one,
/// before files are deleted that it does not know.
fn check_belongs(catalog: &Catalog, closed: &Closed, dir: &Path) -> StoreResult<()> {
    if closed.store == 0 {
        return Ok(());
    }
    let (message, found) = if closed.store != catalog.identity().number() {
        let message = "the catalog belongs to another store than the file `closed` beside it: put back the one that was \
                       replaced, or delete `closed` if the catalog is this store's";
        (message, catalog.identity().instance.clone())
    } else {
        let commits = catalog.view()?.commits()?;
        if commits >= closed.commits {
            return Ok(());
        }
        let message = "the catalog is older than the store: put its last files `catalog` and `catalog.mirror` back. \
                       Those of a checkpoint do not fit, since they miss what was written later; `closed` may be \
                       deleted if that is to be lost";
        (message, format!("{commits} of {} changes", closed.commits))
    };
    Err(Error::new(ErrorKind::Corruption, message)
        .with("directory", dir.display())
        .with("found", found))
}

fn log_shared(context: &StoreContext) -> LogShared {
    LogShared {
        commits: context.commits.clone(),
        state: context.log.clone(),
        health: context.health.clone(),
        pressure: context.pressure.clone(),
        wakeups: context.wakeups.clone(),
        metrics: context.metrics.clone(),
        clock: context.clock.clone(),
        segment_bytes: context.options.segment_bytes(),
    }
}

fn load_tables(context: &Arc<StoreContext>) -> StoreResult<BTreeMap<String, Arc<TableCore>>> {
    let view = context.catalog.view()?;
    let mut tables = BTreeMap::new();
    for file in view.files()? {
        // Before any memtable is created: its age must be above those of all files.
        context.log.advance_sequence(file.ages.newest);
    }
    for record in view.tables()? {
        let own = Arc::new(record.own.properties.clone());
        let set = context.inherited.read().merged(record.namespace, &own);
        let config = context.table_config(&set);
        let version = TableVersion::load(&view, record.id, &context.files)?;
        let core = TableCore::new(context.clone(), &record, config, version);
        tables.insert(record.name.clone(), core);
        context.log.advance_sequence(record.flushed_sequence);
    }
    Ok(tables)
}
