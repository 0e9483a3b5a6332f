//! Rows that are found while they are read: what a statement of SQL or a query of events returns.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use ostrakon_cell::{Error, ErrorKind, Result};
use ostrakon_sql::Step;
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::capsule;
use crate::errors::IntoPython;
use crate::row_batch::NativeRowBatch;
use crate::signals::LOOK;
use crate::tables::Gate;

/// Finds rows. Dropping it ends the work.
pub(crate) trait RowSource: Send {
    /// Waits for rows, for about as long as `wait`.
    fn next_within(&mut self, wait: Duration) -> Result<Step>;
}

/// Rows, read once: batch by batch, or as a stream.
#[pyclass(frozen, module = "ostrakon._native")]
pub(crate) struct NativeRows {
    reader: SharedReader,
    schema: SchemaRef,
    gate: Gate,
}

/// The reader until somebody reads: `None` once a stream has taken it, or it was interrupted.
type SharedReader = Arc<Mutex<Option<RowReader>>>;

struct RowReader {
    /// Dropped first: it uses what keeps the store open.
    source: Box<dyn RowSource>,
    gate: Gate,
}

impl NativeRows {
    pub(crate) fn new(source: Box<dyn RowSource>, schema: SchemaRef, gate: Gate) -> Self {
        let reader = RowReader {
            source,
            gate: gate.clone(),
        };
        Self {
            reader: Arc::new(Mutex::new(Some(reader))),
            schema,
            gate,
        }
    }

    /// The next rows, or `None` at the end. Looks for signals meanwhile.
    pub(crate) fn read(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        self.gate.check_process().into_python()?;
        loop {
            let step = py.detach(|| match self.reader.lock().as_mut() {
                Some(reader) => reader.step(),
                None => Err(handed_over()),
            });
            match step.into_python()? {
                Step::Rows(batch) => return Ok(Some(batch)),
                Step::End => return Ok(None),
                Step::Waiting => {}
            }
            if let Err(raised) = py.check_signals() {
                py.detach(|| drop(self.reader.lock().take()));
                return Err(raised);
            }
        }
    }
}

impl RowReader {
    fn step(&mut self) -> Result<Step> {
        self.gate.check()?;
        self.source.next_within(LOOK)
    }
}

impl Iterator for RowReader {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.step() {
                Ok(Step::Waiting) => {}
                Ok(Step::End) => return None,
                Ok(Step::Rows(batch)) => return Some(Ok(batch)),
                Err(error) => return Some(Err(ArrowError::ExternalError(Box::new(error)))),
            }
        }
    }
}

/// The rows as a stream, which takes them with the first batch that is requested: a consumer may open one stream for the
/// schema, and another one for the rows.
struct RowStream {
    shared: SharedReader,
    reader: Option<RowReader>,
    schema: SchemaRef,
}

impl Iterator for RowStream {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.is_none() {
            self.reader = self.shared.lock().take();
        }
        match &mut self.reader {
            Some(reader) => reader.next(),
            None => Some(Err(ArrowError::ExternalError(Box::new(handed_over())))),
        }
    }
}

impl RecordBatchReader for RowStream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

#[pymethods]
impl NativeRows {
    /// The next rows, or `None` at the end.
    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<NativeRowBatch>> {
        let batch = self.read(py)?;
        Ok(batch.map(NativeRowBatch::new))
    }

    /// The names of the columns, and their types as Arrow names them.
    fn columns(&self) -> Vec<(String, String)> {
        let fields = self.schema.fields().iter();
        fields
            .map(|field| (field.name().clone(), field.data_type().to_string()))
            .collect()
    }

    /// Hands the rows over as a stream, unless another one has begun to read them.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol lets a producer pass over the consumer's wish.
        let _ = requested_schema;
        self.gate.check().into_python()?;
        if py.detach(|| self.reader.lock().is_none()) {
            return Err(handed_over()).into_python();
        }
        let stream = RowStream {
            shared: Arc::clone(&self.reader),
            reader: None,
            schema: self.schema.clone(),
        };
        capsule::export_stream(py, Box::new(stream))
    }

    /// The columns and their types.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export_schema(py, &self.schema)
    }
}

fn handed_over() -> Error {
    Error::new(
        ErrorKind::Closed,
        "the rows were interrupted, or handed over as a stream: run the statement again",
    )
}
