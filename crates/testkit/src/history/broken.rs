//! Sources whose calls are not one step, so that the checker is seen to fail.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::source::{CheckReport, Progress};
use ostrakon_cell::{
    Authorizations, Capabilities, CloneOptions, ConditionalMutation, ConditionalStatus, Durability,
    MutationBatch, PendingWrite, Properties, PropertyChange, PropertyOwner, Range, Result, Scan,
    ScanOptions, Scanner, Source, Table, TableInfo, TableOptions, TabletInfo, VersionedProperties,
};

use crate::reference_model::MapSource;

/// What is torn in two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Torn {
    /// Conditions are checked, then the mutation is written.
    ConditionalWrites,
    /// The name is looked up, then what stands there is renamed or deleted, whatever it is by now.
    Names,
    /// A clone lacks what its origin holds.
    Clones,
    /// The version is compared, then the properties of the table are changed.
    Properties,
}

/// The reference model with one call torn.
pub(super) struct TornSource {
    inner: MapSource,
    torn: Torn,
}

struct TornTable {
    inner: Arc<dyn Table>,
    torn: Torn,
}

/// Time for others to come between.
fn pause() {
    std::thread::sleep(Duration::from_micros(300));
}

impl TornSource {
    pub(super) fn shared(torn: Torn) -> Arc<dyn Source> {
        Arc::new(Self {
            inner: MapSource::new(),
            torn,
        })
    }
}

impl Source for TornSource {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn tables(&self) -> Result<Vec<TableInfo>> {
        self.inner.tables()
    }

    fn create_table(&self, name: &str, options: &TableOptions) -> Result<()> {
        self.inner.create_table(name, options)
    }

    fn delete_table(&self, name: &str) -> Result<()> {
        if self.torn == Torn::Names {
            self.inner.table(name)?;
            pause();
            // It was there: that it is gone by now is what was asked for.
            let _ = self.inner.delete_table(name);
            return Ok(());
        }
        self.inner.delete_table(name)
    }

    fn rename_table(&self, from: &str, to: &str) -> Result<()> {
        self.inner.rename_table(from, to)
    }

    fn clone_table(&self, from: &str, to: &str, options: &CloneOptions) -> Result<()> {
        if self.torn == Torn::Clones {
            self.inner.clone_table(from, to, options)?;
            return self.inner.table(to)?.delete_rows(None, None);
        }
        self.inner.clone_table(from, to, options)
    }

    fn table(&self, name: &str) -> Result<Arc<dyn Table>> {
        let inner = self.inner.table(name)?;
        match self.torn {
            Torn::ConditionalWrites | Torn::Properties => Ok(Arc::new(TornTable {
                inner,
                torn: self.torn,
            })),
            Torn::Names | Torn::Clones => Ok(inner),
        }
    }

    fn own_properties(&self, owner: PropertyOwner<'_>) -> Result<VersionedProperties> {
        self.inner.own_properties(owner)
    }

    fn change_properties(
        &self,
        owner: PropertyOwner<'_>,
        version: Option<u64>,
        changes: &[PropertyChange],
    ) -> Result<u64> {
        self.inner.change_properties(owner, version, changes)
    }

    fn set_online(&self, name: &str, online: bool) -> Result<()> {
        self.inner.set_online(name, online)
    }

    fn checkpoint(&self, directory: &Path) -> Result<()> {
        self.inner.checkpoint(directory)
    }

    fn check(&self, progress: Progress<'_>) -> Result<CheckReport> {
        self.inner.check(progress)
    }
}

impl Table for TornTable {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn id(&self) -> String {
        self.inner.id()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn submit(
        &self,
        batch: MutationBatch,
        durability: Option<Durability>,
    ) -> Result<Box<dyn PendingWrite>> {
        self.inner.submit(batch, durability)
    }

    fn advance_time(&self) -> Result<()> {
        self.inner.advance_time()
    }

    fn write_conditionally(
        &self,
        mutations: Vec<ConditionalMutation>,
        authorizations: &Authorizations,
        durability: Option<Durability>,
    ) -> Result<Vec<ConditionalStatus>> {
        if self.torn != Torn::ConditionalWrites {
            let inner = &self.inner;
            return inner.write_conditionally(mutations, authorizations, durability);
        }
        let mut answers = Vec::new();
        for one in mutations {
            // The same conditions around a mutation of another row: they are looked at, and nothing happens.
            let row = Range::row(one.mutation.row());
            let entries = Scanner::new(self.inner.clone()).range(row).entries()?;
            let value = entries.first().map(|entry| entry.value.clone());
            let holds = one
                .conditions
                .iter()
                .all(|condition| condition.value == value);
            pause();
            if holds {
                let mut batch = MutationBatch::new();
                batch.push(&one.mutation)?;
                self.inner.submit(batch, durability)?.wait()?;
            }
            answers.push(if holds {
                ConditionalStatus::Accepted
            } else {
                ConditionalStatus::Rejected
            });
        }
        Ok(answers)
    }

    fn scan(&self, ranges: &[Range], options: &ScanOptions) -> Result<Box<dyn Scan>> {
        self.inner.scan(ranges, options)
    }

    fn properties(&self) -> Result<Properties> {
        self.inner.properties()
    }

    fn own_properties(&self) -> Result<VersionedProperties> {
        self.inner.own_properties()
    }

    fn change_properties(&self, version: Option<u64>, changes: &[PropertyChange]) -> Result<u64> {
        if self.torn == Torn::Properties
            && version.is_some_and(|version| {
                let own = self.inner.own_properties();
                own.is_ok_and(|own| own.version == version)
            })
        {
            pause();
            return self.inner.change_properties(None, changes);
        }
        self.inner.change_properties(version, changes)
    }

    fn tablets(&self) -> Result<Vec<TabletInfo>> {
        self.inner.tablets()
    }

    fn add_splits(&self, rows: &[Vec<u8>]) -> Result<()> {
        self.inner.add_splits(rows)
    }

    fn merge(&self, start: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
        self.inner.merge(start, end)
    }

    fn delete_rows(&self, start: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
        self.inner.delete_rows(start, end)
    }

    fn flush(&self, wait: bool) -> Result<()> {
        self.inner.flush(wait)
    }

    fn compact(&self, options: &ostrakon_cell::CompactOptions) -> Result<()> {
        self.inner.compact(options)
    }

    fn cancel_compaction(&self) -> Result<()> {
        self.inner.cancel_compaction()
    }
}
