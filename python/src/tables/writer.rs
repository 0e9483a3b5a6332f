//! Writing from columns: checked as a whole, then encoded slice by slice without the lock.

use std::collections::BTreeMap;

use ostrakon_cell::{BatchWriter, Error, ErrorKind, Result};
use parking_lot::Mutex;
use pyo3::prelude::*;

use super::gate::Gate;
use crate::columns::{Column, Entries, column, columns_of_frame, stamps};
use crate::errors::IntoPython;

/// Entries encoded before the interpreter is asked for signals and told of progress.
pub(super) const SLICE_ENTRIES: usize = 1 << 17;

/// Columns as Python passes them: six arguments, and for a frame the names of its columns.
#[derive(FromPyObject)]
pub(super) struct Columns<'py> {
    #[pyo3(item)]
    frame: Option<Bound<'py, PyAny>>,
    #[pyo3(item)]
    names: BTreeMap<String, String>,
    #[pyo3(item)]
    row: Option<Bound<'py, PyAny>>,
    #[pyo3(item)]
    family: Option<Bound<'py, PyAny>>,
    #[pyo3(item)]
    qualifier: Option<Bound<'py, PyAny>>,
    #[pyo3(item)]
    visibility: Option<Bound<'py, PyAny>>,
    #[pyo3(item)]
    timestamp: Option<Bound<'py, PyAny>>,
    #[pyo3(item)]
    value: Option<Bound<'py, PyAny>>,
    #[pyo3(item)]
    delete: bool,
}

impl Columns<'_> {
    /// Reads and checks every column.
    pub(super) fn entries(&self, py: Python<'_>) -> PyResult<Entries> {
        let (mut columns, mut times) = (BTreeMap::new(), None);
        if let Some(frame) = &self.frame {
            let Some((read, stamps)) = columns_of_frame(frame, &self.names)? else {
                return Err(Error::invalid(
                    "the frame offers no Arrow interface (`__arrow_c_stream__`): pass a pandas or \
                     polars frame, an Arrow table, or columns",
                )
                .with("argument", "frame"))
                .into_python();
            };
            (columns, times) = (read, stamps);
        }
        let mut take = |name: &str, argument: &Option<Bound<'_, PyAny>>| -> PyResult<Column> {
            match (columns.remove(name), argument) {
                (Some(_), Some(_)) => Err(Error::invalid(format!(
                    "`{name}` is given twice: as an argument and as a column of the frame"
                ))
                .with("argument", name))
                .into_python(),
                (Some(column), None) => Ok(column),
                (None, Some(argument)) => column(name, argument),
                (None, None) => Ok(Column::Constant(Vec::new())),
            }
        };
        let row = take("row", &self.row)?;
        let family = take("family", &self.family)?;
        let qualifier = take("qualifier", &self.qualifier)?;
        let visibility = take("visibility", &self.visibility)?;
        let value = if self.delete {
            None
        } else {
            Some(take("value", &self.value)?)
        };
        let times = match (times, &self.timestamp) {
            (Some(times), _) => times,
            (None, Some(argument)) => stamps(argument)?,
            (None, None) => stamps(py.None().bind(py))?,
        };
        py.detach(|| Entries::new(row, family, qualifier, visibility, times, value))
            .into_python()
    }
}

/// A writer, used by `ostrakon.Writer`.
#[pyclass(frozen, module = "ostrakon._native")]
pub(crate) struct NativeWriter {
    /// `None` once it is closed.
    writer: Mutex<Option<BatchWriter>>,
    /// Keeps the store alive.
    gate: Gate,
}

impl NativeWriter {
    pub(super) fn new(writer: BatchWriter, gate: Gate) -> Self {
        Self {
            writer: Mutex::new(Some(writer)),
            gate,
        }
    }

    fn with_writer<T>(&self, work: impl FnOnce(&mut BatchWriter) -> Result<T>) -> Result<T> {
        self.gate.check_process()?;
        match self.writer.lock().as_mut() {
            Some(writer) => work(writer),
            None => Err(Error::new(
                ErrorKind::Closed,
                "the writer is closed: ask the table for another one",
            )),
        }
    }
}

#[pymethods]
impl NativeWriter {
    /// Writes columns; returns the number of entries.
    fn put(
        &self,
        py: Python<'_>,
        columns: Columns<'_>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        self.with_writer(|_| Ok(())).into_python()?;
        let entries = columns.entries(py)?;
        let mut at = 0;
        while at < entries.len() {
            let end = (at + SLICE_ENTRIES).min(entries.len());
            py.detach(|| {
                self.with_writer(|writer| {
                    entries.for_each(at..end, |row, update| writer.put(row, update))
                })
            })
            .into_python()?;
            at = end;
            py.check_signals()?;
            if let Some(progress) = progress {
                progress.call1((at, entries.len()))?;
            }
        }
        Ok(entries.len())
    }

    /// Waits until everything is acknowledged.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.with_writer(BatchWriter::flush))
            .into_python()
    }

    /// Flushes and ends the writer; closing it again does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.gate.check_process().into_python()?;
        py.detach(|| match self.writer.lock().take() {
            Some(writer) => writer.close(),
            None => Ok(()),
        })
        .into_python()
    }

    /// Ends the writer and drops what it collected and has not submitted.
    fn abandon(&self, py: Python<'_>) {
        if self.gate.check_process().is_ok() {
            py.detach(|| drop(self.writer.lock().take()));
        }
    }

    /// Whether the writer is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.writer
            .try_lock()
            .is_some_and(|writer| writer.is_none())
    }
}
