//! The algorithms on one table.

use ostrakon_cell::Error;
use ostrakon_graph::{
    BfsOptions, DegreeLimit, FactorsOptions, GraphContext, GraphForm, JaccardOptions, MatrixTable,
    PageRankOptions, Plus, RowReduction, TfIdfOptions, TrussOptions, bfs, connected_components,
    degree_table, jaccard, k_truss_adjacency, k_truss_incidence, nmf, pagerank, tfidf,
    triangle_count,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::arguments::{ContextArgument, MatrixArgument, result_of};
use super::results::Answer;
use super::running::run;
use crate::columns::column_to_read;
use crate::errors::IntoPython;
use crate::tables::{NativeStore, Text};

/// A search.
#[derive(FromPyObject)]
pub(super) struct SearchArgument {
    #[pyo3(item)]
    form: String,
    #[pyo3(item)]
    table: String,
    #[pyo3(item)]
    transpose: Option<String>,
    #[pyo3(item)]
    steps: u32,
    #[pyo3(item)]
    degrees: Option<(String, Text, Text, f64, f64)>,
    #[pyo3(item)]
    union: bool,
    #[pyo3(item)]
    revisit: bool,
    #[pyo3(item)]
    outputs: (Option<String>, Option<String>, bool),
}

impl SearchArgument {
    fn form(&self) -> PyResult<GraphForm> {
        let table = self.table.clone();
        Ok(match self.form.as_str() {
            "adjacency" => GraphForm::Adjacency { table },
            "incidence" => GraphForm::Incidence {
                edges: table,
                transpose: self.transpose.clone(),
                start_prefixes: vec![b"Out|".to_vec()],
                end_prefixes: vec![b"In|".to_vec()],
            },
            "single" => GraphForm::SingleTable {
                table,
                edge_column: b"edge".to_vec(),
                separator: b'|',
            },
            other => {
                return Err(
                    Error::invalid("`form` is one of adjacency, incidence, single")
                        .with("argument", "form")
                        .with("given", other),
                )
                .into_python();
            }
        })
    }
}

/// Breadth-first search.
#[pyfunction]
pub(super) fn graph_search<'py>(
    py: Python<'py>,
    store: &NativeStore,
    context: ContextArgument,
    start: &Bound<'py, PyAny>,
    search: SearchArgument,
) -> PyResult<Bound<'py, PyDict>> {
    let context = context.into_context(store)?;
    let start = column_to_read("start", start)?;
    let count = start.len().unwrap_or(1);
    let form = search.form()?;
    let options = BfsOptions {
        form,
        start: start.entries().take(count).collect(),
        steps: search.steps,
        degrees: search
            .degrees
            .map(|(table, column, prefix, least, most)| DegreeLimit {
                table,
                column: column.into_bytes(),
                prefix: prefix.into_bytes(),
                least,
                most,
            }),
        union: search.union,
        revisit: search.revisit,
        result: result_of(search.outputs.0),
        result_transpose: result_of(search.outputs.1),
        collect: search.outputs.2,
    };
    let found = run(py, &context, || bfs(&context, &options))?;
    Ok(Answer::new(py)
        .keys("vertices", &found.vertices)?
        .positions("levels", &found.levels)?
        .positions("last", &found.last)?
        .number("edges", found.edges)?
        .number("entries_read", found.entries_read)?
        .io(&found.io)?
        .matrix(found.matrix.as_ref())?
        .done())
}

/// Options of the algorithms that take numbers; those an algorithm does not know are not looked at.
#[derive(FromPyObject)]
pub(super) struct ComputeArgument {
    #[pyo3(item)]
    result: Option<String>,
    #[pyo3(item)]
    second_result: Option<String>,
    #[pyo3(item)]
    collect: bool,
    #[pyo3(item)]
    count: u32,
    #[pyo3(item)]
    rounds_max: u32,
    #[pyo3(item)]
    tolerance: f64,
    #[pyo3(item)]
    damping: f64,
    #[pyo3(item)]
    seed: u64,
    #[pyo3(item)]
    column: Text,
}

/// Runs an algorithm by name.
#[pyfunction]
pub(super) fn graph_compute<'py>(
    py: Python<'py>,
    store: &NativeStore,
    context: ContextArgument,
    algorithm: &str,
    table: MatrixArgument,
    options: ComputeArgument,
) -> PyResult<Bound<'py, PyDict>> {
    let context = context.into_context(store)?;
    let table = table.into_matrix()?;
    match algorithm {
        "triangle_count" => {
            let found = run(py, &context, || triangle_count(&context, &table))?;
            Ok(Answer::new(py)
                .number("triangles", found.triangles)?
                .number("vertices", found.vertices)?
                .number("edges", found.edges)?
                .number("entries_read", found.entries_read)?
                .done())
        }
        "jaccard" => similar(py, &context, table, options),
        "k_truss" | "k_truss_incidence" => truss(
            py,
            &context,
            table,
            options,
            algorithm == "k_truss_incidence",
        ),
        "connected_components" => {
            let result = result_of(options.result);
            let found = run(py, &context, || {
                connected_components(&context, &table, result.as_ref())
            })?;
            Ok(Answer::new(py)
                .keys("vertices", &found.vertices)?
                .positions("representatives", &found.representatives)?
                .number("components", found.components)?
                .number("entries_read", found.entries_read)?
                .io(&found.io)?
                .done())
        }
        "pagerank" => rank(py, &context, table, options),
        "tfidf" => weigh(py, &context, table, options),
        "nmf" => factor(py, &context, table, options),
        _ => degrees(py, &context, &table, options),
    }
}

fn similar<'py>(
    py: Python<'py>,
    context: &GraphContext,
    table: MatrixTable,
    options: ComputeArgument,
) -> PyResult<Bound<'py, PyDict>> {
    let options = JaccardOptions {
        table,
        result: result_of(options.result),
        collect: options.collect,
    };
    let found = run(py, context, || jaccard(context, &options))?;
    Ok(Answer::new(py)
        .number("pairs", found.pairs)?
        .number("partial_products", found.partial_products)?
        .number("entries_read", found.entries_read)?
        .io(&found.io)?
        .matrix(found.matrix.as_ref())?
        .done())
}

fn truss<'py>(
    py: Python<'py>,
    context: &GraphContext,
    table: MatrixTable,
    options: ComputeArgument,
    incidence: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let options = TrussOptions {
        table,
        k: options.count,
        result: result_of(options.result),
        collect: options.collect,
    };
    let found = run(py, context, || {
        if incidence {
            k_truss_incidence(context, &options, b'|')
        } else {
            k_truss_adjacency(context, &options)
        }
    })?;
    Ok(Answer::new(py)
        .number("edges", found.edges)?
        .number("rounds", found.rounds.into())?
        .number("entries_read", found.entries_read)?
        .io(&found.io)?
        .matrix(found.matrix.as_ref())?
        .done())
}

fn rank<'py>(
    py: Python<'py>,
    context: &GraphContext,
    table: MatrixTable,
    options: ComputeArgument,
) -> PyResult<Bound<'py, PyDict>> {
    let options = PageRankOptions {
        table,
        damping: options.damping,
        tolerance: options.tolerance,
        rounds_max: options.rounds_max,
        result: result_of(options.result),
    };
    let found = run(py, context, || pagerank(context, &options))?;
    Ok(Answer::new(py)
        .keys("vertices", &found.vertices)?
        .floats("ranks", &found.ranks)?
        .number("rounds", found.rounds.into())?
        .truth("converged", found.converged)?
        .number("entries_read", found.entries_read)?
        .io(&found.io)?
        .done())
}

fn weigh<'py>(
    py: Python<'py>,
    context: &GraphContext,
    table: MatrixTable,
    options: ComputeArgument,
) -> PyResult<Bound<'py, PyDict>> {
    let options = TfIdfOptions {
        table,
        result: result_of(options.result),
        collect: options.collect,
    };
    let found = run(py, context, || tfidf(context, &options))?;
    Ok(Answer::new(py)
        .number("documents", found.documents)?
        .number("words", found.words)?
        .number("entries_read", found.entries_read)?
        .io(&found.io)?
        .matrix(found.matrix.as_ref())?
        .done())
}

fn factor<'py>(
    py: Python<'py>,
    context: &GraphContext,
    table: MatrixTable,
    options: ComputeArgument,
) -> PyResult<Bound<'py, PyDict>> {
    let options = FactorsOptions {
        table,
        topics: options.count as usize,
        rounds_max: options.rounds_max,
        tolerance: options.tolerance,
        seed: options.seed,
        documents_result: result_of(options.result),
        words_result: result_of(options.second_result),
    };
    let found = run(py, context, || nmf(context, &options))?;
    Ok(Answer::new(py)
        .keys("documents", &found.documents)?
        .keys("words", &found.words)?
        .floats("document_topics", &found.document_topics)?
        .floats("word_topics", &found.word_topics)?
        .floats("errors", &found.errors)?
        .number("entries_read", found.entries_read)?
        .io(&found.io)?
        .done())
}

fn degrees<'py>(
    py: Python<'py>,
    context: &GraphContext,
    table: &MatrixTable,
    options: ComputeArgument,
) -> PyResult<Bound<'py, PyDict>> {
    let result = result_of(options.result)
        .ok_or_else(|| Error::invalid("`result` names no table").with("argument", "result"))
        .into_python()?;
    let reduction = if options.count == 0 {
        RowReduction::Count
    } else {
        RowReduction::Values(Plus::Sum)
    };
    let column = options.column.into_bytes();
    let io = run(py, context, || {
        degree_table(context, table, reduction, &result, &column)
    })?;
    Ok(Answer::new(py).io(&io)?.done())
}
