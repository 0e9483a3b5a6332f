//! Two tables: their product, and entry by entry.

use ostrakon_cell::Error;
use ostrakon_graph::{
    Elementwise, ElementwiseOptions, Part, Plus, TableMultOptions, Times, elementwise, table_mult,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::arguments::{ContextArgument, MatrixArgument, result_of};
use super::results::Answer;
use super::running::run;
use crate::errors::IntoPython;
use crate::tables::NativeStore;

/// Where results go: a table, a table for the transpose, and whether they are returned.
type Outputs = (Option<String>, Option<String>, bool);

/// `C += leftᵀ right`.
#[pyfunction]
pub(super) fn graph_multiply<'py>(
    py: Python<'py>,
    store: &NativeStore,
    context: ContextArgument,
    tables: (MatrixArgument, MatrixArgument),
    semiring: &str,
    part: &str,
    outputs: Outputs,
) -> PyResult<Bound<'py, PyDict>> {
    let context = context.into_context(store)?;
    let part = match part {
        "all" => Part::All,
        "off_diagonal" => Part::OffDiagonal,
        "upper" => Part::Upper,
        other => {
            return Err(Error::invalid("`part` is one of all, off_diagonal, upper")
                .with("argument", "part")
                .with("given", other))
            .into_python();
        }
    };
    let options = TableMultOptions {
        left: tables.0.into_matrix()?,
        right: tables.1.into_matrix()?,
        semiring: semiring
            .parse()
            .map_err(|error: Error| error.with("argument", "semiring"))
            .into_python()?,
        part,
        result: result_of(outputs.0),
        result_transpose: result_of(outputs.1),
        collect: outputs.2,
    };
    let outcome = run(py, &context, || table_mult(&context, &options))?;
    Ok(Answer::new(py)
        .number("partial_products", outcome.partial_products)?
        .number("rows_matched", outcome.rows_matched)?
        .number("entries_read", outcome.entries_read)?
        .number("collections", outcome.collections.into())?
        .io(&outcome.io)?
        .matrix(outcome.matrix.as_ref())?
        .done())
}

/// Product or sum entry by entry.
#[pyfunction]
pub(super) fn graph_elementwise<'py>(
    py: Python<'py>,
    store: &NativeStore,
    context: ContextArgument,
    tables: (MatrixArgument, MatrixArgument),
    union: bool,
    operation: &str,
    outputs: Outputs,
) -> PyResult<Bound<'py, PyDict>> {
    let context = context.into_context(store)?;
    let named = |error: Error| error.with("argument", "operation");
    let operation = if union {
        Elementwise::Sum(operation.parse::<Plus>().map_err(named).into_python()?)
    } else {
        Elementwise::Multiply(operation.parse::<Times>().map_err(named).into_python()?)
    };
    let options = ElementwiseOptions {
        left: tables.0.into_matrix()?,
        right: tables.1.into_matrix()?,
        operation,
        result: result_of(outputs.0),
        result_transpose: result_of(outputs.1),
        collect: outputs.2,
    };
    let outcome = run(py, &context, || elementwise(&context, &options))?;
    Ok(Answer::new(py)
        .number("entries", outcome.entries)?
        .number("entries_read", outcome.entries_read)?
        .io(&outcome.io)?
        .matrix(outcome.matrix.as_ref())?
        .done())
}
