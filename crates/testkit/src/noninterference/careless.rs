//! A source that hides entries and shows that they were there.

use std::sync::Arc;

use ostrakon_cell::{
    Authorizations, Batch, Capabilities, CloneOptions, CompactOptions, ConditionalMutation,
    ConditionalStatus, Durability, MutationBatch, PendingWrite, Properties, Range, Result, Scan,
    ScanOptions, Source, Table, TableInfo, TableOptions, TabletInfo, VisibilityEvaluator,
};

/// Scans with all authorizations and takes out of each batch what the reader may not see, as it stands
/// there: labels stay in dictionaries, and batches end where hidden entries filled them.
pub struct Careless {
    /// The source that is read.
    pub source: Arc<dyn Source>,
    /// All authorizations there are.
    pub all: Authorizations,
}

struct CarelessTable {
    table: Arc<dyn Table>,
    all: Authorizations,
}

struct CarelessScan {
    scan: Box<dyn Scan>,
    evaluator: VisibilityEvaluator,
}

impl Scan for CarelessScan {
    fn next_batch(&mut self, out: &mut Batch) -> Result<bool> {
        while self.scan.next_batch(out)? {
            let evaluator = &mut self.evaluator;
            out.retain_from(0, |batch, at| {
                evaluator.evaluate(batch.key(at).visibility).is_visible()
            });
            if !out.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn restart(&mut self, ranges: &[Range]) -> Result<()> {
        self.scan.restart(ranges)
    }
}

impl Source for Careless {
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
        Ok(Arc::new(CarelessTable {
            table: self.source.table(name)?,
            all: self.all.clone(),
        }))
    }

    fn set_online(&self, name: &str, online: bool) -> Result<()> {
        self.source.set_online(name, online)
    }
}

impl Table for CarelessTable {
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
        let all = ScanOptions {
            authorizations: self.all.clone(),
            ..options.clone()
        };
        Ok(Box::new(CarelessScan {
            scan: self.table.scan(ranges, &all)?,
            evaluator: VisibilityEvaluator::new(&options.authorizations),
        }))
    }

    fn properties(&self) -> Result<Properties> {
        self.table.properties()
    }

    fn change_properties(
        &self,
        version: Option<u64>,
        changes: &[(String, Option<String>)],
    ) -> Result<u64> {
        self.table.change_properties(version, changes)
    }

    fn tablets(&self) -> Result<Vec<TabletInfo>> {
        self.table.tablets()
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
