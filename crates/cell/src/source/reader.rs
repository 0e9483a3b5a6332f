//! A source restricted to a reader's authorizations, which bound every call and not only scans.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::{
    BulkWriter, CallContext, Capabilities, ClassInfo, ClassKind, CloneOptions, CompactOptions,
    ConditionalMutation, ConditionalStatus, NamespaceInfo, PendingWrite, Principal, Properties,
    PropertyChange, PropertyInfo, PropertyOwner, Scan, ScanOptions, Source, Table, TableInfo,
    TableOptions, TabletInfo, TabletLocation, Tick, VersionedProperties,
};
use crate::{
    Authorizations, Capability, Durability, Error, ErrorKind, MutationBatch, Range, Result,
};

/// The principal of readers without a name: there are no users yet.
const ROOT: &str = "root";

/// Capabilities reserved to administrators.
const ADMINISTRATION: [Capability; 8] = [
    Capability::Tablets,
    Capability::Compaction,
    Capability::Clone,
    Capability::Offline,
    Capability::Checkpoint,
    Capability::Check,
    Capability::PropertyLevels,
    Capability::Namespaces,
];

/// A source restricted to a reader with certain authorizations.
///
/// A reader creates, renames and deletes tables, writes to them, and reads what these
/// authorizations satisfy. Every call that could disclose more is rejected with
/// [`PermissionDenied`](ErrorKind::PermissionDenied): compactions (whose iterators see every
/// entry), clones and changed properties (which change what iterators and default labels do),
/// checkpoints and checks, tablets with their sizes, split points, merges, deletes of rows,
/// flushes, taking tables off-line, and importing files.
///
/// Calls that are not listed here are rejected as well, so that a new call of the source contract
/// is open to readers only when it is added here.
#[derive(Clone)]
pub struct ReaderSource {
    source: Arc<dyn Source>,
    reader: Reader,
}

/// What a reader may do. Its tables have this and not the source: a table that is still referred to must not keep a
/// store, and with it the lock of its directory, after the store was closed.
#[derive(Clone)]
struct Reader {
    held: Arc<Authorizations>,
    name: Arc<str>,
    reserved: fn(&str) -> Reserved,
    times_shown: fn(&str) -> bool,
}

/// What a reader may do with a table that another part of the program manages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// Not reserved.
    Not,
    /// The reader may scan it.
    Written,
    /// The reader may not open it: what it has for all readers would disclose something.
    Closed,
}

impl ReaderSource {
    /// `source` for a reader with the authorizations `held`.
    #[must_use]
    pub fn new(source: Arc<dyn Source>, held: Authorizations) -> Self {
        let reader = Reader {
            held: Arc::new(held),
            name: ROOT.into(),
            reserved: |_| Reserved::Not,
            times_shown: |_| false,
        };
        Self { source, reader }
    }

    /// `source` for a reader that acts as this principal.
    #[must_use]
    pub fn for_principal(source: Arc<dyn Source>, principal: Principal) -> Self {
        let mut readers = Self::new(source, principal.authorizations);
        readers.reader.name = principal.name.into();
        readers
    }

    /// The same source, in which the reader does not change, delete or rename the tables that
    /// `reserved` names: for readers beside a module that keeps its data in tables, and writes them
    /// through a source without this.
    #[must_use]
    pub fn reserving(mut self, reserved: fn(&str) -> Reserved) -> Self {
        self.reader.reserved = reserved;
        self
    }

    /// The same source, with [`newest_timestamp`](Table::newest_timestamp) of the tables for which
    /// `times_shown` holds: for a module whose timestamps are numbers that its readers may know.
    #[must_use]
    pub fn showing_times(mut self, times_shown: fn(&str) -> bool) -> Self {
        self.reader.times_shown = times_shown;
        self
    }
}

impl Reader {
    fn check_reserved(&self, table: &str) -> Result<()> {
        match (self.reserved)(table) {
            Reserved::Not => Ok(()),
            Reserved::Written | Reserved::Closed => Err(reserved(table)),
        }
    }

    fn check(&self, asked: &Authorizations) -> Result<()> {
        if asked.iter().all(|name| self.held.contains(name)) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::BadAuthorizations,
            "the call asks for authorizations that the store was not opened with",
        ))
    }

    fn principal(&self) -> Principal {
        Principal {
            name: self.name.to_string(),
            authorizations: Authorizations::clone(&self.held),
        }
    }

    /// The same rights in tables that are reserved, for a principal with fewer authorizations.
    fn acting_as(&self, principal: Principal) -> Self {
        Self {
            held: Arc::new(principal.authorizations),
            name: principal.name.into(),
            ..self.clone()
        }
    }
}

impl Source for ReaderSource {
    fn capabilities(&self) -> Capabilities {
        of_a_reader(self.source.capabilities())
    }

    fn tables(&self) -> Result<Vec<TableInfo>> {
        self.source.tables()
    }

    fn create_table(&self, name: &str, options: &TableOptions) -> Result<()> {
        self.reader.check_reserved(name)?;
        self.source.create_table(name, options)
    }

    fn delete_table(&self, name: &str) -> Result<()> {
        self.reader.check_reserved(name)?;
        self.source.delete_table(name)
    }

    fn rename_table(&self, from: &str, to: &str) -> Result<()> {
        self.reader.check_reserved(from)?;
        self.reader.check_reserved(to)?;
        self.source.rename_table(from, to)
    }

    fn clone_table(&self, _: &str, _: &str, _: &CloneOptions) -> Result<()> {
        Err(refused("clone_table"))
    }

    fn table(&self, name: &str) -> Result<Arc<dyn Table>> {
        if (self.reader.reserved)(name) == Reserved::Closed {
            return Err(reserved(name));
        }
        let table = self.source.table(name)?;
        let context = CallContext {
            principal: Some(self.reader.principal()),
            ..CallContext::default()
        };
        Ok(Arc::new(ReaderTable {
            // If a source does not know callers, its constraints do not know them either.
            table: match table.within(&context) {
                Err(error) if error.kind() == ErrorKind::Unsupported => table,
                within => within?,
            },
            reader: self.reader.clone(),
        }))
    }

    fn set_online(&self, _: &str, _: bool) -> Result<()> {
        Err(refused("set_online"))
    }

    fn namespaces(&self) -> Result<Vec<NamespaceInfo>> {
        self.source.namespaces()
    }

    fn find_class(&self, kind: ClassKind, class: &str) -> Result<Option<ClassInfo>> {
        self.source.find_class(kind, class)
    }

    fn create_namespace(&self, _: &str) -> Result<()> {
        Err(refused("create_namespace"))
    }

    fn delete_namespace(&self, _: &str) -> Result<()> {
        Err(refused("delete_namespace"))
    }

    fn rename_namespace(&self, _: &str, _: &str) -> Result<()> {
        Err(refused("rename_namespace"))
    }

    fn own_properties(&self, _: PropertyOwner<'_>) -> Result<VersionedProperties> {
        Err(refused("own_properties"))
    }

    fn change_properties(
        &self,
        _: PropertyOwner<'_>,
        _: Option<u64>,
        _: &[PropertyChange],
    ) -> Result<u64> {
        Err(refused("change_properties"))
    }

    fn checkpoint(&self, _: &std::path::Path) -> Result<()> {
        Err(refused("checkpoint"))
    }

    fn check(&self, _: super::Progress<'_>) -> Result<super::CheckReport> {
        Err(refused("check"))
    }
}

/// A table of a [`ReaderSource`].
struct ReaderTable {
    table: Arc<dyn Table>,
    reader: Reader,
}

impl Table for ReaderTable {
    fn name(&self) -> String {
        self.table.name()
    }

    fn id(&self) -> String {
        self.table.id()
    }

    fn capabilities(&self) -> Capabilities {
        of_a_reader(self.table.capabilities())
    }

    /// A principal with more authorizations than this reader holds is rejected.
    fn within(&self, context: &CallContext) -> Result<Arc<dyn Table>> {
        let principal = context.principal.clone();
        let principal = principal.unwrap_or_else(|| self.reader.principal());
        self.reader.check(&principal.authorizations)?;
        let context = CallContext {
            principal: Some(principal.clone()),
            ..context.clone()
        };
        Ok(Arc::new(Self {
            table: self.table.within(&context)?,
            reader: self.reader.acting_as(principal),
        }))
    }

    fn submit(
        &self,
        batch: MutationBatch,
        durability: Option<Durability>,
    ) -> Result<Box<dyn PendingWrite>> {
        self.reader.check_reserved(&self.table.name())?;
        self.table.submit(batch, durability)
    }

    fn advance_time(&self) -> Result<()> {
        self.reader.check_reserved(&self.table.name())?;
        self.table.advance_time()
    }

    fn batch_buffer(&self, bytes: usize) -> Vec<u8> {
        self.table.batch_buffer(bytes)
    }

    fn tick_every(&self, period: Duration, tick: Weak<dyn Tick>) -> bool {
        self.table.tick_every(period, tick)
    }

    fn write_conditionally(
        &self,
        mutations: Vec<ConditionalMutation>,
        authorizations: &Authorizations,
        durability: Option<Durability>,
    ) -> Result<Vec<ConditionalStatus>> {
        self.reader.check(authorizations)?;
        self.reader.check_reserved(&self.table.name())?;
        self.table
            .write_conditionally(mutations, authorizations, durability)
    }

    fn scan(&self, ranges: &[Range], options: &ScanOptions) -> Result<Box<dyn Scan>> {
        self.reader.check(&options.authorizations)?;
        let confined = ScanOptions {
            confined: true,
            ..options.clone()
        };
        self.table.scan(ranges, &confined)
    }

    fn properties(&self) -> Result<Properties> {
        self.table.properties()
    }

    fn describe_properties(&self) -> Result<BTreeMap<String, PropertyInfo>> {
        self.table.describe_properties()
    }

    fn own_properties(&self) -> Result<VersionedProperties> {
        self.table.own_properties()
    }

    fn change_properties(&self, _: Option<u64>, _: &[PropertyChange]) -> Result<u64> {
        Err(refused("change_properties"))
    }

    fn tablets(&self) -> Result<Vec<TabletInfo>> {
        Err(refused("tablets"))
    }

    fn locate(&self, _: &[u8]) -> Result<TabletLocation> {
        Err(refused("locate"))
    }

    fn newest_timestamp(&self) -> Result<Option<i64>> {
        match (self.reader.times_shown)(&self.table.name()) {
            true => self.table.newest_timestamp(),
            false => Err(refused("newest_timestamp")),
        }
    }

    fn add_splits(&self, _: &[Vec<u8>]) -> Result<()> {
        Err(refused("add_splits"))
    }

    fn merge(&self, _: Option<&[u8]>, _: Option<&[u8]>) -> Result<()> {
        Err(refused("merge"))
    }

    fn delete_rows(&self, _: Option<&[u8]>, _: Option<&[u8]>) -> Result<()> {
        Err(refused("delete_rows"))
    }

    fn flush(&self, _: bool) -> Result<()> {
        Err(refused("flush"))
    }

    fn compact(&self, _: &CompactOptions) -> Result<()> {
        Err(refused("compact"))
    }

    fn cancel_compaction(&self) -> Result<()> {
        Err(refused("cancel_compaction"))
    }

    fn bulk_writer(&self) -> Result<Box<dyn BulkWriter>> {
        self.reader.check_reserved(&self.table.name())?;
        self.table.bulk_writer()
    }

    fn import_directory(
        &self,
        _: &std::path::Path,
        _: &super::ImportDirectoryOptions,
    ) -> Result<super::ImportReport> {
        Err(refused("import_directory"))
    }
}

fn of_a_reader(capabilities: Capabilities) -> Capabilities {
    ADMINISTRATION
        .into_iter()
        .fold(capabilities, Capabilities::without)
}

fn reserved(table: &str) -> Error {
    Error::new(
        ErrorKind::PermissionDenied,
        "the store was opened with authorizations, and this table is managed by another part of the program: change its \
         data through that, or open the store without authorizations",
    )
    .with("table", table)
}

fn refused(call: &'static str) -> Error {
    Error::new(
        ErrorKind::PermissionDenied,
        "the store was opened with authorizations, which makes the caller a reader, and this call is \
         for administrators: open the store without authorizations for it",
    )
    .with("call", call)
}

impl std::fmt::Debug for ReaderSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReaderSource")
            .field("name", &self.reader.name)
            .field("held", &self.reader.held)
            .finish_non_exhaustive()
    }
}
