//! Reads the catalog: committed states through views, and inside a transaction also its own
//! changes.

use std::any::Any;
use std::sync::Arc;

use redb::{ReadOnlyTable, ReadTransaction, ReadableTable};

use super::backend::Failing;
use super::fence::Fence;
use super::format::{self, COMMIT_KEY, FORMAT_KEY, LOG_KEY, LogEnd, STORE_KEY};
use super::open::{FILES, META, NAMES, REFERENCES, TABLES, TABLETS};
use super::records::{FileId, FileRecord, TableId, TableRecord, Tablet};
use crate::error::{Error, ErrorKind, StoreResult};

/// A redb table that maps bytes to bytes.
pub(super) trait Bytes: ReadableTable<&'static [u8], &'static [u8]> {}
impl<T: ReadableTable<&'static [u8], &'static [u8]>> Bytes for T {}

/// One state of the catalog, not changed by later commits. Records are read on demand.
#[derive(Debug)]
pub struct CatalogView {
    /// The copy in memory that it reads, which may be replaced meanwhile.
    _copy: Option<Arc<dyn Any + Send + Sync>>,
    pub(super) failing: Failing,
    /// For redb tables that few readers need, which are opened on demand.
    pub(super) transaction: ReadTransaction,
    pub(super) meta: ReadOnlyTable<&'static [u8], &'static [u8]>,
    pub(super) tables: ReadOnlyTable<&'static [u8], &'static [u8]>,
    pub(super) names: ReadOnlyTable<&'static [u8], &'static [u8]>,
    pub(super) tablets: ReadOnlyTable<&'static [u8], &'static [u8]>,
    pub(super) files: ReadOnlyTable<&'static [u8], &'static [u8]>,
    pub(super) references: ReadOnlyTable<&'static [u8], &'static [u8]>,
}

impl CatalogView {
    pub(super) fn open(
        transaction: ReadTransaction,
        failing: Failing,
        copy: Option<Arc<dyn Any + Send + Sync>>,
    ) -> StoreResult<Self> {
        let open = |definition| {
            transaction
                .open_table(definition)
                .map_err(|e| failing.error(e))
        };
        Ok(Self {
            _copy: copy,
            meta: open(META)?,
            tables: open(TABLES)?,
            names: open(NAMES)?,
            tablets: open(TABLETS)?,
            files: open(FILES)?,
            references: open(REFERENCES)?,
            failing,
            transaction,
        })
    }

    /// All tables, by id.
    pub fn tables(&self) -> StoreResult<Vec<TableRecord>> {
        tables(&self.tables, &self.failing)
    }

    /// The table with this id.
    pub fn table(&self, id: TableId) -> StoreResult<Option<TableRecord>> {
        table(&self.tables, &self.failing, id)
    }

    /// The id of the table with this name.
    pub fn table_id(&self, name: &str) -> StoreResult<Option<TableId>> {
        table_id(&self.names, &self.failing, name)
    }

    /// The tablets of a table, in row order; none if there is no such table.
    pub fn tablets(&self, table: TableId) -> StoreResult<Vec<Tablet>> {
        tablets(&self.tablets, &self.failing, table)
    }

    /// All files, by id.
    pub fn files(&self) -> StoreResult<Vec<FileRecord>> {
        let mut files = Vec::new();
        for record in self.files.iter().map_err(|e| self.failing.error(e))? {
            let (key, value) = record.map_err(|e| self.failing.error(e))?;
            let file = format::decode_file(key.value(), value.value());
            files.push(file.map_err(|e| self.failing.record(e))?);
        }
        Ok(files)
    }

    /// The file with this id.
    pub fn file(&self, id: FileId) -> StoreResult<Option<FileRecord>> {
        file(&self.files, &self.failing, id)
    }

    /// Number of commits since the store was created.
    pub fn commits(&self) -> StoreResult<u64> {
        commits(&self.meta, &self.failing)
    }

    /// From this number on no segment of the log may be missing, up to the last existing one; 0 if
    /// unknown.
    pub fn wal_low_water(&self) -> StoreResult<u64> {
        Ok(store(&self.meta, &self.failing)?.wal_low_water)
    }

    /// The end of the log when the store was last closed cleanly.
    pub fn wal_last(&self) -> StoreResult<LogEnd> {
        match self.meta.get(LOG_KEY).map_err(|e| self.failing.error(e))? {
            None => Ok(LogEnd::default()),
            Some(value) => format::decode_log(value.value()).map_err(|e| self.failing.record(e)),
        }
    }
}

pub(super) fn store(meta: &impl Bytes, failing: &Failing) -> StoreResult<format::StoreRecord> {
    let value = meta.get(STORE_KEY).map_err(|e| failing.error(e))?;
    let value = value.ok_or_else(|| {
        failing.record(Error::new(
            ErrorKind::Corruption,
            "the catalog lacks the record of its store",
        ))
    })?;
    format::decode_store(value.value()).map_err(|e| failing.record(e))
}

/// The format number.
pub(super) fn format(meta: &impl Bytes, failing: &Failing) -> StoreResult<u32> {
    let value = meta.get(FORMAT_KEY).map_err(|e| failing.error(e))?;
    let value = value.ok_or_else(|| {
        failing.record(Error::new(
            ErrorKind::Corruption,
            "the catalog lacks its format number",
        ))
    })?;
    format::decode_format(value.value()).map_err(|e| failing.record(e))
}

/// Number of commits.
pub(super) fn commits(meta: &impl Bytes, failing: &Failing) -> StoreResult<u64> {
    match meta.get(COMMIT_KEY).map_err(|e| failing.error(e))? {
        None => Ok(0),
        Some(value) => format::decode_commit(value.value()).map_err(|e| failing.record(e)),
    }
}

pub(super) fn tables(tables: &impl Bytes, failing: &Failing) -> StoreResult<Vec<TableRecord>> {
    let mut found = Vec::new();
    for record in tables.iter().map_err(|e| failing.error(e))? {
        let (key, value) = record.map_err(|e| failing.error(e))?;
        found
            .push(format::decode_table(key.value(), value.value()).map_err(|e| failing.record(e))?);
    }
    Ok(found)
}

pub(super) fn table(
    tables: &impl Bytes,
    failing: &Failing,
    id: TableId,
) -> StoreResult<Option<TableRecord>> {
    let key = format::table_key(id);
    match tables.get(&key[..]).map_err(|e| failing.error(e))? {
        None => Ok(None),
        Some(value) => format::decode_table(&key, value.value())
            .map(Some)
            .map_err(|e| failing.record(e)),
    }
}

pub(super) fn table_id(
    names: &impl Bytes,
    failing: &Failing,
    name: &str,
) -> StoreResult<Option<TableId>> {
    match names.get(name.as_bytes()).map_err(|e| failing.error(e))? {
        None => Ok(None),
        Some(value) => format::decode_name(name.as_bytes(), value.value())
            .map(Some)
            .map_err(|e| failing.record(e)),
    }
}

pub(super) fn tablets(
    tablets: &impl Bytes,
    failing: &Failing,
    table: TableId,
) -> StoreResult<Vec<Tablet>> {
    let mut found: Vec<Tablet> = Vec::new();
    let first = format::tablet_key(table, Some(&[]));
    let last = format::tablet_key(table, None);
    for record in tablets
        .range(&first[..]..=&last[..])
        .map_err(|e| failing.error(e))?
    {
        let (key, value) = record.map_err(|e| failing.error(e))?;
        let after = found
            .last()
            .and_then(|tablet| tablet.extent.through.clone());
        found.push(tablet(failing, key.value(), value.value(), after)?);
    }
    Ok(found)
}

pub(super) fn tablet(
    failing: &Failing,
    key: &[u8],
    value: &[u8],
    after: Option<Vec<u8>>,
) -> StoreResult<Tablet> {
    let (_, through) = format::decode_tablet_key(key).map_err(|e| failing.record(e))?;
    let extent = Fence::new(after, through.map(<[u8]>::to_vec));
    let files = format::decode_tablet(key, value).map_err(|e| failing.record(e))?;
    Ok(Tablet { extent, files })
}

pub(super) fn file(
    files: &impl Bytes,
    failing: &Failing,
    id: FileId,
) -> StoreResult<Option<FileRecord>> {
    let key = format::file_key(id);
    match files.get(&key[..]).map_err(|e| failing.error(e))? {
        None => Ok(None),
        Some(value) => format::decode_file(&key, value.value())
            .map(Some)
            .map_err(|e| failing.record(e)),
    }
}
