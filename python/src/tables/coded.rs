//! A column written as positions in a dictionary of byte strings: how associative arrays go into
//! tables without a copy of a key for each entry.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, LargeBinaryArray, PrimitiveArray};
use arrow_buffer::{Buffer, OffsetBuffer};
use ostrakon_cell::{Error, Result};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyCapsule};

use crate::capsule;
use crate::errors::IntoPython;

/// Positions and the strings they mean, offered by Arrow's interface.
#[pyclass(frozen, module = "ostrakon._native")]
pub(crate) struct NativeColumn {
    array: ArrayRef,
}

impl NativeColumn {
    /// A column that is ready.
    pub(super) fn new_plain(array: ArrayRef) -> Self {
        Self { array }
    }
}

#[pymethods]
impl NativeColumn {
    /// From positions (32 bits each), the bytes of all strings, and where each begins (64 bits each,
    /// and one for the end), all in the machine's byte order.
    #[new]
    fn new(
        py: Python<'_>,
        positions: PyBackedBytes,
        data: PyBackedBytes,
        offsets: PyBackedBytes,
    ) -> PyResult<Self> {
        py.detach(|| build(&positions, &data, &offsets))
            .map(|array| Self {
                array: Arc::new(array),
            })
            .into_python()
    }

    fn __len__(&self) -> usize {
        self.array.len()
    }

    /// The values at positions; only of columns that were encoded from typed values.
    fn take(&self, positions: crate::arrays::Items<u32>) -> PyResult<Self> {
        let Some(column) = self.array.as_binary_opt::<i64>() else {
            return Err(Error::invalid("the column is a dictionary")).into_python();
        };
        let positions = positions.as_slice();
        if positions.iter().any(|at| *at as usize >= column.len()) {
            return Err(Error::invalid("the column has no such value")).into_python();
        }
        let values = positions.iter().map(|at| column.value(*at as usize));
        let taken = LargeBinaryArray::from_iter_values(values);
        Ok(Self::new_plain(Arc::new(taken)))
    }

    /// One value; only of columns that were encoded from typed values.
    fn get<'py>(&self, py: Python<'py>, at: usize) -> PyResult<Bound<'py, PyBytes>> {
        let column = self.array.as_binary_opt::<i64>();
        match column.filter(|column| at < column.len()) {
            Some(column) => Ok(PyBytes::new(py, column.value(at))),
            None => Err(Error::invalid("the column has no such value")).into_python(),
        }
    }

    /// The column and its type.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        capsule::export_array(py, &self.array)
    }
}

fn build(positions: &[u8], data: &[u8], offsets: &[u8]) -> Result<DictionaryArray<UInt32Type>> {
    let wrong = || Error::invalid("the parts of a coded column do not fit together");
    let positions: Vec<u32> = positions
        .chunks_exact(4)
        .filter_map(|word| word.try_into().ok().map(u32::from_ne_bytes))
        .collect();
    let offsets: Vec<i64> = offsets
        .chunks_exact(8)
        .filter_map(|word| word.try_into().ok().map(i64::from_ne_bytes))
        .collect();
    // What the buffer of offsets would panic on.
    let ascend = offsets.windows(2).all(|pair| pair.first() <= pair.last());
    if !ascend || offsets.first().is_none_or(|first| *first < 0) {
        return Err(wrong());
    }
    let strings = LargeBinaryArray::try_new(
        OffsetBuffer::new(offsets.into()),
        Buffer::from(data.to_vec()),
        None,
    )
    .map_err(|error| wrong().with_source(error))?;
    DictionaryArray::try_new(PrimitiveArray::from(positions), Arc::new(strings))
        .map_err(|error| wrong().with_source(error))
}
