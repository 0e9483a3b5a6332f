//! One atomic change of the catalog.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::{Database, ReadableTable, Table, TableHandle, WriteTransaction};

use super::backend::Failing;
use super::format::{
    self, CATALOG_FORMAT, COMMIT_KEY, FORMAT_KEY, LOG_KEY, LogEnd, STORE_KEY, StoreRecord,
};
use super::open::{Definition, FILES, META, NAMES, REFERENCES, TABLES, TABLETS};
use super::records::{
    FileId, FileRecord, FileReference, TableId, TableRecord, Tablet, TabletChange,
};
use super::view;
use crate::error::{Error, ErrorKind, StoreResult};

/// The result of a committed transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "files that nothing refers to any more stay on the disk until they are deleted"]
pub struct Committed<T> {
    /// The return value of the change.
    pub value: T,
    /// Files that lost their last reference and were removed from the catalog: delete them once no
    /// reader has them open.
    pub unreferenced: Vec<FileId>,
}

type Bytes<'a> = Table<'a, &'static [u8], &'static [u8]>;

/// The catalog inside a transaction: what it reads includes its own changes.
pub struct CatalogTransaction<'a> {
    pub(super) failing: &'a Failing,
    /// For redb tables that few changes need, which are opened on demand.
    pub(super) transaction: &'a WriteTransaction,
    pub(super) meta: Bytes<'a>,
    pub(super) tables: Bytes<'a>,
    pub(super) names: Bytes<'a>,
    pub(super) tablets: Bytes<'a>,
    files: Bytes<'a>,
    references: Bytes<'a>,
    store: StoreRecord,
    store_changed: bool,
    /// Files that gained or lost a reference, or were added: checked again before the commit.
    touched: BTreeSet<FileId>,
    added: BTreeSet<FileId>,
    /// The tablets that were written or removed, by key, in their present state.
    changed: BTreeMap<Vec<u8>, Option<Vec<FileReference>>>,
}

/// Calls `change` between begin and commit.
pub(super) fn run<T>(
    database: &Database,
    failing: &Failing,
    uncertain: &AtomicBool,
    next_file: impl Fn() -> u64,
    change: impl FnOnce(&mut CatalogTransaction<'_>) -> StoreResult<T>,
) -> StoreResult<Committed<T>> {
    let transaction = database.begin_write().map_err(|e| failing.error(e))?;
    let outcome = CatalogTransaction::begin(&transaction, failing).and_then(|mut catalog| {
        let value = change(&mut catalog)?;
        let unreferenced = catalog.finish(next_file())?;
        Ok(Committed {
            value,
            unreferenced,
        })
    });
    match outcome {
        Ok(committed) => {
            transaction.commit().map_err(|e| {
                uncertain.store(true, Ordering::Release);
                failing.error(e)
            })?;
            Ok(committed)
        }
        Err(error) => {
            // The error of the change is more important than one of the abort.
            let _ = transaction.abort();
            Err(error)
        }
    }
}

impl fmt::Debug for CatalogTransaction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CatalogTransaction")
            .field("store", &self.store)
            .field("added", &self.added)
            .field("changed", &self.changed)
            .finish_non_exhaustive()
    }
}

impl<'a> CatalogTransaction<'a> {
    fn begin(transaction: &'a WriteTransaction, failing: &'a Failing) -> StoreResult<Self> {
        let open = |definition| {
            transaction
                .open_table(definition)
                .map_err(|e| failing.error(e))
        };
        let meta = open(META)?;
        let store = view::store(&meta, failing)?;
        Ok(Self {
            failing,
            transaction,
            meta,
            tables: open(TABLES)?,
            names: open(NAMES)?,
            tablets: open(TABLETS)?,
            files: open(FILES)?,
            references: open(REFERENCES)?,
            store,
            store_changed: false,
            touched: BTreeSet::new(),
            added: BTreeSet::new(),
            changed: BTreeMap::new(),
        })
    }

    /// Drops files without references, checks those added, writes the store's record.
    fn finish(&mut self, next_file: u64) -> StoreResult<Vec<FileId>> {
        let mut unreferenced = Vec::new();
        for id in std::mem::take(&mut self.touched) {
            if self.is_referenced(id)? {
                continue;
            }
            if self.added.contains(&id) {
                return Err(bug(format!(
                    "file {id} was added to the catalog but nothing refers to it"
                )));
            }
            let key = format::file_key(id);
            self.files
                .remove(&key[..])
                .map_err(|e| self.failing.error(e))?;
            unreferenced.push(id);
        }
        if !self.added.is_empty() && self.store.next_file < next_file {
            self.store.next_file = next_file;
            self.store_changed = true;
        }
        let commits = view::commits(&self.meta, self.failing)? + 1;
        self.meta
            .insert(COMMIT_KEY, &*format::encode_commit(commits))
            .map_err(|e| self.failing.error(e))?;
        // An older version would misread what this one writes.
        if view::format(&self.meta, self.failing)? < CATALOG_FORMAT {
            self.meta
                .insert(FORMAT_KEY, &*format::encode_format(CATALOG_FORMAT))
                .map_err(|e| self.failing.error(e))?;
        }
        if self.store_changed {
            let value = format::encode_store(&self.store);
            self.meta
                .insert(STORE_KEY, &*value)
                .map_err(|e| self.failing.error(e))?;
        }
        Ok(unreferenced)
    }

    /// Whether a redb table stays open for the whole transaction.
    pub(super) fn is_open(&self, definition: Definition) -> bool {
        [META, TABLES, NAMES, TABLETS, FILES, REFERENCES]
            .iter()
            .any(|open| open.name() == definition.name())
    }

    fn is_referenced(&self, id: FileId) -> StoreResult<bool> {
        let first = format::reference_key(id, &[]);
        let mut found = self
            .references
            .range(&first[..]..)
            .map_err(|e| self.failing.error(e))?;
        match found.next() {
            None => Ok(false),
            Some(record) => {
                let (key, _) = record.map_err(|e| self.failing.error(e))?;
                Ok(key.value().starts_with(&format::file_key(id)))
            }
        }
    }

    /// All tables, by id.
    pub fn tables(&self) -> StoreResult<Vec<TableRecord>> {
        view::tables(&self.tables, self.failing)
    }

    /// The table with this id; `NotFound` if there is none.
    pub fn table(&self, id: TableId) -> StoreResult<TableRecord> {
        view::table(&self.tables, self.failing, id)?.ok_or_else(|| {
            Error::new(
                ErrorKind::TableNotFound,
                "the table does not exist any more",
            )
            .with("table", id)
        })
    }

    /// The id of the table with this name.
    pub fn table_id(&self, name: &str) -> StoreResult<Option<TableId>> {
        view::table_id(&self.names, self.failing, name)
    }

    /// The tablets of a table, in row order.
    pub fn tablets(&self, table: TableId) -> StoreResult<Vec<Tablet>> {
        view::tablets(&self.tablets, self.failing, table)
    }

    /// The file with this id.
    pub fn file(&self, id: FileId) -> StoreResult<Option<FileRecord>> {
        view::file(&self.files, self.failing, id)
    }

    /// The changes of this transaction to the tablets of a table so far, in row order.
    pub fn changes_of(&self, table: TableId) -> StoreResult<Vec<TabletChange>> {
        let first = format::tablet_key(table, Some(&[]));
        let mut changes = Vec::new();
        for (key, files) in self.changed.range(first..) {
            let (of, end) = format::decode_tablet_key(key).map_err(|e| self.failing.record(e))?;
            if of != table {
                break;
            }
            changes.push(TabletChange {
                end: end.map(<[u8]>::to_vec),
                files: files.clone(),
            });
        }
        Ok(changes)
    }

    /// Adds a file that was written and synced. Some tablet must refer to it by the end of the
    /// transaction.
    pub fn add_file(&mut self, file: &FileRecord) -> StoreResult<()> {
        let key = format::file_key(file.id);
        let value = format::encode_file(file);
        let earlier = self
            .files
            .insert(&key[..], &*value)
            .map_err(|e| self.failing.error(e))?;
        if earlier.is_some() {
            return Err(bug(format!("file {} is in the catalog already", file.id)));
        }
        self.touched.insert(file.id);
        self.added.insert(file.id);
        Ok(())
    }

    /// As [`CatalogView::wal_low_water`](super::CatalogView::wal_low_water).
    #[must_use]
    pub fn wal_low_water(&self) -> u64 {
        self.store.wal_low_water
    }

    /// Records that segments of the log with lower numbers are not needed any more, and that no
    /// later one is missing. Never decreases. Call before deleting any.
    pub fn set_wal_low_water(&mut self, number: u64) -> StoreResult<()> {
        if number <= self.store.wal_low_water {
            return Ok(());
        }
        self.store.wal_low_water = number;
        self.store_changed = true;
        Ok(())
    }

    /// Records that the log has data up to here, all of it on the disk.
    pub fn set_wal_last(&mut self, end: LogEnd) -> StoreResult<()> {
        self.meta
            .insert(LOG_KEY, &*format::encode_log(end))
            .map_err(|e| self.failing.error(e))?;
        Ok(())
    }

    pub(super) fn next_table_id(&mut self) -> StoreResult<TableId> {
        let id = TableId(self.store.next_table);
        self.store.next_table = id.0.checked_add(1).ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                "the store has given away all table ids",
            )
        })?;
        self.store_changed = true;
        Ok(id)
    }

    /// The tablet under `key`; `NotFound` if there is none.
    pub(super) fn tablet_at(&self, key: &[u8], after: Option<Vec<u8>>) -> StoreResult<Tablet> {
        match self.tablets.get(key).map_err(|e| self.failing.error(e))? {
            Some(value) => view::tablet(self.failing, key, value.value(), after),
            None => Err(Error::new(
                ErrorKind::NotFound,
                "the tablet does not exist any more: it was split or merged",
            )),
        }
    }

    /// Writes, replaces or (`after` is `None`) removes a tablet, and updates the references of its
    /// files.
    pub(super) fn put_tablet(
        &mut self,
        table: TableId,
        end_row: Option<&[u8]>,
        before: &[FileReference],
        after: Option<&[FileReference]>,
    ) -> StoreResult<()> {
        let key = format::tablet_key(table, end_row);
        match after {
            Some(files) => {
                let value = format::encode_tablet(&key, files);
                self.tablets
                    .insert(&key[..], &*value)
                    .map_err(|e| self.failing.error(e))?;
            }
            None => {
                self.tablets
                    .remove(&key[..])
                    .map_err(|e| self.failing.error(e))?;
            }
        }
        self.changed
            .insert(key.clone(), after.map(<[FileReference]>::to_vec));
        let ids = |files: &[FileReference]| files.iter().map(|r| r.file).collect::<BTreeSet<_>>();
        let (old, new) = (ids(before), ids(after.unwrap_or_default()));
        for id in old.difference(&new) {
            let reference = format::reference_key(*id, &key);
            self.references
                .remove(&reference[..])
                .map_err(|e| self.failing.error(e))?;
            self.touched.insert(*id);
        }
        for id in new.difference(&old) {
            if self.file(*id)?.is_none() {
                return Err(bug(format!(
                    "a tablet refers to file {id}, which is not in the catalog"
                )));
            }
            let reference = format::reference_key(*id, &key);
            self.references
                .insert(&reference[..], &[][..])
                .map_err(|e| self.failing.error(e))?;
            self.touched.insert(*id);
        }
        Ok(())
    }
}

pub(super) fn bug(message: String) -> Error {
    Error::new(ErrorKind::Internal, message)
}
