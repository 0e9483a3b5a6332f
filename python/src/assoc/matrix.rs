//! Builds, combines and selects from matrices.

use ostrakon_assoc::csr::{
    Aligned, Collision, Csr, Elementwise, Triples, filter, group, intersection,
    matched_intersection, matched_union, row_numbers, select, transpose, union,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::positions::{FourPositions, Map, Positions, four, slice};
use super::running::run;
use super::source::to_python;
use super::values::{Made, Matrix, Values, condensed, made, with_numbers, with_values};
use crate::arrays::{Close, Items};

/// Triples to a condensed matrix.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "called by keyword from one place"
)]
pub(super) fn assoc_fold<'py>(
    py: Python<'py>,
    rows: Items<u32>,
    columns: Items<u32>,
    values: Values,
    shape: (usize, usize),
    collision: &str,
    drop_null: bool,
    threads: usize,
) -> PyResult<Bound<'py, PyTuple>> {
    let collision = match collision {
        "min" => Collision::Min,
        "max" => Collision::Max,
        "sum" => Collision::Sum,
        "prod" => Collision::Product,
        "first" => Collision::First,
        "last" => Collision::Last,
        other => return Err(unknown("collision function", other)),
    };
    let folded = run(py, rows.as_slice().len(), move || {
        let triples = Triples {
            rows: rows.as_slice(),
            columns: columns.as_slice(),
            shape,
        };
        with_values!(&values, values => {
            Csr::from_triples_keeping(&triples, values, collision, drop_null, threads)
                .map(Made::from)
        })
    })?;
    made(py, folded)
}

/// Triples by place: `(starts, columns, groups, order)`.
#[pyfunction]
pub(super) fn assoc_group<'py>(
    py: Python<'py>,
    rows: Items<u32>,
    columns: Items<u32>,
    shape: (usize, usize),
    threads: usize,
) -> PyResult<FourPositions<'py>> {
    let grouped = run(py, rows.as_slice().len(), move || {
        let triples = Triples {
            rows: rows.as_slice(),
            columns: columns.as_slice(),
            shape,
        };
        group(&triples, threads)
    })?;
    let grouped = grouped.map_err(|error| to_python("triples", &error))?;
    let lists = [
        grouped.starts,
        grouped.columns,
        grouped.groups,
        grouped.order,
    ];
    Ok(four(py, lists))
}

/// A matrix with the maps of its rows and columns into the common shape.
#[derive(FromPyObject)]
pub(super) struct Mapped(Matrix, Map, Map);

impl Mapped {
    fn align<'a, T>(&'a self, values: &'a [T]) -> PyResult<Aligned<'a, T>> {
        Aligned::new(self.0.view(values)?, slice(&self.1), slice(&self.2))
            .map_err(|error| to_python("map", &error))
    }
}

/// Numbers place by place, over the union or the intersection of places.
#[pyfunction]
pub(super) fn assoc_elementwise<'py>(
    py: Python<'py>,
    left: Mapped,
    right: Mapped,
    shape: (usize, usize),
    operation: &str,
    over_union: bool,
    drop_null: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let operation = match operation {
        "add" => Elementwise::Add,
        "subtract" => Elementwise::Subtract,
        "multiply" => Elementwise::Multiply,
        "divide" => Elementwise::Divide,
        "min" => Elementwise::Min,
        "max" => Elementwise::Max,
        "first" => Elementwise::First,
        "pair" => Elementwise::Pair,
        other => return Err(unknown("elementwise operation", other)),
    };
    let met = run(py, left.0.len() + right.0.len(), move || {
        with_numbers!(&left.0.2, &right.0.2, one, two => {
            let (one, two) = (left.align(one)?, right.align(two)?);
            let met = if over_union {
                union(&one, &two, shape, operation, drop_null)
            } else {
                intersection(&one, &two, shape, operation, drop_null)
            };
            Ok(met.map(Made::from))
        })
    })?;
    made(py, met?)
}

/// Places of the union or intersection and the entries there: `(starts, columns, left, right)`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "extracted from Python")]
pub(super) fn assoc_match<'py>(
    py: Python<'py>,
    left: Mapped,
    right: Mapped,
    shape: (usize, usize),
    over_union: bool,
) -> PyResult<FourPositions<'py>> {
    // Only places are compared, so the types of the values may differ.
    let matched = with_values!(&left.0.2, one => with_values!(&right.0.2, two => {
        let (one, two) = (left.align(one)?, right.align(two)?);
        py.detach(|| {
            if over_union {
                matched_union(&one, &two, shape)
            } else {
                matched_intersection(&one, &two, shape)
            }
        })
    }))
    .map_err(|error| to_python("result", &error))?;
    let lists = [matched.starts, matched.columns, matched.left, matched.right];
    Ok(four(py, lists))
}

/// The entries in some rows and columns.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "extracted from Python")]
pub(super) fn assoc_select<'py>(
    py: Python<'py>,
    matrix: Matrix,
    rows: Map,
    columns: Map,
) -> PyResult<Bound<'py, PyTuple>> {
    let (rows, columns) = (slice(&rows), slice(&columns));
    with_values!(&matrix.2, values => {
        let view = matrix.view(values)?;
        condensed(py, py.detach(|| select(&view, rows, columns)))
    })
}

/// The entries whose mark is set.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "extracted from Python")]
pub(super) fn assoc_filter<'py>(
    py: Python<'py>,
    matrix: Matrix,
    marks: Items<bool>,
) -> PyResult<Bound<'py, PyTuple>> {
    let marks = marks.as_slice();
    with_values!(&matrix.2, values => {
        let view = matrix.view(values)?;
        condensed(py, py.detach(|| filter(&view, marks)))
    })
}

/// Rows become columns: `(starts, columns, values)`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "extracted from Python")]
pub(super) fn assoc_transpose<'py>(
    py: Python<'py>,
    matrix: Matrix,
) -> PyResult<Bound<'py, PyTuple>> {
    with_values!(&matrix.2, values => {
        let view = matrix.view(values)?;
        let (starts, columns, values) = py.detach(|| transpose(&view)).into_parts();
        let parts = (starts.into_closed(py), columns.into_closed(py), values.into_closed(py));
        parts.into_pyobject(py)
    })
}

/// Row of each entry.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "extracted from Python")]
pub(super) fn assoc_rows<'py>(py: Python<'py>, starts: Items<u32>) -> PyResult<Positions<'py>> {
    Ok(row_numbers(starts.as_slice()).into_closed(py))
}

pub(super) fn unknown(what: &str, name: &str) -> PyErr {
    PyValueError::new_err(format!("there is no {what} {name:?}"))
}
