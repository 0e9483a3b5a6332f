//! A source in which something happens when a table is about to be scanned.

use std::sync::{Arc, Mutex};

use ostrakon_cell::{
    Authorizations, Capabilities, CloneOptions, CompactOptions, ConditionalMutation,
    ConditionalStatus, Durability, MutationBatch, PendingWrite, Properties, PropertyChange, Range,
    Result, Scan, ScanOptions, Source, Table, TableInfo, TableOptions, TabletInfo,
};

type Happening = Box<dyn FnOnce() + Send>;

/// Passes every call on. Before the next scan of one table, something happens, once.
pub(crate) struct Meddling {
    source: Arc<dyn Source>,
    next: Next,
}

type Next = Arc<Mutex<Option<(&'static str, Happening)>>>;

struct MeddlingTable {
    table: Arc<dyn Table>,
    next: Next,
}

impl Meddling {
    /// A source in which `happening` happens before the next scan of `table`.
    pub(crate) fn before_scan_of(
        table: &'static str,
        source: &Arc<dyn Source>,
        happening: impl FnOnce() + Send + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            source: source.clone(),
            next: Arc::new(Mutex::new(Some((table, Box::new(happening))))),
        })
    }

    /// Whether it has happened.
    pub(crate) fn has_happened(&self) -> bool {
        self.next.lock().expect("not poisoned").is_none()
    }
}

impl Source for Meddling {
    fn capabilities(&self) -> Capabilities {
        self.source.capabilities()
    }

    fn tables(&self) -> Result<Vec<TableInfo>> {
        self.source.tables()
    }

    fn create_table(&self, name: &str, options: &TableOptions) -> Result<()> {
        self.source.create_table(name, options)
    }

    fn delete_table(&self, name: &str) -> Result<()> {
        self.source.delete_table(name)
    }

    fn rename_table(&self, from: &str, to: &str) -> Result<()> {
        self.source.rename_table(from, to)
    }

    fn clone_table(&self, from: &str, to: &str, options: &CloneOptions) -> Result<()> {
        self.source.clone_table(from, to, options)
    }

    fn table(&self, name: &str) -> Result<Arc<dyn Table>> {
        Ok(Arc::new(MeddlingTable {
            table: self.source.table(name)?,
            next: self.next.clone(),
        }))
    }

    fn set_online(&self, name: &str, online: bool) -> Result<()> {
        self.source.set_online(name, online)
    }
}

impl Table for MeddlingTable {
    fn name(&self) -> String {
        self.table.name()
    }

    fn id(&self) -> String {
        self.table.id()
    }

    fn capabilities(&self) -> Capabilities {
        self.table.capabilities()
    }

    fn submit(
        &self,
        batch: MutationBatch,
        durability: Option<Durability>,
    ) -> Result<Box<dyn PendingWrite>> {
        self.table.submit(batch, durability)
    }

    fn advance_time(&self) -> Result<()> {
        self.table.advance_time()
    }

    fn write_conditionally(
        &self,
        mutations: Vec<ConditionalMutation>,
        authorizations: &Authorizations,
        durability: Option<Durability>,
    ) -> Result<Vec<ConditionalStatus>> {
        self.table
            .write_conditionally(mutations, authorizations, durability)
    }

    fn scan(&self, ranges: &[Range], options: &ScanOptions) -> Result<Box<dyn Scan>> {
        let happening = {
            let mut next = self.next.lock().expect("not poisoned");
            let is_due = next
                .as_ref()
                .is_some_and(|(table, _)| *table == self.table.name());
            if is_due { next.take() } else { None }
        };
        if let Some((_, happening)) = happening {
            happening();
        }
        self.table.scan(ranges, options)
    }

    fn properties(&self) -> Result<Properties> {
        self.table.properties()
    }

    fn change_properties(&self, version: Option<u64>, changes: &[PropertyChange]) -> Result<u64> {
        self.table.change_properties(version, changes)
    }

    fn tablets(&self) -> Result<Vec<TabletInfo>> {
        self.table.tablets()
    }

    fn newest_timestamp(&self) -> Result<Option<i64>> {
        self.table.newest_timestamp()
    }

    fn add_splits(&self, rows: &[Vec<u8>]) -> Result<()> {
        self.table.add_splits(rows)
    }

    fn merge(&self, start: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
        self.table.merge(start, end)
    }

    fn delete_rows(&self, start: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
        self.table.delete_rows(start, end)
    }

    fn flush(&self, wait: bool) -> Result<()> {
        self.table.flush(wait)
    }

    fn compact(&self, options: &CompactOptions) -> Result<()> {
        self.table.compact(options)
    }

    fn cancel_compaction(&self) -> Result<()> {
        self.table.cancel_compaction()
    }
}
