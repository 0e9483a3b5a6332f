//! Results as Python takes them: dictionaries of numbers, and of bytes that NumPy looks into.

use ostrakon_graph::{Keys, SparseMatrix, WriteCount};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict};

/// A result under construction.
pub(super) struct Answer<'py>(Bound<'py, PyDict>);

impl<'py> Answer<'py> {
    pub(super) fn new(py: Python<'py>) -> Self {
        Self(PyDict::new(py))
    }

    pub(super) fn number(self, name: &str, value: u64) -> PyResult<Self> {
        self.0.set_item(name, value)?;
        Ok(self)
    }

    pub(super) fn truth(self, name: &str, value: bool) -> PyResult<Self> {
        self.0.set_item(name, value)?;
        Ok(self)
    }

    pub(super) fn io(self, io: &WriteCount) -> PyResult<Self> {
        self.0.set_item("entries_written", io.entries_written)?;
        self.0.set_item("result_entries", io.result_entries)?;
        self.0.set_item("relative_io", io.relative_io())?;
        Ok(self)
    }

    /// Keys: their bytes end to end, and where each ends.
    pub(super) fn keys(self, name: &str, keys: &Keys) -> PyResult<Self> {
        let py = self.0.py();
        self.0.set_item(name, keys_of(py, keys))?;
        Ok(self)
    }

    pub(super) fn floats(self, name: &str, values: &[f64]) -> PyResult<Self> {
        let py = self.0.py();
        self.0
            .set_item(name, bytes_of(py, values, f64::to_ne_bytes))?;
        Ok(self)
    }

    pub(super) fn positions(self, name: &str, values: &[u32]) -> PyResult<Self> {
        let py = self.0.py();
        self.0
            .set_item(name, bytes_of(py, values, u32::to_ne_bytes))?;
        Ok(self)
    }

    /// A matrix: row keys, column keys, offsets, column numbers, values; or `None`.
    pub(super) fn matrix(self, matrix: Option<&SparseMatrix>) -> PyResult<Self> {
        let py = self.0.py();
        let parts = matrix.map(|matrix| {
            let offsets: Vec<u64> = matrix.offsets.iter().map(|&at| at as u64).collect();
            (
                keys_of(py, &matrix.rows),
                keys_of(py, &matrix.columns),
                bytes_of(py, &offsets, u64::to_ne_bytes),
                bytes_of(py, &matrix.indices, u32::to_ne_bytes),
                bytes_of(py, &matrix.values, f64::to_ne_bytes),
            )
        });
        self.0.set_item("matrix", parts)?;
        Ok(self)
    }

    pub(super) fn done(self) -> Bound<'py, PyDict> {
        self.0
    }
}

type KeyParts<'py> = (Bound<'py, PyByteArray>, Bound<'py, PyByteArray>);

fn keys_of<'py>(py: Python<'py>, keys: &Keys) -> KeyParts<'py> {
    let ends: Vec<u64> = keys.ends().iter().map(|&end| end as u64).collect();
    (
        PyByteArray::new(py, keys.bytes()),
        bytes_of(py, &ends, u64::to_ne_bytes),
    )
}

/// Numbers as the machine holds them.
pub(super) fn bytes_of<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    values: &[T],
    write: impl Fn(T) -> [u8; N],
) -> Bound<'py, PyByteArray> {
    PyByteArray::new(py, &raw_bytes(values, write))
}

pub(super) fn raw_bytes<T: Copy, const N: usize>(
    values: &[T],
    write: impl Fn(T) -> [u8; N],
) -> Vec<u8> {
    let mut bytes = vec![0; values.len() * N];
    let (places, _) = bytes.as_chunks_mut::<N>();
    for (place, &value) in places.iter_mut().zip(values) {
        *place = write(value);
    }
    bytes
}
