//! Positions as NumPy arrays, in and out.

use numpy::PyArray1;
use pyo3::prelude::*;

use crate::arrays::{Close, Items};

pub(super) type Positions<'py> = Bound<'py, PyArray1<u32>>;

/// Four lists of positions, as most kernels that match places answer.
pub(super) type FourPositions<'py> = (
    Positions<'py>,
    Positions<'py>,
    Positions<'py>,
    Positions<'py>,
);

/// A map from positions to positions; `None` leaves them as they are.
pub(super) type Map = Option<Items<u32>>;

pub(super) fn slice(map: &Map) -> Option<&[u32]> {
    map.as_ref().map(Items::as_slice)
}

pub(super) fn four(py: Python<'_>, lists: [Vec<u32>; 4]) -> FourPositions<'_> {
    let [one, two, three, four] = lists.map(|list| list.into_closed(py));
    (one, two, three, four)
}
