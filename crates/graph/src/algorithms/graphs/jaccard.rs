//! Jaccard similarity of neighbourhoods.

use ostrakon_cell::Result;

use crate::Plus;
use crate::matrix::{SparseMatrix, Triples, UndirectedGraph};
use crate::tables::{
    GraphContext, MatrixTable, ResultTable, TableWriter, WriteCount, load_undirected,
};

/// What to compare.
#[derive(Debug, Clone, Default)]
pub struct JaccardOptions {
    /// The adjacency table, taken as undirected, unweighted and without loops.
    pub table: MatrixTable,
    /// Where the similarities are added: row the smaller key, qualifier the greater.
    pub result: Option<ResultTable>,
    /// Returns them as a matrix, strictly upper triangular. Default: no.
    pub collect: bool,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JaccardResult {
    /// Pairs of vertices with a common neighbour.
    pub pairs: u64,
    /// Common neighbours of all pairs: partial products.
    pub partial_products: u64,
    /// Entries read.
    pub entries_read: u64,
    /// Entries written.
    pub io: WriteCount,
    /// The similarities, if asked for.
    pub matrix: Option<SparseMatrix>,
}

/// For every pair of vertices with common neighbours, their number divided by the number of vertices
/// that are neighbours of either.
///
/// Held in memory: the graph, 16 bytes per entry of the table while it is read, which is bounded by
/// `memory_bytes`; a count for each vertex. Pairs are written as they are found, in order, each
/// once.
///
/// # Errors
/// A missing table, a graph or a matrix larger than `memory_bytes`, a result table that takes whole
/// numbers alone.
pub fn jaccard(context: &GraphContext, options: &JaccardOptions) -> Result<JaccardResult> {
    let (graph, entries_read) = load_undirected(context, &options.table)?;
    let mut outcome = JaccardResult {
        entries_read,
        partial_products: (0..graph.vertices())
            .map(|vertex| graph.neighbours(vertex).len() as u64)
            .map(|degree| degree * degree.saturating_sub(1) / 2)
            .sum(),
        ..JaccardResult::default()
    };
    let products = outcome.partial_products;
    let open = |table| TableWriter::open(context, table, Plus::Max)?.sink(true, products);
    let mut sink = options.result.as_ref().map(open).transpose()?;
    let mut triples = options.collect.then(Triples::default);
    let mut counts = vec![0_u32; graph.vertices()];
    let mut touched: Vec<u32> = Vec::new();
    for vertex in 0..graph.vertices() {
        context.interrupt.check()?;
        count_common(&graph, vertex, &mut counts, &mut touched);
        touched.sort_unstable();
        outcome.pairs += touched.len() as u64;
        let degree = graph.neighbours(vertex).len();
        for other in touched.drain(..) {
            let common = std::mem::take(&mut counts[other as usize]) as usize;
            let either = degree + graph.neighbours(other as usize).len() - common;
            let similarity = common as f64 / either as f64;
            if let Some(sink) = &mut sink {
                sink.put(
                    graph.names.get(vertex),
                    graph.names.get(other as usize),
                    similarity,
                )?;
            }
            if let Some(triples) = &mut triples {
                triples.push(vertex as u32, other, similarity);
            }
        }
        if let Some(triples) = &triples {
            context.check_memory(32 * triples.rows.len(), "the similarities asked for")?;
        }
    }
    if let Some(sink) = sink {
        outcome.io.entries_written = sink.finish()?;
    }
    outcome.io.result_entries = outcome.pairs;
    outcome.matrix =
        triples.map(|triples| triples.into_matrix(&graph.names, &graph.names, Plus::Max));
    Ok(outcome)
}

/// Counts the common neighbours of a vertex and every greater one.
fn count_common(
    graph: &UndirectedGraph,
    vertex: usize,
    counts: &mut [u32],
    touched: &mut Vec<u32>,
) {
    for &between in graph.neighbours(vertex) {
        let others = graph.neighbours(between as usize);
        let greater = others.partition_point(|&other| other as usize <= vertex);
        for &other in &others[greater..] {
            let count = &mut counts[other as usize];
            if *count == 0 {
                touched.push(other);
            }
            *count += 1;
        }
    }
}
