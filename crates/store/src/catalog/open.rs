//! Creates, opens and copies a catalog.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::{MappedRwLockReadGuard, Mutex, RwLock, RwLockReadGuard};
use redb::{Builder, Database, ReadableDatabase, ReadableTable, StorageBackend};

use super::backend::{Backend, Copied, Failing, Pair};
use super::copies::Copies;
use super::format::{
    self, CATALOG_FORMAT, CATALOG_FORMAT_OLDEST, FORMAT_KEY, LOG_KEY, STORE_KEY, StoreRecord,
};
use super::namespaces;
use super::records::FileId;
use super::transaction::{self, CatalogTransaction, Committed};
use super::view::{self, CatalogView};
use crate::clock::Random;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::vfs::{FileLock, Vfs};

/// Name of the catalog's file in the store's directory.
pub(super) const FILE_NAME: &str = "catalog";
/// Name of its second copy.
pub(super) const MIRROR_NAME: &str = "catalog.mirror";
/// The first copy's name until it is complete.
const FILE_NAME_NEW: &str = "catalog.new";

/// Every table of the catalog maps bytes to bytes; `format.rs` defines their encoding.
pub(super) type Definition = redb::TableDefinition<'static, &'static [u8], &'static [u8]>;

pub(super) const META: Definition = Definition::new("meta");
pub(super) const TABLES: Definition = Definition::new("tables");
pub(super) const NAMES: Definition = Definition::new("names");
pub(super) const TABLETS: Definition = Definition::new("tablets");
pub(super) const FILES: Definition = Definition::new("files");
pub(super) const REFERENCES: Definition = Definition::new("references");

pub(super) const NAMESPACES: Definition = Definition::new("namespaces");
pub(super) const USERS: Definition = Definition::new("users");
pub(super) const GRANTS: Definition = Definition::new("grants");
pub(super) const MODULES: Definition = Definition::new("modules");
pub(super) const PROBLEMS: Definition = Definition::new("problems");
pub(super) const COUNTERS: Definition = Definition::new("counters");

pub(super) const EVERY_TABLE: [Definition; 12] = [
    META, TABLES, NAMES, TABLETS, FILES, REFERENCES, NAMESPACES, USERS, GRANTS, MODULES, PROBLEMS,
    COUNTERS,
];

/// The identity of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogIdentity {
    /// The instance id: 36 characters, as a UUID is written. A checkpoint has that of its origin.
    pub instance: String,
    /// When the store was created, milliseconds since 1970.
    pub created_millis: i64,
}

impl CatalogIdentity {
    /// The instance id as a number, never 0: the store id in the log.
    #[must_use]
    pub fn number(&self) -> u64 {
        xxhash_rust::xxh3::xxh3_64(self.instance.as_bytes()).max(1)
    }

    /// A new random identity.
    #[must_use]
    pub fn new(random: &mut Random, now_millis: i64) -> Self {
        let mut bytes = [0; 16];
        random.fill(&mut bytes);
        // RFC 9562: version 4, variant 1.
        let bits =
            (u128::from_be_bytes(bytes) & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
        let hex = format!("{bits:032x}");
        let mut instance = String::with_capacity(36);
        for (index, digit) in hex.chars().enumerate() {
            if matches!(index, 8 | 12 | 16 | 20) {
                instance.push('-');
            }
            instance.push(digit);
        }
        Self {
            instance,
            created_millis: now_millis,
        }
    }
}

/// The catalog of one open store. One transaction at a time writes; views read the state that was
/// committed when they began.
#[derive(Debug)]
pub struct Catalog {
    /// `None` once it is closed. Taken before the database's own locks.
    database: RwLock<Option<Opened>>,
    failing: Failing,
    /// Empty if the store is opened read-only.
    pair: OnceLock<Arc<Pair>>,
    cache_bytes: usize,
    identity: CatalogIdentity,
    /// The next file id; ahead of the one on disk, which is updated by the commit that adds a file.
    next_file: AtomicU64,
    /// The lock that keeps other processes out; checked before each commit.
    guard: OnceLock<Weak<dyn FileLock>>,
    /// A commit failed: whether it took place is unknown until the store is reopened.
    uncertain: AtomicBool,
}

/// The open redb database.
#[derive(Debug)]
struct Opened {
    database: Arc<Database>,
    /// Whether it is a copy in memory: nothing that redb writes reaches the disk.
    is_copy: bool,
}

impl Opened {
    fn on_disk(database: Database) -> Self {
        Self {
            database: Arc::new(database),
            is_copy: false,
        }
    }

    fn copy(failing: &Failing, bytes: Vec<u8>, cache_bytes: usize) -> StoreResult<Self> {
        let database = open_database(failing, Copied(Mutex::new(bytes)), cache_bytes)?;
        Ok(Self {
            database: Arc::new(database),
            is_copy: true,
        })
    }
}

/// Above this size a catalog is opened for writing at once.
const COPY_BYTES_MOST: u64 = 4 << 20;

impl Catalog {
    /// Memory for redb's pages that is sufficient for any store of usual size, in bytes.
    pub const CACHE_BYTES_DEFAULT: usize = 8 << 20;

    /// Whether `dir` holds a catalog, or its mirror, and so a store.
    pub fn is_present(vfs: &dyn Vfs, dir: &Path) -> StoreResult<bool> {
        let mirror = || vfs.exists(&dir.join(MIRROR_NAME));
        match vfs.exists(&dir.join(FILE_NAME)) {
            Ok(is_there) => Ok(is_there || mirror()?),
            // A symbolic link that leads nowhere does not hide the mirror.
            Err(error) => match mirror() {
                Ok(true) => Ok(true),
                _ => Err(error),
            },
        }
    }

    /// Returns an error unless a store may be created in `dir`, which must exist and be empty
    /// (except for a lock file).
    pub fn check_empty(vfs: &dyn Vfs, dir: &Path) -> StoreResult<()> {
        for entry in vfs.list(dir)? {
            if entry.name == FILE_NAME || entry.name == MIRROR_NAME {
                return Err(Error::new(
                    ErrorKind::AlreadyExists,
                    "there is a store in this directory",
                )
                .with("directory", dir.display()));
            }
            if entry.name != FILE_NAME_NEW && entry.name != LOCK_FILE_NAME {
                return Err(Error::new(
                    ErrorKind::InvalidArgument,
                    "the directory is not empty and holds no store; choose an empty or absent one",
                )
                .with("directory", dir.display())
                .with("holds", entry.name.display()));
            }
        }
        Ok(())
    }

    /// Creates the catalog of a new store in `dir`, which must exist and be empty (except for a
    /// lock file).
    ///
    /// A crash leaves either a complete catalog or none.
    pub fn create(
        vfs: &Arc<dyn Vfs>,
        dir: &Path,
        identity: CatalogIdentity,
        cache_bytes: usize,
    ) -> StoreResult<Self> {
        Self::check_empty(vfs.as_ref(), dir)?;
        let store = StoreRecord {
            instance: identity.instance.clone(),
            created_millis: identity.created_millis,
            next_table: 1,
            next_file: 1,
            wal_low_water: 1,
        };
        let (database, failing, pair) = build(vfs, dir, cache_bytes, |failing, transaction| {
            let mut meta = transaction.open_table(META).map_err(|e| failing.error(e))?;
            meta.insert(STORE_KEY, &*format::encode_store(&store))
                .map_err(|e| failing.error(e))?;
            Ok(())
        })?;
        Ok(Self {
            database: RwLock::new(Some(Opened::on_disk(database))),
            failing,
            pair: OnceLock::from(pair),
            cache_bytes,
            identity,
            next_file: AtomicU64::new(store.next_file),
            guard: OnceLock::new(),
            uncertain: AtomicBool::new(false),
        })
    }

    /// Opens the catalog in `dir`, verifying the checksum of every page. After a crash the last
    /// commit is restored. If one of the file and its mirror is damaged or missing, it is replaced
    /// by the other one, and a warning is logged.
    ///
    /// `NotFound` if there is no directory or it is empty, `InvalidArgument` if it is not a store,
    /// `NewerFormat` if a newer version wrote it, `Corruption` if both copies were altered.
    pub fn open(vfs: &Arc<dyn Vfs>, dir: &Path, cache_bytes: usize) -> StoreResult<Self> {
        let pair = Copies::of(&**vfs, dir).open()?;
        let failing = Failing::new(&dir.join(FILE_NAME));
        if pair.is_empty()? {
            return Err(empty(&failing));
        }
        pair.refresh()?;
        let database = open_database(&failing, Backend(pair.clone()), cache_bytes)?;
        let catalog = Self::open_in(failing, Opened::on_disk(database), cache_bytes)?;
        let _ = catalog.pair.set(pair);
        Ok(catalog)
    }

    /// Opens a copy in memory of the catalog in `dir`: for reading only, and without changing
    /// anything on the disk.
    ///
    /// As [`open`](Self::open).
    pub fn open_read_only(vfs: &Arc<dyn Vfs>, dir: &Path, cache_bytes: usize) -> StoreResult<Self> {
        let chosen = Copies::of(&**vfs, dir).readable()?;
        chosen.warn_of_damage();
        let failing = Failing::new(&chosen.path);
        let bytes = vfs.read_to_vec(&chosen.path, u64::MAX)?;
        if bytes.is_empty() {
            return Err(empty(&failing));
        }
        let opened = Opened::copy(&failing, bytes, cache_bytes)?;
        Self::open_in(failing, opened, cache_bytes)
    }

    /// As [`open`](Self::open), but changes nothing on the disk before the first transaction (except that a hard link
    /// becomes a file of its own): for a catalog that was closed cleanly. `None` if it may have changed since: it is not that of
    /// `store`, has another number of commits, or its copies differ. A large one is opened as
    /// usual, since it is in memory until then.
    pub fn open_as_closed(
        vfs: &Arc<dyn Vfs>,
        dir: &Path,
        cache_bytes: usize,
        store: u64,
        commits: u64,
    ) -> StoreResult<Option<Self>> {
        let copies = Copies::of(&**vfs, dir);
        let failing = Failing::new(&dir.join(FILE_NAME));
        let opened = copies
            .equal_bytes(COPY_BYTES_MOST)
            .and_then(|bytes| Opened::copy(&failing, bytes, cache_bytes).ok());
        let Some(opened) = opened else {
            return Ok(None);
        };
        // An older format is upgraded when it is opened.
        if read_meta(&opened.database, &failing)?.format < CATALOG_FORMAT {
            return Ok(None);
        }
        let catalog = Self::open_in(failing, opened, cache_bytes)?;
        if catalog.identity.number() != store || catalog.view()?.commits()? != commits {
            return Ok(None);
        }
        let _ = catalog.pair.set(copies.pair()?);
        Ok(Some(catalog))
    }

    fn open_in(failing: Failing, opened: Opened, cache_bytes: usize) -> StoreResult<Self> {
        let Meta { store, format, .. } = read_meta(&opened.database, &failing)?;
        let catalog = Self {
            database: RwLock::new(Some(opened)),
            failing,
            pair: OnceLock::new(),
            cache_bytes,
            identity: CatalogIdentity {
                instance: store.instance,
                created_millis: store.created_millis,
            },
            next_file: AtomicU64::new(store.next_file),
            guard: OnceLock::new(),
            uncertain: AtomicBool::new(false),
        };
        if format < CATALOG_FORMAT {
            let _ = catalog.transaction(namespaces::upgrade)?;
        }
        Ok(catalog)
    }

    /// Whether the catalog was only read from the disk so far.
    #[must_use]
    pub fn is_copy(&self) -> bool {
        self.database
            .read_recursive()
            .as_ref()
            .is_some_and(|opened| opened.is_copy)
    }

    /// Opens the files for writing, if only a copy of them was read so far.
    fn begin_writing(&self) -> StoreResult<()> {
        let Some(pair) = self.pair.get().filter(|_| self.is_copy()) else {
            return Ok(());
        };
        let mut opened = self.database.write();
        if opened.as_ref().is_some_and(|opened| opened.is_copy) {
            pair.refresh()?;
            let backend = Backend(pair.clone());
            let database = open_database(&self.failing, backend, self.cache_bytes)?;
            *opened = Some(Opened::on_disk(database));
        }
        Ok(())
    }

    /// Reads both copies from the disk; returns which are damaged and what to do. Commits wait
    /// meanwhile.
    pub fn check_copies(&self, vfs: &dyn Vfs, dir: &Path) -> StoreResult<Vec<(PathBuf, String)>> {
        Copies::of(vfs, dir).check(self.pair.get().map(|pair| &**pair))
    }

    /// The identity of this store.
    #[must_use]
    pub fn identity(&self) -> &CatalogIdentity {
        &self.identity
    }

    /// The catalog's file, or its mirror if a store that is opened read-only has only that.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.failing.path()
    }

    /// Sets the lock that must protect every later commit.
    pub fn guard_with(&self, lock: &Arc<dyn FileLock>) {
        let _ = self.guard.set(Arc::downgrade(lock));
    }

    /// Returns an error if the lock no longer protects the catalog.
    fn check_guard(&self) -> StoreResult<()> {
        match self.guard.get().map(Weak::upgrade) {
            None => Ok(()),
            Some(Some(lock)) => lock.check(),
            Some(None) => Err(self
                .failing
                .record(Error::new(ErrorKind::Closed, "the store was closed"))),
        }
    }

    /// An id for a file about to be written. It is permanent once a transaction adds a file with
    /// this or a later id. After a crash before that it is issued again, so leftovers must be
    /// deleted before new files are written.
    pub fn new_file_id(&self) -> FileId {
        FileId(self.next_file.fetch_add(1, Ordering::Relaxed))
    }

    /// The last id that was issued, by this catalog or an earlier one of the store.
    pub fn last_file_id(&self) -> FileId {
        FileId(self.next_file.load(Ordering::Relaxed).saturating_sub(1))
    }

    /// Issues no id up to `last` any more.
    pub fn skip_file_ids(&self, last: FileId) {
        self.next_file.fetch_max(last.0 + 1, Ordering::Relaxed);
    }

    /// The catalog as of the last commit.
    pub fn view(&self) -> StoreResult<CatalogView> {
        let opened = self.opened()?;
        let transaction = opened
            .database
            .begin_read()
            .map_err(|e| self.failing.error(e))?;
        let copy = opened.is_copy.then(|| opened.database.clone() as _);
        CatalogView::open(transaction, self.failing.clone(), copy)
    }

    /// Calls `change` and commits its changes durably and atomically; none of them if it fails.
    ///
    /// Transactions run one after another: one begun inside `change` would deadlock.
    pub fn transaction<T>(
        &self,
        change: impl FnOnce(&mut CatalogTransaction<'_>) -> StoreResult<T>,
    ) -> StoreResult<Committed<T>> {
        self.check_guard()?;
        self.begin_writing()?;
        let next_file = || self.next_file.load(Ordering::Relaxed);
        transaction::run(
            &*self.database()?,
            &self.failing,
            &self.uncertain,
            next_file,
            change,
        )
    }

    /// Closes the file: remaining users of this catalog get errors and cannot write any more, so
    /// that another may open it. Waits for a running transaction.
    pub fn close(&self) {
        drop(self.database.write().take());
    }

    fn database(&self) -> StoreResult<MappedRwLockReadGuard<'_, Database>> {
        let opened = self.opened()?;
        Ok(MappedRwLockReadGuard::map(opened, |opened| {
            &*opened.database
        }))
    }

    fn opened(&self) -> StoreResult<MappedRwLockReadGuard<'_, Opened>> {
        // A running change holds the lock and may take it again, even if another thread waits to
        // close.
        RwLockReadGuard::try_map(self.database.read_recursive(), Option::as_ref).map_err(|_| {
            self.failing
                .record(Error::new(ErrorKind::Closed, "the store was closed"))
        })
    }

    /// Whether a commit failed. It may have taken place all the same: its data can be on the disk
    /// without being synced, and the next opening sees it. Nothing is committed any more.
    #[must_use]
    pub fn is_uncertain(&self) -> bool {
        self.uncertain.load(Ordering::Acquire)
    }

    /// Whether no reader of this catalog, now or after reopening, can know the file.
    #[must_use]
    pub fn surely_lacks(&self, id: FileId) -> bool {
        !self.is_uncertain()
            && self
                .view()
                .and_then(|view| view.file(id))
                .is_ok_and(|file| file.is_none())
    }

    /// Writes a copy of the present catalog to another directory, which must exist and hold no
    /// store. It contains no log positions: the copy's log begins anew.
    pub fn copy_to(&self, vfs: &Arc<dyn Vfs>, dir: &Path) -> StoreResult<()> {
        if Self::is_present(vfs.as_ref(), dir)? {
            return Err(Error::new(
                ErrorKind::AlreadyExists,
                "there is a store in this directory",
            )
            .with("directory", dir.display()));
        }
        let source = self
            .database()?
            .begin_read()
            .map_err(|e| self.failing.error(e))?;
        build(
            vfs,
            dir,
            Self::CACHE_BYTES_DEFAULT,
            |failing, transaction| {
                for definition in EVERY_TABLE {
                    let from = source
                        .open_table(definition)
                        .map_err(|e| self.failing.error(e))?;
                    let mut to = transaction
                        .open_table(definition)
                        .map_err(|e| failing.error(e))?;
                    for record in from.iter().map_err(|e| self.failing.error(e))? {
                        let (key, value) = record.map_err(|e| self.failing.error(e))?;
                        to.insert(key.value(), value.value())
                            .map_err(|e| failing.error(e))?;
                    }
                }
                let mut meta = transaction.open_table(META).map_err(|e| failing.error(e))?;
                meta.remove(LOG_KEY).map_err(|e| failing.error(e))?;
                Ok(())
            },
        )?;
        Ok(())
    }
}

#[cfg(test)]
impl Catalog {
    pub(super) fn format_for_test(&self) -> u32 {
        let transaction = self.database().expect("open").begin_read().expect("begins");
        let meta = transaction.open_table(META).expect("opens");
        let value = meta.get(FORMAT_KEY).expect("reads").expect("is there");
        format::decode_format(value.value()).expect("decodes")
    }

    /// Drops the log positions, as in a catalog of format 1.
    pub(crate) fn forget_log_for_test(&self) {
        self.set_format_for_test(1);
        let database = self.database().expect("open");
        let mut store = read_meta(&database, &self.failing).expect("reads").store;
        store.wal_low_water = 0;
        let transaction = database.begin_write().expect("begins");
        let mut meta = transaction.open_table(META).expect("opens");
        meta.insert(STORE_KEY, &*format::encode_store(&store))
            .expect("inserts");
        meta.remove(LOG_KEY).expect("removes");
        drop(meta);
        transaction.commit().expect("commits");
    }

    /// Sets the format number of another version.
    pub(super) fn set_format_for_test(&self, format: u32) {
        let transaction = self
            .database()
            .expect("open")
            .begin_write()
            .expect("begins");
        let mut meta = transaction.open_table(META).expect("opens");
        meta.insert(FORMAT_KEY, &*format::encode_format(format))
            .expect("inserts");
        drop(meta);
        transaction.commit().expect("commits");
    }
}

/// Name of the lock file of a store's directory.
const LOCK_FILE_NAME: &str = "LOCK";

/// Builds a catalog under a temporary name and renames it once it is durable; then its mirror,
/// which therefore never exists without it unless it was removed.
fn build(
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    cache_bytes: usize,
    fill: impl FnOnce(&Failing, &redb::WriteTransaction) -> StoreResult<()>,
) -> StoreResult<(Database, Failing, Arc<Pair>)> {
    let path = dir.join(FILE_NAME);
    let temporary = dir.join(FILE_NAME_NEW);
    if vfs.exists(&temporary)? {
        vfs.remove(&temporary)?;
    }
    let failing = Failing::new(&path);
    let pair = Pair::alone(vfs.open_random(&temporary)?);
    let database = Builder::new()
        .set_cache_size(cache_bytes)
        .create_with_backend(Backend(pair.clone()))
        .map_err(|e| failing.error(e))?;
    let transaction = database.begin_write().map_err(|e| failing.error(e))?;
    for definition in EVERY_TABLE {
        transaction
            .open_table(definition)
            .map_err(|e| failing.error(e))?;
    }
    fill(&failing, &transaction)?;
    write_format(&failing, &transaction)?;
    transaction.commit().map_err(|e| failing.error(e))?;
    vfs.rename(&temporary, &path)?;
    vfs.sync_names(dir, &[&path])?;
    pair.attach(|bytes| Copies::of(&**vfs, dir).make_mirror(bytes))?;
    Ok((database, failing, pair))
}

/// Opens the database in `backend`, verifying every page.
pub(super) fn open_database(
    failing: &Failing,
    backend: impl StorageBackend,
    cache_bytes: usize,
) -> StoreResult<Database> {
    // The check reads the whole file, a few milliseconds for ten thousand tablets, and keeps redb
    // from trusting damaged pages.
    Builder::new()
        .set_cache_size(cache_bytes)
        .set_check_integrity_on_open(true)
        .create_with_backend(backend)
        .map_err(|e| failing.error(e))
}

fn write_format(failing: &Failing, transaction: &redb::WriteTransaction) -> StoreResult<()> {
    let mut meta = transaction.open_table(META).map_err(|e| failing.error(e))?;
    let format = format::encode_format(CATALOG_FORMAT);
    meta.insert(FORMAT_KEY, &*format)
        .map_err(|e| failing.error(e))?;
    Ok(())
}

/// redb would create a new database in an empty file.
pub(super) fn empty(failing: &Failing) -> Error {
    failing.record(Error::new(
        ErrorKind::Corruption,
        "the catalog is empty; restore the store from a checkpoint",
    ))
}

pub(super) fn not_a_store(vfs: &dyn Vfs, dir: &Path) -> Error {
    match vfs.list(dir) {
        Err(error) => error,
        Ok(entries) => match entries
            .iter()
            .find(|e| e.name != LOCK_FILE_NAME && e.name != FILE_NAME_NEW)
        {
            None => Error::new(
                ErrorKind::NotFound,
                "the directory is empty: there is no store in it",
            ),
            Some(entry) => Error::new(
                ErrorKind::InvalidArgument,
                "the directory is not a store: it has other files but no catalog",
            )
            .with("holds", entry.name.display()),
        }
        .with("directory", dir.display()),
    }
}

/// The content of the table `meta`.
pub(super) struct Meta {
    pub(super) store: StoreRecord,
    pub(super) format: u32,
    pub(super) commits: u64,
}

pub(super) fn read_meta(database: &Database, failing: &Failing) -> StoreResult<Meta> {
    let transaction = database.begin_read().map_err(|e| failing.error(e))?;
    let meta = transaction.open_table(META).map_err(|e| match e {
        redb::TableError::TableDoesNotExist(_) => failing.record(Error::new(
            ErrorKind::InvalidArgument,
            "the directory is not a store: its catalog belongs to other software",
        )),
        e => failing.error(e),
    })?;
    let value_of = |key| {
        let value = meta.get(key).map_err(|e| failing.error(e))?;
        value.ok_or_else(|| {
            failing.record(Error::new(
                ErrorKind::Corruption,
                "the catalog lacks the record of its store",
            ))
        })
    };
    let format =
        format::decode_format(value_of(FORMAT_KEY)?.value()).map_err(|e| failing.record(e))?;
    if format > CATALOG_FORMAT {
        return Err(failing.record(Error::new(
            ErrorKind::NewerFormat,
            format!(
                "the store has catalog format {format}, this version reads \
                 {CATALOG_FORMAT_OLDEST} to {CATALOG_FORMAT}: open it with a newer version"
            ),
        )));
    }
    if format < CATALOG_FORMAT_OLDEST {
        return Err(failing.record(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the store has catalog format {format}, this version reads \
                 {CATALOG_FORMAT_OLDEST} to {CATALOG_FORMAT}: open it once with an older version \
                 that upgrades it"
            ),
        )));
    }
    let store =
        format::decode_store(value_of(STORE_KEY)?.value()).map_err(|e| failing.record(e))?;
    let commits = view::commits(&meta, failing)?;
    Ok(Meta {
        store,
        format,
        commits,
    })
}
