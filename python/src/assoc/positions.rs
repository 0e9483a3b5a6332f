//! Positions as NumPy arrays, in and out.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

pub(super) type Positions<'py> = Bound<'py, PyArray1<u32>>;

/// Four lists of positions, as most kernels that match places answer.
pub(super) type FourPositions<'py> = (
    Positions<'py>,
    Positions<'py>,
    Positions<'py>,
    Positions<'py>,
);

/// A map from positions to positions; `None` leaves them as they are.
pub(super) type Map<'py> = Option<PyReadonlyArray1<'py, u32>>;

pub(super) fn slice<'a>(map: &'a Map<'_>) -> PyResult<Option<&'a [u32]>> {
    Ok(match map {
        Some(map) => Some(map.as_slice()?),
        None => None,
    })
}

pub(super) fn four(py: Python<'_>, lists: [Vec<u32>; 4]) -> FourPositions<'_> {
    let [one, two, three, four] = lists.map(|list| list.into_pyarray(py));
    (one, two, three, four)
}
