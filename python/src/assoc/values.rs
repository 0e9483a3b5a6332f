//! Matrices as Python hands them over: `(starts, columns, values, width)`.

use ostrakon_assoc::csr::{Condensed, Value, View};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::source::to_python;
use crate::arrays::{Close, Item, Items};

/// Values of one of the kinds that kernels know; NumPy kinds are turned into these in Python.
pub(super) enum Values {
    Float(Items<f64>),
    Int(Items<i64>),
    Bool(Items<bool>),
    Position(Items<u32>),
}

impl<'py> FromPyObject<'_, 'py> for Values {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(values) = object.extract() {
            Ok(Self::Float(values))
        } else if let Ok(values) = object.extract() {
            Ok(Self::Int(values))
        } else if let Ok(values) = object.extract() {
            Ok(Self::Position(values))
        } else if let Ok(values) = object.extract() {
            Ok(Self::Bool(values))
        } else {
            Err(PyTypeError::new_err(
                "values: a one-dimensional array of float64, int64, bool or uint32 is needed",
            ))
        }
    }
}

/// A matrix of Python's.
#[derive(FromPyObject)]
pub(super) struct Matrix(Items<u32>, Items<u32>, pub(super) Values, usize);

impl Matrix {
    /// Places with an entry.
    pub(super) fn len(&self) -> usize {
        self.1.as_slice().len()
    }

    /// The matrix with these values, which were taken out of it.
    pub(super) fn view<'a, T>(&'a self, values: &'a [T]) -> PyResult<View<'a, T>> {
        View::new(self.0.as_slice(), self.1.as_slice(), values, self.3)
            .map_err(|error| to_python("matrix", &error))
    }
}

/// Runs an expression for values of whichever kind, by the name of the slice.
macro_rules! with_values {
    ($values:expr, $slice:ident => $run:expr) => {
        match $values {
            $crate::assoc::values::Values::Float(array) => {
                let $slice = array.as_slice();
                $run
            }
            $crate::assoc::values::Values::Int(array) => {
                let $slice = array.as_slice();
                $run
            }
            $crate::assoc::values::Values::Bool(array) => {
                let $slice = array.as_slice();
                $run
            }
            $crate::assoc::values::Values::Position(array) => {
                let $slice = array.as_slice();
                $run
            }
        }
    };
}

/// The same for two matrices of numbers of one kind.
macro_rules! with_numbers {
    ($left:expr, $right:expr, $one:ident, $two:ident => $run:expr) => {
        match ($left, $right) {
            (
                $crate::assoc::values::Values::Float(left),
                $crate::assoc::values::Values::Float(right),
            ) => {
                let ($one, $two) = (left.as_slice(), right.as_slice());
                $run
            }
            (
                $crate::assoc::values::Values::Int(left),
                $crate::assoc::values::Values::Int(right),
            ) => {
                let ($one, $two) = (left.as_slice(), right.as_slice());
                $run
            }
            _ => {
                return Err(pyo3::exceptions::PyTypeError::new_err(
                    "values: both sides must be float64, or both int64",
                ));
            }
        }
    };
}

pub(super) use {with_numbers, with_values};

/// What a kernel made, of whichever kind of values.
pub(super) enum Made {
    Float(Condensed<f64>),
    Int(Condensed<i64>),
    Bool(Condensed<bool>),
    Position(Condensed<u32>),
}

macro_rules! made {
    ($($kind:ident of $item:ty),*) => {$(
        impl From<Condensed<$item>> for Made {
            fn from(made: Condensed<$item>) -> Self {
                Self::$kind(made)
            }
        }
    )*};
}

made!(Float of f64, Int of i64, Bool of bool, Position of u32);

/// The same as [`condensed`].
pub(super) fn made(
    py: Python<'_>,
    result: ostrakon_assoc::Result<Made>,
) -> PyResult<Bound<'_, PyTuple>> {
    match result.map_err(|error| to_python("result", &error))? {
        Made::Float(made) => condensed(py, Ok(made)),
        Made::Int(made) => condensed(py, Ok(made)),
        Made::Bool(made) => condensed(py, Ok(made)),
        Made::Position(made) => condensed(py, Ok(made)),
    }
}

/// `(starts, columns, values, rows left or None, columns left or None)`.
pub(super) fn condensed<T: Value + Item>(
    py: Python<'_>,
    result: ostrakon_assoc::Result<Condensed<T>>,
) -> PyResult<Bound<'_, PyTuple>> {
    let result = result.map_err(|error| to_python("result", &error))?;
    let (starts, columns, values) = result.matrix.into_parts();
    (
        starts.into_closed(py),
        columns.into_closed(py),
        values.into_closed(py),
        result.rows.map(|rows| rows.into_closed(py)),
        result.columns.map(|columns| columns.into_closed(py)),
    )
        .into_pyobject(py)
}
