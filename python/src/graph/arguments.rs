//! Contexts and tables as Python passes them: dictionaries that `ostrakon.graph` makes.

use ostrakon_cell::Error;
use ostrakon_graph::{GraphContext, KeyRanges, MatrixTable, ResultTable, ValueKind};
use pyo3::prelude::*;

use crate::errors::IntoPython;
use crate::tables::{NativeStore, Text};

/// Where an algorithm works, as whom, within which memory.
#[derive(FromPyObject)]
pub(super) struct ContextArgument {
    #[pyo3(item)]
    auths: Option<Vec<Text>>,
    #[pyo3(item)]
    visibility: Option<Text>,
    #[pyo3(item)]
    memory_bytes: Option<usize>,
    #[pyo3(item)]
    threads: Option<usize>,
}

impl ContextArgument {
    pub(super) fn into_context(self, store: &NativeStore) -> PyResult<GraphContext> {
        let mut context = GraphContext::new(store.open_store().into_python()?);
        context.authorizations = store.authorizations(self.auths)?;
        context.visibility = self.visibility.map(Text::into_bytes);
        context.memory_bytes = self.memory_bytes.unwrap_or(context.memory_bytes);
        context.threads = self.threads.unwrap_or(context.threads);
        Ok(context)
    }
}

/// A part of a table as a matrix.
#[derive(FromPyObject)]
pub(super) struct MatrixArgument {
    #[pyo3(item)]
    table: String,
    #[pyo3(item)]
    family: Option<Text>,
    #[pyo3(item)]
    rows: String,
    #[pyo3(item)]
    columns: String,
    #[pyo3(item)]
    least: Option<f64>,
    #[pyo3(item)]
    most: Option<f64>,
    #[pyo3(item)]
    values: String,
}

impl MatrixArgument {
    pub(super) fn into_matrix(self) -> PyResult<MatrixTable> {
        let keys = |text: &str, name: &'static str| {
            KeyRanges::parse(text)
                .map_err(|error| error.with("argument", name))
                .into_python()
        };
        let values = match self.values.as_str() {
            "numbers" => ValueKind::Numbers,
            "numbers_or_one" => ValueKind::NumbersOrOne,
            "ones" => ValueKind::Ones,
            other => {
                return Err(
                    Error::invalid("`values` is one of numbers, numbers_or_one, ones")
                        .with("argument", "values")
                        .with("given", other),
                )
                .into_python();
            }
        };
        Ok(MatrixTable {
            family: self.family.map(Text::into_bytes),
            rows: keys(&self.rows, "rows")?,
            columns: keys(&self.columns, "columns")?,
            least: self.least,
            most: self.most,
            apply: None,
            values,
            table: self.table,
        })
    }
}

/// A result table, if one is named.
pub(super) fn result_of(name: Option<String>) -> Option<ResultTable> {
    name.map(ResultTable::from)
}
