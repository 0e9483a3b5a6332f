//! A table's implementation of the source contract.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use ostrakon_cell::source::{Tick, check_row_range};
use ostrakon_cell::{
    Activity, Authorizations, BulkWriter, CallContext, Capabilities, Capability, CompactOptions,
    ConditionalMutation, ConditionalStatus, Durability, ImportDirectoryOptions, ImportReport,
    MutationBatch, PendingWrite, Problem, Properties, PropertyChange, PropertyInfo, Range, Scan,
    ScanOptions, Table, TabletInfo, TabletLocation, VersionedProperties,
};

use super::bulk::BulkImport;
use super::caller::Caller;
use super::core::TableCore;
use crate::catalog::{CatalogTransaction, Fence, FileId};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::properties::effective;
use crate::read::{Readable, Snapshot, divide, start_parts, start_scan};

/// A handle to a table of an open store.
pub(crate) struct TableHandle(pub(crate) Arc<TableCore>, pub(crate) Caller);

/// What a store supports: everything except samples.
pub(crate) fn capabilities() -> Capabilities {
    Capabilities::all().without(Capability::Sampling)
}

impl TableHandle {
    /// Starts reading, within the caller's time.
    fn start<T>(
        &self,
        options: &ScanOptions,
        start: impl FnOnce(&ScanOptions) -> StoreResult<T>,
    ) -> StoreResult<T> {
        self.1.told(self.1.check())?;
        self.0.check_online()?;
        if let Some((class, _)) = &options.sampler {
            return Err(Error::new(
                ErrorKind::SampleNotPresent,
                "the table keeps no sample: scan without a sampler",
            )
            .with("table", self.name())
            .with("class", class));
        }
        let started = match self.1.deadline() {
            None => start(options),
            Some(deadline) => {
                let left = deadline.left();
                let timeout = options.timeout.map_or(left, |timeout| timeout.min(left));
                start(&ScanOptions {
                    timeout: Some(timeout),
                    ..options.clone()
                })
            }
        };
        self.1.told(started)
    }
}

impl Table for TableHandle {
    fn name(&self) -> String {
        self.0.status().name.to_string()
    }

    fn id(&self) -> String {
        self.0.id().to_string()
    }

    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    fn within(&self, context: &CallContext) -> StoreResult<Arc<dyn Table>> {
        let caller = self.1.within(context, &self.0.context);
        Ok(Arc::new(Self(self.0.clone(), caller)))
    }

    fn submit(
        &self,
        batch: MutationBatch,
        durability: Option<Durability>,
    ) -> StoreResult<Box<dyn PendingWrite>> {
        self.1.told(self.0.submit_batch(batch, durability, &self.1))
    }

    fn advance_time(&self) -> StoreResult<()> {
        self.1.told(self.1.check())?;
        self.0.check_online()?;
        self.0.time.advance();
        Ok(())
    }

    fn tick_every(&self, period: Duration, tick: Weak<dyn Tick>) -> bool {
        self.0.context.timer.every(period, tick)
    }

    fn batch_buffer(&self, bytes: usize) -> Vec<u8> {
        self.0.context.buffers.take(bytes)
    }

    fn write_conditionally(
        &self,
        mutations: Vec<ConditionalMutation>,
        authorizations: &Authorizations,
        durability: Option<Durability>,
    ) -> StoreResult<Vec<ConditionalStatus>> {
        self.1.told(self.1.check())?;
        self.0.check_online()?;
        let written = self
            .0
            .write_if(&mutations, authorizations, durability, &self.1);
        self.1.told(written)
    }

    fn scan(&self, ranges: &[Range], options: &ScanOptions) -> StoreResult<Box<dyn Scan>> {
        self.start(options, |options| {
            start_scan(self.0.clone(), ranges, options)
        })
    }

    fn divide(&self, ranges: &[Range], most: usize) -> StoreResult<Vec<Vec<Range>>> {
        self.1.told(self.1.check())?;
        self.0.check_online()?;
        divide(&self.0.snapshot(), ranges, most)
    }

    fn scan_parts(
        &self,
        parts: &[Vec<Range>],
        options: &ScanOptions,
    ) -> StoreResult<Vec<Box<dyn Scan>>> {
        self.start(options, |options| {
            let table: Arc<dyn Readable> = self.0.clone();
            start_parts(&table, parts, options)
        })
    }

    fn properties(&self) -> StoreResult<Properties> {
        self.0.check_open()?;
        Ok(effective(&self.0.config().set))
    }

    fn describe_properties(&self) -> StoreResult<BTreeMap<String, PropertyInfo>> {
        self.0.check_open()?;
        let inherited = self.0.context.inherited.read();
        let status = self.0.status();
        Ok(inherited.describe(status.namespace, &status.properties))
    }

    fn own_properties(&self) -> StoreResult<VersionedProperties> {
        self.0.check_open()?;
        let status = self.0.status();
        Ok(VersionedProperties {
            version: status.properties_version,
            properties: Properties::clone(&status.properties),
        })
    }

    fn change_properties(
        &self,
        version: Option<u64>,
        changes: &[PropertyChange],
    ) -> StoreResult<u64> {
        self.1.told(self.1.check())?;
        self.0.set_properties(version, changes)
    }

    fn problems(&self) -> StoreResult<Vec<Problem>> {
        self.0.check_open()?;
        Ok(self.0.problems())
    }

    fn tablets(&self) -> StoreResult<Vec<TabletInfo>> {
        self.0.check_open()?;
        let Snapshot {
            version, memtables, ..
        } = self.0.snapshot();
        let (mut entries_before, mut bytes_before) = (0, 0);
        let tablets = version.tablets().iter().map(|tablet| {
            let (mut entries, mut bytes) = (0, 0);
            for memtable in &memtables {
                let counted = memtable.count_up_to(tablet.extent.through.as_deref())?;
                entries += counted.0;
                bytes += counted.1;
            }
            let memory_entries = entries - std::mem::replace(&mut entries_before, entries);
            let memory_bytes = bytes - std::mem::replace(&mut bytes_before, bytes);
            Ok(TabletInfo {
                previous_end: tablet.extent.after.clone(),
                end: tablet.extent.through.clone(),
                files: tablet.files.len() as u64,
                entries: tablet.entries() + memory_entries,
                bytes: tablet.bytes(),
                memory_entries,
                memory_bytes,
                location: "local".to_owned(),
            })
        });
        tablets.collect()
    }

    fn locate(&self, row: &[u8]) -> StoreResult<TabletLocation> {
        self.0.check_open()?;
        let data = self.0.data.read();
        let (layout, version) = (data.version.clone(), data.layout_version);
        drop(data);
        let tablet = layout.tablets().get(layout.position(row)).ok_or_else(|| {
            // It was deleted just before this call.
            Error::no_table("the table was deleted").with("table", self.name())
        })?;
        let extent = &tablet.extent;
        Ok(TabletLocation {
            rows: (extent.after.clone(), extent.through.clone()),
            location: "local".to_owned(),
            layout: version,
        })
    }

    fn newest_timestamp(&self) -> StoreResult<Option<i64>> {
        self.1.told(self.1.check())?;
        self.1.told(self.0.newest_timestamp())
    }

    fn add_splits(&self, rows: &[Vec<u8>]) -> StoreResult<()> {
        self.1.told(self.1.check())?;
        self.0.writable()?;
        let longest = self.0.config().split_row_max;
        if let Some(row) = rows
            .iter()
            .find(|row| row.len() > longest || row.is_empty())
        {
            return Err(Error::invalid(format!(
                "a split point has 1 to {longest} bytes (table.split.endrow.size.max)"
            ))
            .with("bytes", row.len()));
        }
        self.0.split_at(rows)
    }

    fn merge(&self, start: Option<&[u8]>, end: Option<&[u8]>) -> StoreResult<()> {
        check_row_range(start, end)?;
        self.1.told(self.1.check())?;
        self.0.writable()?;
        let range = Fence::new(start.map(<[u8]>::to_vec), end.map(<[u8]>::to_vec));
        let _structure = self.0.structure.lock();
        // Again, now that nothing can change it.
        self.0.check_online()?;
        let context = &self.0.context;
        let before = self.0.version().tablets().len();
        let _ = self
            .0
            .edit(|change| change.merge_tablets(self.0.id, &range), |_| ())?;
        context
            .metrics
            .merges
            .add((before - self.0.version().tablets().len()) as u64);
        Ok(())
    }

    fn delete_rows(&self, start: Option<&[u8]>, end: Option<&[u8]>) -> StoreResult<()> {
        check_row_range(start, end)?;
        self.1.told(self.1.check())?;
        self.0.writable()?;
        self.0.forget_rows(start, end)
    }

    fn flush(&self, wait: bool) -> StoreResult<()> {
        self.1.told(self.1.check())?;
        self.0.writable()?;
        if wait || !self.0.context.options.background {
            self.1.told(self.0.flush_until(self.1.deadline()))?;
            // A flush of a deleted table drops the data.
            return self.0.check_exists();
        }
        self.0.flush_wanted.store(true, Ordering::Release);
        self.0.context.wakeups.flush.wake();
        Ok(())
    }

    fn compact(&self, options: &CompactOptions) -> StoreResult<()> {
        self.1.told(self.1.check())?;
        check_row_range(options.start.as_deref(), options.end.as_deref())?;
        self.0.writable()?;
        // Invalid iterators are rejected before anything is done.
        self.0
            .stacker()
            .majc(Vec::new(), true, true, &options.iterators)?;
        if options.wait {
            let outcome = self.0.compact_bounded(options, self.1.deadline());
            // Deleting the table or taking it off-line cancels the compaction; a deleted table
            // needs none.
            return match outcome {
                Ok(()) => self.0.check_exists(),
                Err(error) => self.1.told(self.0.check_online().and(Err(error))),
            };
        }
        let (table, options) = (self.0.clone(), options.clone());
        let request = crate::threads::spawn("compact-request", move || {
            if let Err(error) = table.compact_range(&options) {
                tracing::warn!(table = %table.status().name, %error, "a requested compaction failed");
            }
        })?;
        self.0.context.add_request(request);
        Ok(())
    }

    fn cancel_compaction(&self) -> StoreResult<()> {
        self.0.check_open()?;
        self.0.cancel_user_compactions();
        self.0.cancel_stalled();
        Ok(())
    }

    fn bulk_writer(&self) -> StoreResult<Box<dyn BulkWriter>> {
        self.1.told(self.1.check())?;
        Ok(Box::new(BulkImport::new(self.0.clone())?))
    }

    fn import_directory(
        &self,
        directory: &Path,
        options: &ImportDirectoryOptions,
    ) -> StoreResult<ImportReport> {
        self.1.told(self.1.check())?;
        self.0.import_files(directory, options)
    }
}

impl TableCore {
    /// Returns an error unless the table and its store may be changed.
    pub(crate) fn writable(&self) -> StoreResult<()> {
        self.check_online()?;
        self.context.health.check_writable()
    }

    /// Deletes rows: unflushed writes go to files first, then the rows are removed from the
    /// catalog. Writers are not stopped; writes after this began may remain.
    fn forget_rows(&self, start: Option<&[u8]>, end: Option<&[u8]>) -> StoreResult<()> {
        let _flushing = self.flushing.take();
        self.freeze();
        self.flush_all_frozen()?;
        let _structure = self.structure.lock();
        self.check_online()?;
        let range = Fence::new(start.map(<[u8]>::to_vec), end.map(<[u8]>::to_vec));
        let committed = self.edit(|change| change.delete_rows(self.id, &range), |_| ())?;
        self.context.files.retire(&committed.unreferenced);
        self.context.wakeups.maintenance.wake();
        Ok(())
    }

    /// Removes a file from all tablets; `false` if none of them reads it. For a file that is lost.
    pub(crate) fn drop_file(&self, id: FileId) -> StoreResult<bool> {
        let _structure = self.structure.lock();
        let version = self.version();
        let of_tablets: Vec<_> = version
            .tablets()
            .iter()
            .filter_map(|tablet| {
                let references = tablet.files.iter().map(|file| &file.reference);
                let taken: Vec<_> = references.filter(|one| one.file == id).cloned().collect();
                (!taken.is_empty()).then_some((tablet, taken))
            })
            .collect();
        if of_tablets.is_empty() || self.check_exists().is_err() {
            return Ok(false);
        }
        let change = |change: &mut CatalogTransaction<'_>| {
            for (tablet, taken) in &of_tablets {
                change.replace_files(self.id, tablet.extent.through.as_deref(), taken, &[])?;
            }
            Ok(())
        };
        let committed = self.edit(change, |_| ())?;
        for (tablet, _) in &of_tablets {
            for activity in [Activity::Read, Activity::Compaction] {
                self.failures.succeeded(activity, Some(&tablet.extent));
            }
        }
        self.context.files.retire(&committed.unreferenced);
        self.retry();
        Ok(true)
    }
}
