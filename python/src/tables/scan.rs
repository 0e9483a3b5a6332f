//! A running scan, and the batches it hands out.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use ostrakon_cell::{Error, ErrorKind, Result};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList, PyString, PyTuple};

use super::batches::{Reader, Shape};
use super::gate::Gate;
use super::plain::PythonColumn;
use crate::capsule;
use crate::errors::IntoPython;

/// A running scan, used by `ostrakon.Scan`.
#[pyclass(frozen, module = "ostrakon._native")]
pub(crate) struct NativeScan {
    /// `None` once it was handed over.
    reader: Mutex<Option<Reader>>,
    shape: Shape,
    gate: Gate,
}

impl NativeScan {
    pub(super) fn new(reader: Reader, shape: Shape, gate: Gate) -> Self {
        Self {
            reader: Mutex::new(Some(reader)),
            shape,
            gate,
        }
    }

    /// Works with the reader, without the interpreter's lock.
    fn with_reader<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Reader) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.gate.check_process().into_python()?;
        let (outcome, raised) = py.detach(|| match self.reader.lock().as_mut() {
            Some(reader) => {
                let outcome = work(reader);
                (outcome, reader.take_raised())
            }
            None => (Err(handed_over()), None),
        });
        match raised {
            Some(raised) => Err(raised),
            None => outcome.into_python(),
        }
    }
}

#[pymethods]
impl NativeScan {
    /// The next batch, or `None` at the end.
    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<NativeBatch>> {
        let batch = self.with_reader(py, Reader::next_record_batch)?;
        Ok(batch.map(|batch| NativeBatch { batch }))
    }

    /// Counts the entries that are left.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        self.with_reader(py, Reader::count)
    }

    /// The rest of the scan, or of it as many whole rows as `entries` entries need, as plain columns;
    /// with `numbers`, values become numbers when all of them are. One or the other of this and
    /// `next_batch` reads a scan, not both.
    fn columns<'py>(
        &self,
        py: Python<'py>,
        entries: Option<u64>,
        limit_bytes: u64,
        numbers: bool,
    ) -> PyResult<Vec<PythonColumn<'py>>> {
        let columns = self.with_reader(py, |reader| {
            reader.read_plain(entries, limit_bytes, numbers)
        })?;
        columns
            .into_iter()
            .map(|column| column.into_python(py))
            .collect()
    }

    /// Hands the scan over as a stream.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol lets a producer pass over the consumer's wish.
        let _ = requested_schema;
        self.gate.check_process().into_python()?;
        let reader = self.reader.lock().take().ok_or_else(handed_over);
        let reader = reader.into_python()?.without_signals();
        capsule::export_stream(py, Box::new(reader))
    }

    /// The columns and their types.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export_schema(py, &self.shape.schema())
    }
}

/// Entries in Arrow's layout.
#[pyclass(frozen, module = "ostrakon._native")]
pub(crate) struct NativeBatch {
    batch: RecordBatch,
}

#[pymethods]
impl NativeBatch {
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        let (entries, fields) = (self.batch.num_rows(), self.fields().join(", "));
        format!("<ostrakon.Batch of {entries} entries: {fields}>")
    }

    /// The names of the columns.
    #[getter]
    fn fields(&self) -> Vec<String> {
        let schema = self.batch.schema();
        schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    /// The batch and its schema.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        capsule::export_batch(py, &self.batch)
    }

    /// The columns and their types.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export_schema(py, &self.batch.schema())
    }

    /// The entries as tuples of Python objects, one by one in the order of the columns.
    fn tuples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let columns: Vec<Vec<Bound<'py, PyAny>>> = self
            .batch
            .columns()
            .iter()
            .map(|column| objects(py, column))
            .collect::<PyResult<_>>()?;
        let list = PyList::empty(py);
        for at in 0..self.batch.num_rows() {
            list.append(PyTuple::new(py, columns.iter().map(|column| &column[at]))?)?;
        }
        Ok(list)
    }
}

fn handed_over() -> Error {
    Error::new(
        ErrorKind::Closed,
        "the scan was handed over as a stream: begin another one",
    )
}

fn objects<'py>(py: Python<'py>, column: &Arc<dyn Array>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let text = |text: &str| PyString::new(py, text).into_any();
    let bytes = |bytes: &[u8]| PyBytes::new(py, bytes).into_any();
    Ok(match column.data_type() {
        DataType::Utf8 => column
            .as_string::<i32>()
            .iter()
            .flatten()
            .map(text)
            .collect(),
        DataType::Binary => column
            .as_binary::<i32>()
            .iter()
            .flatten()
            .map(bytes)
            .collect(),
        DataType::Dictionary(_, _) => {
            let dictionary = column.as_dictionary::<Int32Type>();
            let names = objects(py, dictionary.values())?;
            let keys = dictionary.keys().values().iter();
            keys.map(|key| names[*key as usize].clone()).collect()
        }
        _ => {
            let stamps = column.as_primitive::<Int64Type>().values().iter();
            stamps
                .map(|stamp| Ok(stamp.into_pyobject(py)?.into_any()))
                .collect::<PyResult<_>>()?
        }
    })
}
