//! Rows that were read, as Arrow's interface offers them.

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::capsule;

/// Rows in Arrow's layout.
#[pyclass(frozen, module = "ostrakon._native")]
pub(crate) struct NativeRowBatch {
    batch: RecordBatch,
}

impl NativeRowBatch {
    pub(crate) fn new(batch: RecordBatch) -> Self {
        Self { batch }
    }
}

#[pymethods]
impl NativeRowBatch {
    fn __len__(&self) -> usize {
        self.batch.num_rows()
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
}
