//! A table: writes, properties, tablets, flushes and compactions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ostrakon_cell::source::{FailedExtent, WriteOutcome};
use ostrakon_cell::{
    Authorizations, BulkWriter, CallContext, Capabilities, Capability, CompactOptions,
    ConditionalMutation, ConditionalStatus, Durability, Error, ErrorKind, IteratorSetting, Key,
    Mutation, MutationBatch, PendingWrite, Properties, PropertyEffect, PropertyInfo, PropertyLevel,
    Range, Result, Scan, ScanOptions, Source, Table, TabletInfo, TabletLocation,
    VersionedProperties,
};

use super::bulk::BrokenBulkWriter;
use super::faults::Fault;
use super::scan::BrokenScan;
use super::source::BrokenSource;
use super::twist::{Update, encode};

pub(super) struct BrokenTable {
    pub(super) inner: Arc<dyn Table>,
    pub(super) source: BrokenSource,
    pub(super) logical: bool,
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

/// Whether the row of a mutation lies on a server that does not respond.
fn is_elsewhere(mutation: &[Update]) -> bool {
    mutation
        .iter()
        .any(|(key, _, _)| key.row.last() > Some(&b'2'))
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
        let mut skipped = 0;
        for mutation in &mutations {
            if self.is(Fault::AppliesPartly) && is_elsewhere(mutation) {
                skipped += 1;
                continue;
            }
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
        if skipped > 0 {
            let mut outcome = outcome?.wait()?;
            outcome.failed.push(FailedExtent {
                rows: (Some(b"m".to_vec()), None),
                applied: 0,
                kind: ErrorKind::Unavailable,
                message: "the server of a tablet does not respond".to_owned(),
            });
            return Ok(Box::new(Done(outcome)));
        }
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

    fn advance_time(&self) -> Result<()> {
        match self.source.fault {
            Fault::TimeStandsStill => Ok(()),
            _ => self.inner.advance_time(),
        }
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

    fn divide(&self, ranges: &[Range], most: usize) -> Result<Vec<Vec<Range>>> {
        let mut parts = self.inner.divide(ranges, most)?;
        match self.source.fault {
            Fault::GivesPartsTwice if most > 1 => parts.extend(parts.clone()),
            Fault::LosesParts if most > 1 => parts = vec![Range::merge(ranges[1..].to_vec())],
            Fault::DividesRows if most > 1 => {
                let middle = Some(Key::new("001000", "f", "2"));
                let halves = [
                    Range::keys(None, true, middle.clone(), false)?,
                    Range::keys(middle, true, None, true)?,
                ];
                let clip = |half: &Range| ranges.iter().filter_map(|one| one.clip(half)).collect();
                parts = halves.iter().map(clip).collect();
            }
            _ => {}
        }
        Ok(parts)
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
