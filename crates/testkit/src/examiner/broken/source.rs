//! The source: tables, namespaces, properties and checks.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ostrakon_cell::source::{CheckProblem, CheckReport, Progress};
use ostrakon_cell::{
    Capabilities, Capability, ClassInfo, ClassKind, CloneOptions, Error, ErrorKind, Key,
    NamespaceInfo, Properties, PropertyOwner, Result, ScanOptions, Source, Table, TableInfo,
    TableOptions, TimeType, VersionedProperties,
};
use parking_lot::Mutex;

use super::faults::Fault;
use super::table::BrokenTable;
use crate::reference_model::{MapSnapshot, MapSource};

/// Copies by directory, as a disk would keep them.
type Copies = Arc<Mutex<BTreeMap<PathBuf, MapSnapshot>>>;

/// The reference model with one fault. Without it, a source that can do everything.
#[derive(Clone)]
pub(in crate::examiner) struct BrokenSource {
    pub(super) inner: MapSource,
    pub(super) fault: Fault,
    copies: Copies,
    pub(super) submitted: Arc<AtomicU64>,
    /// Keys under delete markers.
    pub(super) deleted: Arc<Mutex<Vec<Key>>>,
}

impl BrokenSource {
    pub(in crate::examiner) fn new(fault: Fault) -> Self {
        Self {
            inner: MapSource::new(),
            fault,
            copies: Copies::default(),
            submitted: Arc::default(),
            deleted: Arc::default(),
        }
    }

    pub(in crate::examiner) fn open_copy(&self, directory: &Path) -> Result<Arc<dyn Source>> {
        if self.fault == Fault::CheckpointIsTheStore {
            return Ok(Arc::new(self.clone()));
        }
        let copy = Self::new(self.fault);
        copy.inner.restore(&self.copies.lock()[directory]);
        Ok(Arc::new(copy))
    }

    pub(super) fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    /// Property changes as the broken source understands them.
    pub(super) fn twist_properties(
        &self,
        changes: Vec<(String, Option<String>)>,
    ) -> Vec<(String, Option<String>)> {
        let mut changes = changes;
        changes.retain(|(name, value)| {
            let value = value.as_deref();
            match self.fault {
                Fault::IgnoresDefaultLabel => !name.ends_with("visibility.default"),
                Fault::IteratorsAreNotLive => !name.starts_with("table.iterator.scan.newest"),
                Fault::IgnoresConstraints => !name.starts_with("table.constraint.7"),
                Fault::TakesUnknownConstraints => {
                    !value.is_some_and(|class| class.contains("NoSuchConstraint"))
                }
                Fault::TakesUnknownClasses => !value.is_some_and(|class| class.contains("NoSuch")),
                Fault::NeverRemovesProperties => value.is_some(),
                Fault::TakesUnknownProperties => name != "table.spilt.threshold",
                Fault::DurabilityIsStuck => name != "table.durability",
                _ => true,
            }
        });
        if self.is(Fault::OneVersionLess) {
            for (name, value) in &mut changes {
                if name.ends_with("maxVersions") && value.as_deref() == Some("3") {
                    *value = Some("2".to_owned());
                }
            }
        }
        changes
    }
}

fn applied(properties: &Properties) -> Vec<(String, Option<String>)> {
    let pair = |(name, value): (&String, &String)| (name.clone(), Some(value.clone()));
    properties.iter().map(pair).collect()
}

impl Source for BrokenSource {
    fn capabilities(&self) -> Capabilities {
        Capabilities::all().without(Capability::Sampling)
    }

    fn tables(&self) -> Result<Vec<TableInfo>> {
        let mut tables = self.inner.tables()?;
        tables.retain(|table| !table.name.starts_with("hidden"));
        if self.is(Fault::ForgetsTimeTypes) {
            for table in &mut tables {
                table.time_type = TimeType::Millis;
            }
        }
        Ok(tables)
    }

    fn create_table(&self, name: &str, options: &TableOptions) -> Result<()> {
        let mut options = options.clone();
        let changes = self.twist_properties(applied(&options.properties));
        options.properties = changes
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        match self.fault {
            Fault::TakesTakenNames if self.inner.table(name).is_ok() => return Ok(()),
            Fault::KeepsAllVersions => options.without_default_iterators = true,
            Fault::AlwaysOneVersion => options.without_default_iterators = false,
            Fault::IgnoresSplits => options.splits.clear(),
            Fault::IgnoresOffline => options.offline = false,
            _ => {}
        }
        self.inner.create_table(name, &options)
    }

    fn delete_table(&self, name: &str) -> Result<()> {
        if self.is(Fault::DeleteOnlyHides) {
            let number = self.submitted.fetch_add(1, Ordering::Relaxed);
            return self.inner.rename_table(name, &format!("hidden{number}"));
        }
        self.inner.delete_table(name)
    }

    fn rename_table(&self, from: &str, to: &str) -> Result<()> {
        if self.is(Fault::RenameBreaksHandles) {
            self.inner.clone_table(from, to, &CloneOptions::default())?;
            return self.inner.delete_table(from);
        }
        self.inner.rename_table(from, to)
    }

    fn clone_table(&self, from: &str, to: &str, options: &CloneOptions) -> Result<()> {
        self.inner.clone_table(from, to, options)?;
        let offline = self.inner.table(from)?.scan(&[], &ScanOptions::default());
        if self.is(Fault::OfflineClonesAreOld) && offline.is_err() {
            self.inner.table(to)?.delete_rows(Some(b"a"), None)?;
        }
        if self.is(Fault::ClonesAreEmpty) {
            self.inner.table(to)?.delete_rows(None, None)?;
        }
        Ok(())
    }

    fn table(&self, name: &str) -> Result<Arc<dyn Table>> {
        let info = self.inner.tables()?;
        let logical = info
            .iter()
            .any(|info| info.name == name && info.time_type == TimeType::Logical);
        Ok(Arc::new(BrokenTable {
            inner: self.inner.table(name)?,
            source: self.clone(),
            logical,
        }))
    }

    fn set_online(&self, name: &str, online: bool) -> Result<()> {
        self.inner
            .set_online(name, online || self.is(Fault::IgnoresOffline))
    }

    fn namespaces(&self) -> Result<Vec<NamespaceInfo>> {
        let mut listed = self.inner.namespaces()?;
        if self.is(Fault::NamespaceIdsAreNames) {
            for one in &mut listed {
                one.id.clone_from(&one.name);
            }
        }
        Ok(listed)
    }

    fn find_class(&self, kind: ClassKind, class: &str) -> Result<Option<ClassInfo>> {
        let found = self.inner.find_class(kind, class)?;
        if self.is(Fault::KnowsEveryClass) && found.is_none() {
            return self
                .inner
                .find_class(ClassKind::Iterator, "VersioningIterator");
        }
        Ok(found)
    }

    fn create_namespace(&self, name: &str) -> Result<()> {
        if self.is(Fault::TakesTheReservedName) && name == "accumulo" {
            return Ok(());
        }
        self.inner.create_namespace(name)
    }

    fn delete_namespace(&self, name: &str) -> Result<()> {
        if self.is(Fault::DeletesFullNamespaces) {
            for table in self.inner.tables()? {
                if table.name.starts_with(&format!("{name}.")) {
                    self.inner.delete_table(&table.name)?;
                }
            }
        }
        self.inner.delete_namespace(name)
    }

    fn rename_namespace(&self, from: &str, to: &str) -> Result<()> {
        if self.is(Fault::RenamesNamespaceAlone) {
            return self.inner.create_namespace(to);
        }
        self.inner.rename_namespace(from, to)
    }

    fn own_properties(&self, owner: PropertyOwner<'_>) -> Result<VersionedProperties> {
        self.inner.own_properties(owner)
    }

    fn change_properties(
        &self,
        owner: PropertyOwner<'_>,
        version: Option<u64>,
        changes: &[(String, Option<String>)],
    ) -> Result<u64> {
        if self.is(Fault::InheritsNothing) {
            return Ok(version.unwrap_or_default() + 1);
        }
        self.inner.change_properties(owner, version, changes)
    }

    fn checkpoint(&self, directory: &Path) -> Result<()> {
        let mut copies = self.copies.lock();
        if copies.contains_key(directory) {
            return Err(Error::new(ErrorKind::AlreadyExists, "there already"));
        }
        copies.insert(directory.to_owned(), self.inner.snapshot());
        Ok(())
    }

    fn check(&self, progress: Progress<'_>) -> Result<CheckReport> {
        if !progress(0, 1) {
            return Err(Error::new(ErrorKind::Cancelled, "told to stop"));
        }
        let mut report = CheckReport {
            files: 1,
            bytes: 1,
            ..CheckReport::default()
        };
        for table in self.inner.tables()? {
            for tablet in self.inner.table(&table.name)?.tablets()? {
                report.entries += tablet.entries;
            }
        }
        if self.is(Fault::CheckSeesGhosts) {
            report.problems.push(CheckProblem {
                file: "ghost".to_owned(),
                table: None,
                message: "not there".to_owned(),
            });
        }
        Ok(report)
    }
}
