//! Sources that are broken on purpose, one fault each, so that every scenario is seen to fail.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ostrakon_cell::source::{CheckProblem, CheckReport, Progress, WriteOutcome};
use ostrakon_cell::{
    Authorizations, Batch, BulkWriter, CallContext, Capabilities, Capability, ClassInfo, ClassKind,
    CloneOptions, Column, ColumnSelection, ColumnUpdate, CompactOptions, ConditionalMutation,
    ConditionalStatus, Durability, Entry, EntryRef, Error, ErrorKind, Interrupt, IteratorSetting,
    Key, KeyPart, Mutation, MutationBatch, NamespaceInfo, PendingWrite, Properties, PropertyEffect,
    PropertyInfo, PropertyLevel, PropertyOwner, Range, Result, Scan, ScanOptions, Source, Table,
    TableInfo, TableOptions, TabletInfo, TabletLocation, TimeType, VersionedProperties,
    VisibilityExpression,
};
use parking_lot::Mutex;

use crate::reference_model::{MapSnapshot, MapSource};

macro_rules! faults {
    ($($fault:ident: $($caught_by:literal)+;)+) => {
        /// What is wrong with a source.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Fault { Nothing, $($fault),+ }

        /// Each fault, with scenarios that must find it.
        pub(super) const FAULTS: &[(Fault, &[&str])] = &[$((Fault::$fault, &[$($caught_by),+])),+];
    };
}

faults! {
    ForgetsTimeTypes: "T1";
    TakesTakenNames: "T2";
    RenameBreaksHandles: "T3";
    DeleteOnlyHides: "T4";
    ClonesAreEmpty: "T5";
    IgnoresOffline: "T6" "N4";
    IdsAreNames: "T7";
    OfflineClonesAreOld: "T8";
    DropsNul: "W1";
    FirstWins: "W2";
    CutsLongMutations: "W3";
    SwallowsErrors: "W4" "T4" "T6";
    CutsLongValues: "W5";
    LosesSomeBatches: "W6";
    LosesUnsafeWrites: "W7";
    SecondsForMillis: "S1";
    LogicalStandsStill: "S2";
    ClampsTimestamps: "S3";
    ForgetsDeletes: "D1" "D3" "M1";
    IgnoresLabelsOfDeletes: "D2";
    FlushRevivesDeleted: "D3";
    KeepsAllVersions: "V1";
    OneVersionLess: "V2";
    AlwaysOneVersion: "V3";
    FlushDropsVersions: "V4" "I4";
    IgnoresStartsInColumns: "V5";
    IgnoresLabels: "L1";
    StripsBrokenLabels: "L2";
    IgnoresDefaultLabel: "L3";
    IgnoresQualifiers: "C1";
    EndsAreInclusive: "R1" "R2" "R3";
    NoRangeMeansAll: "R4";
    RepeatsOverlaps: "R5";
    FirstThousandRanges: "R6";
    OneBatchOnly: "R7";
    RestartIgnoresRanges: "N1";
    NoSnapshot: "N2";
    IgnoresInterrupts: "N3";
    ScansGoOnAfterErrors: "N3" "N4";
    ScansOutliveTables: "N4";
    ResumesAtTheStart: "N5";
    TearsMutations: "A1";
    ConditionsAlwaysHold: "K1";
    ChecksThenWrites: "K2";
    IgnoresSplits: "P1";
    TakesLongSplits: "P2";
    MergesEverything: "P3";
    DeletesRowsByMarker: "P4";
    CompactionLoses: "M1";
    IgnoresCompactionIterators: "M2";
    CancelComplains: "M3";
    IgnoresScanIterators: "I1";
    IteratorsAreNotLive: "I2";
    TakesUnknownClasses: "I3";
    NeverRemovesProperties: "O1";
    TakesUnknownProperties: "O2";
    DurabilityIsStuck: "O3";
    OwnIsEffective: "O4";
    IgnoresVersions: "O5";
    EverythingIsOfTheTable: "O6";
    InheritsNothing: "O6";
    EverythingHasAnEffect: "O7";
    RefusesHalfAGroup: "O8";
    RefusesEqualPriorities: "I5";
    IgnoresScanOptions: "I6";
    KnowsEveryClass: "I7";
    IgnoresSamplers: "N6";
    CountsRefusedOnly: "Q4";
    ForgetsPrincipals: "X1";
    ForgetsDeadlines: "X2" "X3";
    DeadlinesBeginAnew: "X3";
    LocatesTheFirst: "P5";
    LayoutStandsStill: "P5";
    NamespaceIdsAreNames: "G1";
    TakesTheReservedName: "G2";
    DeletesFullNamespaces: "G3";
    RenamesNamespaceAlone: "G1";
    IgnoresConstraints: "Q1";
    RefusesSilently: "Q1" "Q2";
    TakesUnknownConstraints: "Q3";
    ImportShowsEarly: "B1";
    SortsImports: "B2";
    CheckpointIsTheStore: "Z1";
    CheckSeesGhosts: "Z2";
}

/// Copies by directory, as a disk would keep them.
type Copies = Arc<Mutex<BTreeMap<PathBuf, MapSnapshot>>>;

/// The reference model with one fault. Without it, a source that can do everything.
#[derive(Clone)]
pub(super) struct BrokenSource {
    inner: MapSource,
    fault: Fault,
    copies: Copies,
    submitted: Arc<AtomicU64>,
    /// Keys under delete markers.
    deleted: Arc<Mutex<Vec<Key>>>,
}

impl BrokenSource {
    pub(super) fn new(fault: Fault) -> Self {
        Self {
            inner: MapSource::new(),
            fault,
            copies: Copies::default(),
            submitted: Arc::default(),
            deleted: Arc::default(),
        }
    }

    pub(super) fn open_copy(&self, directory: &Path) -> Result<Arc<dyn Source>> {
        if self.fault == Fault::CheckpointIsTheStore {
            return Ok(Arc::new(self.clone()));
        }
        let copy = Self::new(self.fault);
        copy.inner.restore(&self.copies.lock()[directory]);
        Ok(Arc::new(copy))
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    /// Property changes as the broken source understands them.
    fn twist_properties(
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

struct BrokenTable {
    inner: Arc<dyn Table>,
    source: BrokenSource,
    logical: bool,
}

impl BrokenTable {
    fn is(&self, fault: Fault) -> bool {
        self.source.is(fault)
    }

    /// The updates of a batch as the broken source understands them, mutation by mutation.
    fn twist(&self, batch: &MutationBatch) -> Vec<Vec<Update>> {
        let mut mutations: Vec<Vec<Update>> = Vec::new();
        for (_, update) in batch.updates() {
            if update.first {
                mutations.push(Vec::new());
            }
            let mutation = mutations.last_mut().unwrap();
            let mut key = Key {
                row: update.row.to_vec(),
                family: update.family.to_vec(),
                qualifier: update.qualifier.to_vec(),
                visibility: update.visibility.to_vec(),
                timestamp: update.timestamp.unwrap_or(0),
                deleted: update.deleted,
            };
            let mut timestamp = update.timestamp;
            let mut value = update.value.to_vec();
            match self.source.fault {
                Fault::DropsNul if key.qualifier.ends_with(b"\0") => {
                    key.qualifier.pop();
                }
                Fault::CutsLongMutations if mutation.len() >= 500 => continue,
                Fault::CutsLongValues => value.truncate(1 << 16),
                Fault::SecondsForMillis => timestamp = timestamp.or(Some(1_700_000_000)),
                Fault::LogicalStandsStill if self.logical => timestamp = timestamp.or(Some(1)),
                Fault::ClampsTimestamps => timestamp = timestamp.map(|at| at.max(0)),
                Fault::ForgetsDeletes if key.deleted => continue,
                Fault::IgnoresLabelsOfDeletes if key.deleted => {
                    let labelled = Key {
                        visibility: b"a".to_vec(),
                        ..key.clone()
                    };
                    mutation.push((labelled, timestamp, Vec::new()));
                }
                Fault::FlushRevivesDeleted if key.deleted => {
                    self.source.deleted.lock().push(key.clone());
                }
                Fault::StripsBrokenLabels
                    if VisibilityExpression::parse(&key.visibility).is_err() =>
                {
                    key.visibility.clear();
                }
                _ => {}
            }
            mutation.push((key, timestamp, value));
        }
        if self.is(Fault::FirstWins) {
            mutations.reverse();
        }
        mutations
    }

    fn twist_ranges(&self, ranges: &[Range]) -> Vec<Range> {
        let mut ranges = ranges.to_vec();
        match self.source.fault {
            Fault::NoRangeMeansAll if ranges.is_empty() => ranges.push(Range::all()),
            Fault::FirstThousandRanges => ranges.truncate(1_000),
            Fault::IgnoresStartsInColumns | Fault::EndsAreInclusive => {
                for range in &mut ranges {
                    let (mut start, mut end) = (range.start().cloned(), range.end().cloned());
                    let mut inclusive = range.end_inclusive();
                    if self.is(Fault::EndsAreInclusive) {
                        end = end.map(|end| end.following(KeyPart::Row));
                        inclusive = false;
                    } else if let Some(start) = &mut start {
                        start.timestamp = i64::MAX;
                    }
                    *range = Range::keys(start, true, end, inclusive).unwrap();
                }
            }
            _ => {}
        }
        ranges
    }

    fn twist_options(&self, options: &ScanOptions) -> ScanOptions {
        let mut options = options.clone();
        match self.source.fault {
            Fault::IgnoresLabels => {
                options.authorizations = Authorizations::new(["a", "b", "c"]).unwrap();
            }
            Fault::IgnoresQualifiers => {
                let families = options.columns.columns().iter();
                options.columns = ColumnSelection::new(
                    families.map(|column| Column::family(column.family.clone())),
                );
            }
            Fault::IgnoresScanIterators => options.iterators.clear(),
            Fault::IgnoresScanOptions => options.iterator_options.clear(),
            Fault::IgnoresSamplers => options.sampler = None,
            _ => {}
        }
        options
    }

    /// What the table shows for `ranges`.
    fn read(&self, ranges: &[Range], options: &ScanOptions) -> Result<Vec<Entry>> {
        let mut found = Vec::new();
        let parts: Vec<&[Range]> = if self.is(Fault::RepeatsOverlaps) {
            ranges.chunks(1).collect()
        } else {
            vec![ranges]
        };
        for part in parts {
            let mut scan = self.inner.scan(part, options)?;
            let mut batch = Batch::new();
            while scan.next_batch(&mut batch)? {
                found.extend(batch.iter().map(EntryRef::to_entry));
            }
        }
        found.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(found)
    }
}

/// Key, the timestamp given if any, and value of one update.
type Update = (Key, Option<i64>, Vec<u8>);

fn encode(mutation: &[Update]) -> Result<Mutation> {
    let mut encoded = Mutation::new(mutation.first().map_or(Vec::new(), |one| one.0.row.clone()));
    for (key, timestamp, value) in mutation {
        encoded.update(ColumnUpdate {
            family: &key.family,
            qualifier: &key.qualifier,
            visibility: &key.visibility,
            timestamp: *timestamp,
            value: (!key.deleted).then_some(value.as_slice()),
        })?;
    }
    Ok(encoded)
}

struct Done(WriteOutcome);

impl PendingWrite for Done {
    fn wait(self: Box<Self>) -> Result<WriteOutcome> {
        Ok(self.0)
    }

    fn is_done(&self) -> bool {
        true
    }
}

impl Table for BrokenTable {
    fn id(&self) -> String {
        if self.is(Fault::IdsAreNames) {
            return self.inner.name();
        }
        self.inner.id()
    }

    fn name(&self) -> String {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::all().without(Capability::Sampling)
    }

    fn within(&self, context: &CallContext) -> Result<Arc<dyn Table>> {
        let mut context = context.clone();
        match self.source.fault {
            Fault::ForgetsPrincipals => context.principal = None,
            Fault::ForgetsDeadlines => context.timeout = None,
            _ => {}
        }
        let inner = match self.source.fault {
            Fault::DeadlinesBeginAnew => self.source.inner.table(&self.inner.name())?,
            _ => self.inner.clone(),
        };
        Ok(Arc::new(Self {
            inner: inner.within(&context)?,
            source: self.source.clone(),
            logical: self.logical,
        }))
    }

    fn locate(&self, row: &[u8]) -> Result<TabletLocation> {
        let mut found = self.inner.locate(row)?;
        match self.source.fault {
            Fault::LocatesTheFirst => found = self.inner.locate(b"")?,
            Fault::LayoutStandsStill => found.layout = 1,
            _ => {}
        }
        Ok(found)
    }

    fn submit(
        &self,
        batch: MutationBatch,
        durability: Option<Durability>,
    ) -> Result<Box<dyn PendingWrite>> {
        let number = self.source.submitted.fetch_add(1, Ordering::Relaxed);
        let lost = match self.source.fault {
            Fault::LosesSomeBatches => number % 37 == 36,
            Fault::LosesUnsafeWrites => durability == Some(Durability::None),
            _ => false,
        };
        if lost {
            return Ok(Box::new(Done(WriteOutcome::default())));
        }
        let mutations = self.twist(&batch);
        let mut whole = MutationBatch::new();
        for mutation in &mutations {
            if self.is(Fault::TearsMutations) {
                for update in mutation {
                    let mut piece = MutationBatch::new();
                    piece.push(&encode(std::slice::from_ref(update))?)?;
                    self.inner.submit(piece, durability)?.wait()?;
                }
            } else {
                whole.push(&encode(mutation)?)?;
            }
        }
        let outcome = self.inner.submit(whole, durability);
        if self.is(Fault::SwallowsErrors) && outcome.is_err() {
            return Ok(Box::new(Done(WriteOutcome::default())));
        }
        if self.is(Fault::RefusesSilently) {
            outcome?.wait()?;
            return Ok(Box::new(Done(WriteOutcome::default())));
        }
        if self.is(Fault::CountsRefusedOnly) {
            let mut outcome = outcome?.wait()?;
            outcome.refused.clear();
            return Ok(Box::new(Done(outcome)));
        }
        outcome
    }

    fn write_conditionally(
        &self,
        mut mutations: Vec<ConditionalMutation>,
        authorizations: &Authorizations,
        durability: Option<Durability>,
    ) -> Result<Vec<ConditionalStatus>> {
        match self.source.fault {
            Fault::ConditionsAlwaysHold => {
                for one in &mut mutations {
                    one.conditions.clear();
                }
            }
            Fault::ChecksThenWrites => {
                let checks = mutations
                    .iter()
                    .map(|one| ConditionalMutation {
                        mutation: Mutation::new(one.mutation.row()),
                        conditions: one.conditions.clone(),
                    })
                    .collect();
                let answers = self
                    .inner
                    .write_conditionally(checks, authorizations, durability)?;
                std::thread::sleep(std::time::Duration::from_micros(200));
                for (one, answer) in mutations.iter().zip(&answers) {
                    if *answer == ConditionalStatus::Accepted {
                        let mut batch = MutationBatch::new();
                        batch.push(&one.mutation)?;
                        self.inner.submit(batch, durability)?.wait()?;
                    }
                }
                return Ok(answers);
            }
            _ => {}
        }
        self.inner
            .write_conditionally(mutations, authorizations, durability)
    }

    fn scan(&self, ranges: &[Range], options: &ScanOptions) -> Result<Box<dyn Scan>> {
        let (ranges, options) = (self.twist_ranges(ranges), self.twist_options(options));
        Ok(Box::new(BrokenScan {
            found: self.read(&ranges, &options)?,
            table: Self {
                inner: self.inner.clone(),
                source: self.source.clone(),
                logical: self.logical,
            },
            ranges,
            options,
            handed_out: 0,
            last: None,
            failed: None,
        }))
    }

    fn properties(&self) -> Result<Properties> {
        self.inner.properties()
    }

    fn describe_properties(&self) -> Result<BTreeMap<String, PropertyInfo>> {
        let mut all = self.inner.describe_properties()?;
        for info in all.values_mut() {
            match self.source.fault {
                Fault::EverythingIsOfTheTable => info.level = PropertyLevel::Table,
                Fault::EverythingHasAnEffect => info.effect = PropertyEffect::Full,
                _ => {}
            }
        }
        Ok(all)
    }

    fn own_properties(&self) -> Result<VersionedProperties> {
        let mut own = self.inner.own_properties()?;
        if self.is(Fault::OwnIsEffective) {
            own.properties = self.inner.properties()?;
        }
        Ok(own)
    }

    fn change_properties(
        &self,
        version: Option<u64>,
        changes: &[(String, Option<String>)],
    ) -> Result<u64> {
        let changes = self.source.twist_properties(changes.to_vec());
        let version = version.filter(|_| !self.is(Fault::IgnoresVersions));
        let enabled = |(name, _): &(String, _)| name == "table.groups.enabled";
        if self.is(Fault::RefusesHalfAGroup) && changes.iter().any(enabled) && changes.len() == 1 {
            return Err(Error::invalid("a group without families"));
        }
        let is_of_20 = |(_, value): &&(String, Option<String>)| {
            value
                .as_deref()
                .is_some_and(|value| value.starts_with("20,"))
        };
        if self.is(Fault::RefusesEqualPriorities) && changes.iter().filter(is_of_20).count() > 1 {
            return Err(Error::invalid("equal priorities"));
        }
        self.inner.change_properties(version, &changes)
    }

    fn tablets(&self) -> Result<Vec<TabletInfo>> {
        self.inner.tablets()
    }

    fn add_splits(&self, rows: &[Vec<u8>]) -> Result<()> {
        let mut rows = rows.to_vec();
        match self.source.fault {
            Fault::IgnoresSplits => rows.clear(),
            Fault::TakesLongSplits => rows.retain(|row| row.len() < 10_000),
            _ => {}
        }
        self.inner.add_splits(&rows)
    }

    fn merge(&self, start: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
        if self.is(Fault::MergesEverything) {
            return self.inner.merge(None, None);
        }
        self.inner.merge(start, end)
    }

    fn delete_rows(&self, start: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
        if self.is(Fault::DeletesRowsByMarker) {
            ostrakon_cell::source::check_row_range(start, end)?;
            let rows = [Range::tablet(start, end)];
            let mut batch = MutationBatch::new();
            for entry in self.read(&rows, &ScanOptions::default())? {
                let mut key = entry.key;
                key.deleted = true;
                let timestamp = Some(key.timestamp + 1);
                batch.push(&encode(&[(key, timestamp, Vec::new())])?)?;
            }
            return self.inner.submit(batch, None)?.wait().map(drop);
        }
        self.inner.delete_rows(start, end)
    }

    fn flush(&self, wait: bool) -> Result<()> {
        match self.source.fault {
            Fault::FlushDropsVersions => {
                let newest = IteratorSetting::new(5, "newest", "VersioningIterator");
                self.inner.compact(&CompactOptions {
                    iterators: vec![newest],
                    ..CompactOptions::default()
                })?;
            }
            Fault::FlushRevivesDeleted => {
                let mut batch = MutationBatch::new();
                for mut key in std::mem::take(&mut *self.source.deleted.lock()) {
                    key.deleted = false;
                    let timestamp = Some(key.timestamp + 1);
                    batch.push(&encode(&[(key, timestamp, b"old".to_vec())])?)?;
                }
                self.inner.submit(batch, None)?.wait()?;
            }
            _ => {}
        }
        self.inner.flush(wait)
    }

    fn compact(&self, options: &CompactOptions) -> Result<()> {
        let mut options = options.clone();
        if self.is(Fault::IgnoresCompactionIterators) {
            options.iterators.clear();
        }
        self.inner.compact(&options)?;
        if self.is(Fault::CompactionLoses) {
            self.inner.delete_rows(Some(b"200"), Some(b"210"))?;
        }
        Ok(())
    }

    fn cancel_compaction(&self) -> Result<()> {
        if self.is(Fault::CancelComplains) {
            return Err(Error::not_found("no compaction is under way"));
        }
        self.inner.cancel_compaction()
    }

    fn bulk_writer(&self) -> Result<Box<dyn BulkWriter>> {
        Ok(Box::new(BrokenBulkWriter {
            inner: self.inner.bulk_writer()?,
            table: self.inner.clone(),
            fault: self.source.fault,
            early: 0,
            sorted: Vec::new(),
        }))
    }
}

struct BrokenScan {
    table: BrokenTable,
    ranges: Vec<Range>,
    options: ScanOptions,
    found: Vec<Entry>,
    handed_out: usize,
    last: Option<Key>,
    failed: Option<Error>,
}

impl BrokenScan {
    fn check(&self) -> Result<()> {
        let interrupted = self
            .options
            .interrupt
            .as_ref()
            .is_some_and(Interrupt::is_set);
        if interrupted && !self.table.is(Fault::IgnoresInterrupts) {
            return Err(Error::new(ErrorKind::Cancelled, "interrupted"));
        }
        if self.options.timeout == Some(std::time::Duration::ZERO) {
            return Err(Error::new(ErrorKind::TimedOut, "no time"));
        }
        if self.table.is(Fault::ScansOutliveTables) {
            return Ok(());
        }
        self.table
            .inner
            .scan(&[], &ScanOptions::default())
            .map(drop)
    }

    fn read(&mut self, out: &mut Batch) -> Result<bool> {
        if self.table.is(Fault::OneBatchOnly) && self.handed_out > 0 {
            return Ok(false);
        }
        self.check()?;
        if self.table.is(Fault::NoSnapshot) {
            // Reads on behind the last key in what is there by now.
            self.found = self.table.read(&self.ranges, &self.options)?;
            let last = self.last.as_ref();
            self.found
                .retain(|entry| last.is_none_or(|last| entry.key > *last));
            self.handed_out = 0;
        }
        for entry in self.found.iter().skip(self.handed_out) {
            if out.is_full(self.options.batch) {
                break;
            }
            out.push(entry.key.as_ref(), &entry.value)?;
        }
        self.handed_out += out.len();
        if !out.is_empty() {
            self.last = Some(out.key(out.len() - 1).to_key());
        }
        Ok(!out.is_empty())
    }

    fn start_over(&mut self, ranges: &[Range]) -> Result<()> {
        if !self.table.is(Fault::RestartIgnoresRanges) {
            self.ranges = self.table.twist_ranges(ranges);
        }
        self.check()?;
        self.found = self.table.read(&self.ranges, &self.options)?;
        self.handed_out = 0;
        self.last = None;
        Ok(())
    }

    fn settled<T>(&mut self, outcome: Result<T>) -> Result<T> {
        self.failed = outcome.as_ref().err().map(Error::duplicate);
        if self.table.is(Fault::ScansGoOnAfterErrors) {
            self.failed = None;
            self.options.interrupt = None;
        }
        outcome
    }
}

impl Scan for BrokenScan {
    fn next_batch(&mut self, out: &mut Batch) -> Result<bool> {
        out.clear();
        if let Some(error) = &self.failed {
            return Err(error.duplicate());
        }
        let read = self.read(out);
        self.settled(read)
    }

    fn restart(&mut self, ranges: &[Range]) -> Result<()> {
        let restarted = self.start_over(ranges);
        self.settled(restarted)
    }

    fn unread(&self) -> Result<Vec<Range>> {
        if !self.options.resumable {
            return Err(Error::invalid("nothing was kept"));
        }
        let merged = Range::merge(self.ranges.clone());
        let last = self.last.as_ref();
        let last = last.filter(|_| !self.table.is(Fault::ResumesAtTheStart));
        if self.handed_out == self.found.len() {
            return Ok(Vec::new());
        }
        let left = merged.into_iter();
        Ok(left
            .filter_map(|range| match last {
                Some(last) => range.after(last.as_ref()),
                None => Some(range),
            })
            .collect())
    }
}

struct BrokenBulkWriter {
    inner: Box<dyn BulkWriter>,
    table: Arc<dyn Table>,
    fault: Fault,
    early: u64,
    sorted: Vec<Entry>,
}

impl BulkWriter for BrokenBulkWriter {
    fn append(&mut self, batch: &Batch) -> Result<()> {
        match self.fault {
            Fault::ImportShowsEarly => {
                let mut at_once = self.table.bulk_writer()?;
                at_once.append(batch)?;
                self.early += at_once.finish()?;
                Ok(())
            }
            Fault::SortsImports => {
                self.sorted.extend(batch.iter().map(EntryRef::to_entry));
                self.sorted.sort_by(|a, b| a.key.cmp(&b.key));
                Ok(())
            }
            _ => self.inner.append(batch),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<u64> {
        let mut batch = Batch::new();
        for entry in &self.sorted {
            batch.push(entry.key.as_ref(), &entry.value)?;
        }
        self.inner.append(&batch)?;
        Ok(self.inner.finish()? + self.early)
    }
}
