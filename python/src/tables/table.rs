//! One table of a store.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ostrakon_cell::{
    Authorizations, BatchLimit, BatchWriter, BatchWriterConfig, CallContext, ColumnSelection,
    CompactOptions, Error, ImportDirectoryOptions, ImportTransfer, Interrupt, Range, Result,
    ScanOptions, Table,
};
use ostrakon_events::{check_entries_not_of_events, may_change_entries};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::arguments::{
    IteratorArgument, RangeArgument, Text, all_bytes, authorizations, column_of, durability_of,
    iterator_of,
};
use super::batches::{FIELDS, Reader, Shape};
use super::gate::Gate;
use super::scan::NativeScan;
#[cfg(feature = "sql")]
use super::typed::{NativeTypedScan, TypedArgument};
use super::writer::{Columns, NativeWriter};
use crate::columns::column_to_read;
use crate::errors::IntoPython;
use crate::signals::{LOOK, Signals, run};

/// A table, used by `ostrakon.Table`.
#[pyclass(frozen, module = "ostrakon._native")]
pub(crate) struct NativeTable {
    table: Arc<dyn Table>,
    held: Option<Authorizations>,
    gate: Gate,
}

impl NativeTable {
    pub(super) fn new(table: Arc<dyn Table>, held: Option<Authorizations>, gate: Gate) -> Self {
        Self { table, held, gate }
    }

    /// The table, as long as its store is open.
    pub(super) fn open_table(&self) -> Result<&Arc<dyn Table>> {
        self.gate.check().map(|()| &self.table)
    }

    /// The table to change the entries of. Those of event types are only changed with their index and counts.
    fn changed_table(&self) -> Result<&Arc<dyn Table>> {
        let table = self.open_table()?;
        // A reader's handle refuses it by itself.
        if self.held.is_none() {
            let store = self.gate.open(|open| open.store.clone())?;
            check_entries_not_of_events(&*store, &table.name())?;
        }
        Ok(table)
    }

    /// Starts a scan as Python describes it.
    fn start(&self, py: Python<'_>, argument: ScanArgument<'_>) -> PyResult<Started> {
        let mut fields = Vec::with_capacity(argument.fields.len());
        for name in &argument.fields {
            let Some(at) = FIELDS.iter().position(|field| field == name) else {
                return Err(Error::invalid(format!(
                    "`fields` names {name:?}, which is not one of {}",
                    FIELDS.join(", ")
                ))
                .with("argument", "fields"))
                .into_python();
            };
            fields.push(at);
        }
        let shape = Shape {
            fields,
            text: argument.text,
            batch_entries: argument.batch_entries.max(1),
            limit: argument.limit,
        };
        let interrupt = Interrupt::default();
        let timeout = seconds(argument.timeout).into_python()?;
        let options = ScanOptions {
            interrupt: Some(interrupt.clone()),
            timeout,
            answer_within: Some(LOOK),
            columns: ColumnSelection::new(argument.columns.into_iter().map(column_of)),
            authorizations: authorizations(argument.auths, self.held.as_ref())?,
            iterators: argument.iterators.into_iter().map(iterator_of).collect(),
            ordered: argument.ordered,
            batch: BatchLimit {
                entries: shape.batch_entries.min(BatchLimit::default().entries),
                ..BatchLimit::default()
            },
            ..ScanOptions::default()
        };
        let mut ranges = match argument.ranges {
            None => Vec::new(),
            Some(ranges) => ranges
                .into_iter()
                .map(RangeArgument::into_range)
                .collect::<Result<_>>()
                .into_python()?,
        };
        if let Some(rows) = &argument.rows {
            let rows = column_to_read("ranges", rows)?;
            rows.each(|row| ranges.push(Range::row(row)));
        } else if ranges.is_empty() {
            ranges.push(Range::all());
        }
        let scan = py
            .detach(|| self.open_table()?.scan(&ranges, &options))
            .into_python()?;
        Ok((scan, shape, interrupt))
    }

    /// The store that the table is of.
    pub(super) fn gate(&self) -> Gate {
        self.gate.clone()
    }

    /// The same, for a call that may take so many seconds.
    fn table_within(&self, timeout: Option<f64>) -> Result<Arc<dyn Table>> {
        let table = self.open_table()?;
        match seconds(timeout)? {
            None => Ok(table.clone()),
            timeout => table.within(&CallContext {
                timeout,
                ..CallContext::default()
            }),
        }
    }
}

/// A number of seconds as Python passes it.
fn seconds(timeout: Option<f64>) -> Result<Option<Duration>> {
    match timeout.map(Duration::try_from_secs_f64) {
        None => Ok(None),
        Some(Ok(timeout)) => Ok(Some(timeout)),
        Some(Err(_)) => Err(
            Error::invalid("`timeout` is a number of seconds, 0 or more")
                .with("argument", "timeout"),
        ),
    }
}

/// A scan that has begun, how it is handed out, and what ends it.
type Started = (Box<dyn ostrakon_cell::Scan>, Shape, Interrupt);

/// Where a row lies: end of the tablet before, own end, where it is served, number of the layout.
type Located<'py> = (
    Option<Bound<'py, PyBytes>>,
    Option<Bound<'py, PyBytes>>,
    String,
    u64,
);

/// How a scan is run, as Python passes it.
#[derive(FromPyObject)]
struct ScanArgument<'py> {
    #[pyo3(item)]
    ranges: Option<Vec<RangeArgument>>,
    /// A column of rows, instead of ranges.
    #[pyo3(item)]
    rows: Option<Bound<'py, PyAny>>,
    #[pyo3(item)]
    columns: Vec<(Text, Option<Text>)>,
    #[pyo3(item)]
    auths: Option<Vec<Text>>,
    #[pyo3(item)]
    iterators: Vec<IteratorArgument>,
    #[pyo3(item)]
    fields: Vec<String>,
    #[pyo3(item)]
    text: bool,
    #[pyo3(item)]
    ordered: bool,
    #[pyo3(item)]
    limit: Option<u64>,
    #[pyo3(item)]
    batch_entries: usize,
    #[pyo3(item)]
    timeout: Option<f64>,
}

type Tablet<'py> = (
    Option<Bound<'py, PyBytes>>,
    Option<Bound<'py, PyBytes>>,
    u64,
    u64,
    u64,
);

#[pymethods]
impl NativeTable {
    /// The present name.
    #[getter]
    fn name(&self) -> String {
        self.table.name()
    }

    /// A writer.
    fn writer(
        &self,
        durability: Option<&str>,
        batch_bytes: usize,
        memory_bytes: usize,
    ) -> PyResult<NativeWriter> {
        let config = BatchWriterConfig {
            batch_bytes,
            max_memory: memory_bytes,
            durability: durability_of(durability)?,
            ..BatchWriterConfig::default()
        };
        let table = self.changed_table().into_python()?.clone();
        Ok(NativeWriter::new(
            BatchWriter::new(table, config),
            self.gate.clone(),
        ))
    }

    /// Starts a scan.
    fn scan(&self, py: Python<'_>, argument: ScanArgument<'_>) -> PyResult<NativeScan> {
        let (scan, shape, interrupt) = self.start(py, argument)?;
        Ok(NativeScan::new(
            Reader::new(
                scan,
                shape.clone(),
                self.gate.clone(),
                Signals::new(interrupt),
            ),
            shape,
            self.gate.clone(),
        ))
    }

    /// Starts a scan of a table with a schema; it is ordered, and `text` and `fields` have no effect.
    #[cfg(feature = "sql")]
    fn typed_scan(
        &self,
        py: Python<'_>,
        argument: ScanArgument<'_>,
        typed: TypedArgument,
    ) -> PyResult<NativeTypedScan> {
        let (scan, _, interrupt) = self.start(py, argument)?;
        NativeTypedScan::new(scan, typed, self.gate.clone(), Signals::new(interrupt)).into_python()
    }

    /// As above, in a build without that.
    #[cfg(not(feature = "sql"))]
    fn typed_scan(&self, _argument: &Bound<'_, PyAny>, _typed: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(crate::lacking::lacking()).into_python()
    }

    /// Imports columns as one atomic change; returns the number of entries.
    fn bulk_import(&self, py: Python<'_>, columns: Columns<'_>) -> PyResult<u64> {
        let entries = columns.entries(py)?;
        let table = self.changed_table().into_python()?.clone();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        run(
            py,
            || stop.store(true, Ordering::Relaxed),
            move || super::bulk::import(&table, &entries, &stopped),
        )?
        .into_python()
    }

    /// Imports the sorted files of a directory: files, entries, bytes, empty, copied and left files.
    fn import_directory(
        &self,
        py: Python<'_>,
        directory: PathBuf,
        transfer: &str,
        verify: bool,
        allow_empty: bool,
    ) -> PyResult<(u64, u64, u64, u64, u64, u64)> {
        let transfer = match transfer {
            "move" => ImportTransfer::Move,
            "link" => ImportTransfer::Link,
            "copy" => ImportTransfer::Copy,
            other => {
                return Err(Error::invalid(format!(
                    "`transfer` is one of move, link, copy, not {other:?}"
                ))
                .with("argument", "transfer"))
                .into_python();
            }
        };
        let options = ImportDirectoryOptions {
            transfer,
            verify,
            allow_empty,
        };
        let table = self.changed_table().into_python()?.clone();
        let report = run(
            py,
            || {},
            move || table.import_directory(&directory, &options),
        )?
        .into_python()?;
        Ok((
            report.files,
            report.entries,
            report.bytes,
            report.empty_files,
            report.copied_files,
            report.files_left,
        ))
    }

    /// The properties in force.
    fn properties(&self, py: Python<'_>) -> PyResult<BTreeMap<String, String>> {
        py.detach(|| self.open_table()?.properties()).into_python()
    }

    /// Sets and removes properties in one step.
    fn modify_properties(
        &self,
        py: Python<'_>,
        changes: Vec<(String, Option<String>)>,
    ) -> PyResult<()> {
        let change = || {
            let table = match changes.iter().any(|(name, _)| may_change_entries(name)) {
                true => self.changed_table()?,
                false => self.open_table()?,
            };
            table.modify_properties(&changes)
        };
        py.detach(change).into_python()
    }

    /// Tablets: end of the one before, own end, files, entries, bytes.
    fn tablets<'py>(&self, py: Python<'py>) -> PyResult<Vec<Tablet<'py>>> {
        let tablets = py.detach(|| self.open_table()?.tablets()).into_python()?;
        let row = |row: Option<Vec<u8>>| row.map(|row| PyBytes::new(py, &row));
        Ok(tablets
            .into_iter()
            .map(|tablet| {
                (
                    row(tablet.previous_end),
                    row(tablet.end),
                    tablet.files,
                    tablet.entries,
                    tablet.bytes,
                )
            })
            .collect())
    }

    /// The tablet of a row: end of the one before, own end, where it is served, number of the layout.
    fn locate<'py>(&self, py: Python<'py>, row: Text) -> PyResult<Located<'py>> {
        let row = row.into_bytes();
        let found = py
            .detach(|| self.open_table()?.locate(&row))
            .into_python()?;
        let (after, end) = found.rows;
        let bytes = |row: Option<Vec<u8>>| row.map(|row| PyBytes::new(py, &row));
        Ok((bytes(after), bytes(end), found.location, found.layout))
    }

    /// Adds split points.
    fn add_splits(&self, py: Python<'_>, rows: Vec<Text>) -> PyResult<()> {
        let rows = all_bytes(rows);
        let table = self.open_table().into_python()?.clone();
        run(py, || {}, move || table.add_splits(&rows))?.into_python()
    }

    /// Merges the tablets between two rows.
    fn merge(&self, py: Python<'_>, start: Option<Text>, end: Option<Text>) -> PyResult<()> {
        let (start, end) = (start.map(Text::into_bytes), end.map(Text::into_bytes));
        let table = self.open_table().into_python()?.clone();
        run(
            py,
            || {},
            move || table.merge(start.as_deref(), end.as_deref()),
        )?
        .into_python()
    }

    /// Deletes the rows after `start` up to `end`.
    fn delete_rows(&self, py: Python<'_>, start: Option<Text>, end: Option<Text>) -> PyResult<()> {
        let (start, end) = (start.map(Text::into_bytes), end.map(Text::into_bytes));
        let table = self.changed_table().into_python()?.clone();
        run(
            py,
            || {},
            move || table.delete_rows(start.as_deref(), end.as_deref()),
        )?
        .into_python()
    }

    /// Gives what is written from now on a later time than what was written before.
    fn advance_time(&self, py: Python<'_>) -> PyResult<()> {
        let table = self.open_table().into_python()?;
        py.detach(|| table.advance_time()).into_python()
    }

    /// Writes what is in memory to files.
    fn flush(&self, py: Python<'_>, wait: bool, timeout: Option<f64>) -> PyResult<()> {
        let table = self.table_within(timeout).into_python()?;
        run(py, || {}, move || table.flush(wait))?.into_python()
    }

    /// Merges the files of each tablet into one.
    fn compact(
        &self,
        py: Python<'_>,
        start: Option<Text>,
        end: Option<Text>,
        iterators: Vec<IteratorArgument>,
        wait: bool,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let options = CompactOptions {
            start: start.map(Text::into_bytes),
            end: end.map(Text::into_bytes),
            iterators: iterators.into_iter().map(iterator_of).collect(),
            wait,
            ..CompactOptions::default()
        };
        if !options.iterators.is_empty() {
            self.changed_table().into_python()?;
        }
        let table = self.table_within(timeout).into_python()?;
        let compacted = table.clone();
        let stop = || drop(table.cancel_compaction());
        run(py, stop, move || compacted.compact(&options))?.into_python()
    }

    /// Cancels compactions that were asked for.
    fn cancel_compaction(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.open_table()?.cancel_compaction())
            .into_python()
    }
}

/// Writes columns, sorted here unless they are, to a sorted file; returns the number of entries.
#[pyfunction]
pub(super) fn write_sorted_file(
    py: Python<'_>,
    path: PathBuf,
    columns: Columns<'_>,
) -> PyResult<u64> {
    let entries = columns.entries(py)?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    run(
        py,
        || stop.store(true, Ordering::Relaxed),
        move || super::bulk::write_file(&path, &entries, &stopped),
    )?
    .into_python()
}
