//! One table of the reference model.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use ostrakon_cell::iterator::{
    IteratorEnvironment, IteratorRegistry, IteratorScope, IteratorSetting,
};
use ostrakon_cell::source::{WriteOutcome, check_row_range};
use ostrakon_cell::{
    Authorizations, Batch, BulkWriter, CallContext, Capabilities, ColumnSelection, CompactOptions,
    ConditionalMutation, ConditionalStatus, Durability, Entry, Error, ErrorKind, Key,
    MutationBatch, PendingWrite, Properties, PropertyChange, PropertyInfo, Range, Result, Scan,
    ScanOptions, Table, TabletInfo, TabletLocation, VersionedProperties,
};
use parking_lot::Mutex;

use super::conditional;
use super::content::{ContentIterator, Reader, drain, push_some};
use super::levels::changed;
use super::map_source::{base36, capabilities, check_split};
use super::properties;
use super::state::{State, TableState, deleted};

#[derive(Clone)]
pub(super) struct MapTable {
    pub(super) id: u64,
    /// Within which calls are made.
    pub(super) context: CallContext,
    /// When the time of the handle, and of those that it was made of, is over.
    pub(super) deadline: Option<Instant>,
    pub(super) state: Arc<Mutex<State>>,
    pub(super) registry: Arc<IteratorRegistry>,
}

impl MapTable {
    /// Does something to the table, whether it is on-line or not.
    fn with<T>(&self, act: impl FnOnce(&mut TableState) -> Result<T>) -> Result<T> {
        let mut state = self.state.lock();
        act(state.tables.get_mut(&self.id).ok_or_else(deleted)?)
    }

    /// Does something that needs the table on-line.
    fn online<T>(&self, act: impl FnOnce(&mut TableState) -> Result<T>) -> Result<T> {
        self.check_time()?;
        self.with(|table| {
            table.check_online()?;
            act(table)
        })
    }

    fn held(&self) -> Option<&Authorizations> {
        let principal = self.context.principal.as_ref();
        principal.map(|principal| &principal.authorizations)
    }

    fn check_time(&self) -> Result<()> {
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => {
                let trace = self.context.trace.clone().unwrap_or_default();
                Err(Error::new(ErrorKind::TimedOut, "the time is over").with("trace", trace))
            }
            _ => Ok(()),
        }
    }

    fn read(&self, ranges: &[Range], options: &ScanOptions) -> Result<Vec<Entry>> {
        let mut state = self.state.lock();
        let now = state.now_millis;
        let table = state.tables.get_mut(&self.id).ok_or_else(deleted)?;
        table.check_online()?;
        read(table, now, &self.registry, ranges, options)
    }
}

/// Every entry of `ranges` that a scan with these options shows, in order.
pub(super) fn read(
    table: &TableState,
    now_millis: i64,
    registry: &IteratorRegistry,
    ranges: &[Range],
    options: &ScanOptions,
) -> Result<Vec<Entry>> {
    let authorizations = Arc::new(options.authorizations.clone());
    let default_label = table.set.get("table.security.scan.visibility.default");
    let reader = Reader {
        authorizations: Some(authorizations.clone()),
        default_label: default_label.cloned().unwrap_or_default().into_bytes(),
        columns: options.columns.clone(),
    };
    let own = IteratorSetting::from_properties(&table.set, IteratorScope::Scan)?;
    let settings = IteratorSetting::merged(&own, &options.iterators, &options.iterator_options);
    let environment = IteratorEnvironment {
        authorizations,
        now_millis,
        table: table.name.as_str().into(),
        ..IteratorEnvironment::new(IteratorScope::Scan)
    };
    let floor = Box::new(ContentIterator::new(table.content.clone(), reader));
    let mut stack = registry.stack(floor, &settings, &environment)?;
    let mut found = Vec::new();
    for range in Range::merge(ranges.to_vec()) {
        found.extend(drain(&mut *stack, &range, &options.columns)?);
    }
    Ok(found)
}

impl Table for MapTable {
    fn name(&self) -> String {
        self.with(|table| Ok(table.name.clone()))
            .unwrap_or_else(|_| String::from("(deleted)"))
    }

    fn id(&self) -> String {
        base36(self.id)
    }

    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    fn within(&self, context: &CallContext) -> Result<Arc<dyn Table>> {
        let own = context.timeout.map(|timeout| Instant::now() + timeout);
        Ok(Arc::new(Self {
            context: context.clone(),
            deadline: own.into_iter().chain(self.deadline).min(),
            ..self.clone()
        }))
    }

    fn submit(&self, batch: MutationBatch, _: Option<Durability>) -> Result<Box<dyn PendingWrite>> {
        self.check_time()?;
        let mut state = self.state.lock();
        state
            .tables
            .get(&self.id)
            .ok_or_else(deleted)?
            .check_online()?;
        let outcome = state.write(self.id, &batch, self.held())?;
        Ok(Box::new(Applied(outcome)))
    }

    fn advance_time(&self) -> Result<()> {
        self.online(|table| {
            table.time.advance();
            Ok(())
        })
    }

    fn write_conditionally(
        &self,
        mutations: Vec<ConditionalMutation>,
        authorizations: &Authorizations,
        _: Option<Durability>,
    ) -> Result<Vec<ConditionalStatus>> {
        self.check_time()?;
        let mut state = self.state.lock();
        let known = state.tables.get(&self.id).ok_or_else(deleted)?;
        known.check_online()?;
        let held = self.held();
        conditional::write(
            &mut state,
            self.id,
            &self.registry,
            &mutations,
            authorizations,
            held,
        )
    }

    fn scan(&self, ranges: &[Range], options: &ScanOptions) -> Result<Box<dyn Scan>> {
        self.check_time()?;
        if options.sampler.is_some() {
            return Err(Error::new(ErrorKind::SampleNotPresent, "no samples"));
        }
        Ok(Box::new(MapScan {
            table: self.clone(),
            found: self.read(ranges, options)?.into_iter(),
            options: options.clone(),
            ranges: Range::merge(ranges.to_vec()),
            begun: Instant::now(),
            last: None,
            failed: None,
        }))
    }

    fn properties(&self) -> Result<Properties> {
        self.with(|table| Ok(table.in_force()))
    }

    fn describe_properties(&self) -> Result<BTreeMap<String, PropertyInfo>> {
        let state = self.state.lock();
        Ok(state.describe(state.tables.get(&self.id).ok_or_else(deleted)?))
    }

    fn own_properties(&self) -> Result<VersionedProperties> {
        self.with(|table| Ok(table.own.clone()))
    }

    fn change_properties(&self, version: Option<u64>, changes: &[PropertyChange]) -> Result<u64> {
        let mut state = self.state.lock();
        let table = state.tables.get(&self.id).ok_or_else(deleted)?;
        let own = changed(&table.own, version, changes)?;
        let mut set = state.inherited(&table.name);
        set.extend(own.properties.clone());
        properties::check(&set, &self.registry)?;
        let table = state.tables.get_mut(&self.id).ok_or_else(deleted)?;
        // What a compaction may have dropped until now may be missing from now on.
        super::reconcile::mark_weak(table);
        let version = own.version;
        (table.own, table.set) = (own, set);
        Ok(version)
    }

    fn tablets(&self) -> Result<Vec<TabletInfo>> {
        self.with(|table| {
            let ends = table.splits.iter().cloned().map(Some).chain([None]);
            let mut previous_end: Option<Vec<u8>> = None;
            let mut tablets = Vec::new();
            for end in ends {
                let rows = Range::tablet(previous_end.as_deref(), end.as_deref());
                let inside = table
                    .content
                    .iter()
                    .filter(|((key, _), _)| rows.contains(key.as_ref()));
                let (mut entries, mut bytes) = (0, 0);
                for ((key, _), stored) in inside {
                    entries += 1;
                    bytes += (key.as_ref().byte_len() + stored.value.len()) as u64;
                }
                tablets.push(TabletInfo {
                    previous_end: previous_end.take(),
                    end: end.clone(),
                    files: 0,
                    entries,
                    bytes: 0,
                    memory_entries: entries,
                    memory_bytes: bytes,
                    location: String::from("local"),
                });
                previous_end = end;
            }
            Ok(tablets)
        })
    }

    fn newest_timestamp(&self) -> Result<Option<i64>> {
        self.with(|table| Ok(table.content.keys().map(|(key, _)| key.timestamp).max()))
    }

    fn locate(&self, row: &[u8]) -> Result<TabletLocation> {
        self.with(|table| {
            let before = table.splits.iter().rfind(|end| end.as_slice() < row);
            let end = table.splits.iter().find(|end| end.as_slice() >= row);
            Ok(TabletLocation {
                rows: (before.cloned(), end.cloned()),
                location: String::from("local"),
                layout: table.layout,
            })
        })
    }

    fn add_splits(&self, rows: &[Vec<u8>]) -> Result<()> {
        for row in rows {
            check_split(row)?;
        }
        self.online(|table| {
            table.splits.extend(rows.iter().cloned());
            table.layout += 1;
            Ok(())
        })
    }

    fn merge(&self, start: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
        check_row_range(start, end)?;
        // A tablet ends in its split point, so a point inside the open interval has tablets of the
        // range on both sides.
        self.online(|table| {
            table.layout += 1;
            table.splits.retain(|row| {
                start.is_some_and(|start| row.as_slice() <= start)
                    || end.is_some_and(|end| row.as_slice() >= end)
            });
            Ok(())
        })
    }

    fn delete_rows(&self, start: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
        check_row_range(start, end)?;
        let rows = Range::tablet(start, end);
        self.online(|table| {
            Arc::make_mut(&mut table.content).retain(|(key, _), _| !rows.contains(key.as_ref()));
            Ok(())
        })
    }

    fn flush(&self, _: bool) -> Result<()> {
        self.online(|_| Ok(()))
    }

    fn compact(&self, options: &CompactOptions) -> Result<()> {
        check_row_range(options.start.as_deref(), options.end.as_deref())?;
        for setting in &options.iterators {
            self.registry.validate(setting, IteratorScope::Majc)?;
        }
        self.check_time()?;
        let rows = options.range();
        let environment = IteratorEnvironment::new(IteratorScope::Majc);
        let mut state = self.state.lock();
        let table = state.tables.get_mut(&self.id).ok_or_else(deleted)?;
        table.check_online()?;
        if options.iterators.is_empty() {
            return Ok(());
        }
        // The entries of the rows are replaced by what the iterators make of them. Without iterators
        // there is nothing to do: every scan decides versions and deletes anew.
        let everything = Reader {
            authorizations: None,
            default_label: Vec::new(),
            columns: ColumnSelection::all(),
        };
        let floor = Box::new(ContentIterator::new(table.content.clone(), everything));
        let mut settings = IteratorSetting::from_properties(&table.set, IteratorScope::Majc)?;
        settings.extend(options.iterators.iter().cloned());
        let mut stack = self.registry.stack(floor, &settings, &environment)?;
        let kept = drain(&mut *stack, &rows, &ColumnSelection::all())?;
        Arc::make_mut(&mut table.content).retain(|(key, _), _| !rows.contains(key.as_ref()));
        state.replace(self.id, kept)
    }

    fn cancel_compaction(&self) -> Result<()> {
        self.with(|_| Ok(()))
    }

    fn bulk_writer(&self) -> Result<Box<dyn BulkWriter>> {
        self.online(|_| Ok(()))?;
        Ok(Box::new(MapBulkWriter {
            failed: false,
            table: self.clone(),
            entries: Vec::new(),
        }))
    }
}

/// A write that was applied when it was handed over.
struct Applied(WriteOutcome);

impl PendingWrite for Applied {
    fn wait(self: Box<Self>) -> Result<WriteOutcome> {
        Ok(self.0)
    }

    fn is_done(&self) -> bool {
        true
    }
}

/// A scan that read everything when it began. It still ends with its table, by its interrupt, and for good.
struct MapScan {
    table: MapTable,
    options: ScanOptions,
    ranges: Vec<Range>,
    found: std::vec::IntoIter<Entry>,
    begun: Instant,
    last: Option<Key>,
    failed: Option<Error>,
}

impl MapScan {
    fn check(&self) -> Result<()> {
        if let Some(interrupt) = &self.options.interrupt {
            interrupt.check()?;
        }
        if self
            .options
            .timeout
            .is_some_and(|timeout| self.begun.elapsed() >= timeout)
        {
            return Err(Error::new(ErrorKind::TimedOut, "the scan's time is over"));
        }
        self.table.online(|_| Ok(()))
    }

    fn read(&mut self, out: &mut Batch) -> Result<bool> {
        self.check()?;
        push_some(&mut self.found, out, self.options.batch)?;
        if let Some(last) = out.len().checked_sub(1) {
            self.last = Some(out.key(last).to_key());
        }
        Ok(!out.is_empty())
    }

    fn start_over(&mut self, ranges: &[Range]) -> Result<()> {
        self.begun = Instant::now();
        self.check()?;
        self.found = self.table.read(ranges, &self.options)?.into_iter();
        self.ranges = Range::merge(ranges.to_vec());
        self.last = None;
        Ok(())
    }
}

impl Scan for MapScan {
    fn next_batch(&mut self, out: &mut Batch) -> Result<bool> {
        out.clear();
        if let Some(error) = &self.failed {
            return Err(error.duplicate());
        }
        let read = self.read(out);
        self.failed = read.as_ref().err().map(Error::duplicate);
        read
    }

    fn restart(&mut self, ranges: &[Range]) -> Result<()> {
        let restarted = self.start_over(ranges);
        self.failed = restarted.as_ref().err().map(Error::duplicate);
        restarted
    }

    fn unread(&self) -> Result<Vec<Range>> {
        if !self.options.resumable {
            return Err(Error::invalid("the scan was not started with `resumable`"));
        }
        if self.found.len() == 0 {
            return Ok(Vec::new());
        }
        let left = self.ranges.iter().filter_map(|range| match &self.last {
            Some(last) => range.after(last.as_ref()),
            None => Some(range.clone()),
        });
        Ok(left.collect())
    }
}

struct MapBulkWriter {
    table: MapTable,
    entries: Vec<Entry>,
    failed: bool,
}

impl MapBulkWriter {
    fn check_complete(&self) -> Result<()> {
        match self.failed {
            true => Err(Error::new(
                ErrorKind::Closed,
                "this bulk import failed before",
            )),
            false => Ok(()),
        }
    }
}

impl BulkWriter for MapBulkWriter {
    fn append(&mut self, batch: &Batch) -> Result<()> {
        self.check_complete()?;
        for entry in batch.iter() {
            if let Some(last) = self.entries.last()
                && entry.key < last.key.as_ref()
            {
                self.failed = true;
                return Err(Error::invalid("bulk entries must be sorted")
                    .with("row", ostrakon_cell::Escaped(entry.key.row)));
            }
            self.entries.push(entry.to_entry());
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        self.check_complete()?;
        let Self { table, entries, .. } = *self;
        table.online(|_| Ok(()))?;
        let count = entries.len() as u64;
        table.state.lock().import(table.id, entries)?;
        Ok(count)
    }
}
