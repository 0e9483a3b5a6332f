//! Writing a graph from columns.

use ostrakon_cell::{Error, Result};
use ostrakon_graph::{
    AdjacencyTables, AdjacencyWriter, IncidenceTables, IncidenceWriter, SingleTableWriter,
    parse_number,
};
use pyo3::prelude::*;

use super::arguments::ContextArgument;
use crate::columns::{Column, column};
use crate::errors::IntoPython;
use crate::tables::NativeStore;

/// A writer of one of the three forms.
enum Writer {
    Adjacency(AdjacencyWriter),
    Incidence(IncidenceWriter, u64),
    Single(SingleTableWriter),
}

impl Writer {
    fn add(&mut self, from: &[u8], to: &[u8], weight: f64) -> Result<()> {
        match self {
            Self::Adjacency(writer) => writer.add(from, to, weight),
            Self::Incidence(writer, next) => {
                let number = *next;
                *next += 1;
                writer.add(number, from, to, weight)
            }
            Self::Single(writer) => writer.add(from, to, weight),
        }
    }

    fn close(self) -> Result<u64> {
        match self {
            Self::Adjacency(writer) => writer.close(),
            Self::Incidence(writer, _) => writer.close(),
            Self::Single(writer) => writer.close(),
        }
    }
}

/// Writes edges into the tables of a form; returns the entries written.
#[pyfunction]
pub(super) fn graph_write(
    py: Python<'_>,
    store: &NativeStore,
    context: ContextArgument,
    form: &str,
    name: &str,
    first_edge: u64,
    edges: (Bound<'_, PyAny>, Bound<'_, PyAny>, Bound<'_, PyAny>),
) -> PyResult<u64> {
    let context = context.into_context(store)?;
    let rows = column("rows", &edges.0)?;
    let columns = column("columns", &edges.1)?;
    let weights = column("weights", &edges.2)?;
    py.detach(|| {
        let mut writer = match form {
            "adjacency" => Writer::Adjacency(AdjacencyWriter::new(
                &context,
                &AdjacencyTables::named(name),
            )?),
            "incidence" => Writer::Incidence(
                IncidenceWriter::new(&context, &IncidenceTables::named(name))?,
                first_edge,
            ),
            "single" => Writer::Single(SingleTableWriter::new(&context, name, b'|')?),
            other => {
                return Err(
                    Error::invalid("`form` is one of adjacency, incidence, single")
                        .with("argument", "form")
                        .with("given", other),
                );
            }
        };
        write(&mut writer, &rows, &columns, &weights)?;
        writer.close()
    })
    .into_python()
}

fn write(writer: &mut Writer, rows: &Column, columns: &Column, weights: &Column) -> Result<()> {
    let counts = [rows.len(), columns.len(), weights.len()];
    let count = counts.into_iter().flatten().max().unwrap_or(1);
    if counts.into_iter().flatten().any(|len| len != count) {
        return Err(Error::invalid(format!(
            "`rows`, `columns` and `weights` differ in length: {counts:?}; nothing was written"
        ))
        .with("argument", "columns"));
    }
    let ends = rows.entries().zip(columns.entries());
    for ((from, to), weight) in ends.zip(weights.entries()).take(count) {
        let weight = parse_number(weight).ok_or_else(|| {
            Error::invalid("`weights` holds a value that is not a number")
                .with("argument", "weights")
        })?;
        writer.add(from, to, weight)?;
    }
    Ok(())
}
