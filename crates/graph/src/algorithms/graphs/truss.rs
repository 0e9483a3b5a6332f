//! k-truss: the largest subgraph in which every edge lies in at least k − 2 triangles.

use ostrakon_cell::{Result, ScanOptions};

use super::oriented::OrientedGraph;
use crate::Plus;
use crate::matrix::{Interner, SparseMatrix, Triples, UndirectedGraph};
use crate::tables::{
    GraphContext, MatrixTable, ResultTable, TableWriter, WriteCount, load_undirected,
};

/// A truss to be found.
#[derive(Debug, Clone, Default)]
pub struct TrussOptions {
    /// The adjacency table, taken as undirected and without loops; or the incidence table, rows
    /// edges with two ends.
    pub table: MatrixTable,
    /// k: each edge lies in at least k − 2 triangles. Below 3 every edge stays.
    pub k: u32,
    /// Where the truss is added: 1 in both directions; of an incidence table its own entries.
    pub result: Option<ResultTable>,
    /// Returns it as a matrix. Default: no.
    pub collect: bool,
}

/// A truss.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrussResult {
    /// Edges left, each once.
    pub edges: u64,
    /// Rounds until nothing changed.
    pub rounds: u32,
    /// Entries read.
    pub entries_read: u64,
    /// Entries written.
    pub io: WriteCount,
    /// The truss, if asked for.
    pub matrix: Option<SparseMatrix>,
}

/// The k-truss of an adjacency table.
///
/// Held in memory: the graph, 16 bytes per entry of the table while it is read, which is bounded by
/// `memory_bytes`. Only the truss is written: doing the rounds in tables writes a hundred times as
/// much (Graphulo's own finding).
///
/// # Errors
/// A missing table, a graph larger than `memory_bytes`.
pub fn k_truss_adjacency(context: &GraphContext, options: &TrussOptions) -> Result<TrussResult> {
    let (mut graph, entries_read) = load_undirected(context, &options.table)?;
    let rounds = peel(context, &mut graph, options.k)?;
    let mut outcome = TrussResult {
        edges: graph.entries() as u64 / 2,
        rounds,
        entries_read,
        ..TrussResult::default()
    };
    if let Some(table) = &options.result {
        let writer = TableWriter::open(context, table, Plus::Max)?;
        let mut sink = writer.sink(true, graph.entries() as u64)?;
        for vertex in 0..graph.vertices() {
            for &other in graph.neighbours(vertex) {
                sink.put(
                    graph.names.get(vertex),
                    graph.names.get(other as usize),
                    1.0,
                )?;
            }
        }
        outcome.io.entries_written = sink.finish()?;
    }
    outcome.io.result_entries = graph.entries() as u64;
    if options.collect {
        let mut triples = Triples::default();
        for vertex in 0..graph.vertices() {
            for &other in graph.neighbours(vertex) {
                triples.push(vertex as u32, other, 1.0);
            }
        }
        outcome.matrix = Some(triples.into_matrix(&graph.names, &graph.names, Plus::Max));
    }
    Ok(outcome)
}

/// The k-truss of an incidence table: the rows of the edges that stay. A row's columns name the ends
/// of its edge after a prefix that ends with `separator` (`Out|alice`); a row that has not exactly
/// two different ends is not an edge of a triangle and is removed. Parallel edges stay or go together.
///
/// Held in memory: as for [`k_truss_adjacency`]. The table is read twice.
///
/// # Errors
/// As [`k_truss_adjacency`].
pub fn k_truss_incidence(
    context: &GraphContext,
    options: &TrussOptions,
    separator: u8,
) -> Result<TrussResult> {
    let part = options.table.as_ones();
    let mut names = Interner::default();
    let mut edges = Vec::new();
    let mut ends = Ends::new(separator);
    let mut stream = part.stream(context)?;
    while stream.advance()? {
        ends.clear();
        stream.visit(|column, _| {
            ends.add(column);
            Ok(())
        })?;
        if let Some((a, b)) = ends.pair() {
            edges.push((names.intern(a)?, names.intern(b)?));
            context.check_memory(16 * edges.len(), "a graph")?;
        }
    }
    let mut outcome = TrussResult {
        entries_read: stream.entries(),
        ..TrussResult::default()
    };
    let mut graph = UndirectedGraph::new(names.keys(), &edges);
    drop(edges);
    outcome.rounds = peel(context, &mut graph, options.k)?;

    // The second reading copies the rows of the edges that stayed.
    let open = |table| TableWriter::open_for_copies(context, table, Plus::Max)?.sink(false, 0);
    let mut sink = options.result.as_ref().map(open).transpose()?;
    let (mut rows, mut columns) = (Interner::default(), Interner::default());
    let mut triples = options.collect.then(Triples::default);
    let table = context.table(&options.table.table)?;
    let scan_options: ScanOptions = options.table.scan_options()?;
    let mut scan = context.scan(&table, &options.table.rows.to_ranges(), scan_options)?;
    let mut batch = ostrakon_cell::Batch::new();
    let mut row: Vec<ostrakon_cell::Entry> = Vec::new();
    let mut take = |row: &mut Vec<ostrakon_cell::Entry>| -> Result<()> {
        ends.clear();
        for entry in row.iter() {
            ends.add(&entry.key.qualifier);
        }
        let stays = ends.pair().is_some_and(|(a, b)| {
            let find = |key| graph.names.find_sorted(key);
            match (find(a), find(b)) {
                (Some(a), Some(b)) => graph.neighbours(a).binary_search(&(b as u32)).is_ok(),
                _ => false,
            }
        });
        if stays {
            outcome.edges += 1;
            for entry in row.iter() {
                let key = &entry.key;
                outcome.io.result_entries += 1;
                if let Some(sink) = &mut sink {
                    sink.put_labelled(&key.row, &key.qualifier, &key.visibility, &entry.value)?;
                }
                if let Some(triples) = &mut triples {
                    let value = crate::parse_number(&entry.value).unwrap_or(1.0);
                    triples.push(
                        rows.intern(&key.row)?,
                        columns.intern(&key.qualifier)?,
                        value,
                    );
                }
            }
        }
        row.clear();
        Ok(())
    };
    while scan.next_batch(&mut batch)? {
        for entry in batch.iter() {
            if row.last().is_some_and(|last| last.key.row != entry.key.row) {
                take(&mut row)?;
            }
            row.push(entry.to_entry());
        }
    }
    take(&mut row)?;
    if let Some(sink) = sink {
        outcome.io.entries_written = sink.finish()?;
    }
    outcome.entries_read *= 2;
    outcome.matrix =
        triples.map(|triples| triples.into_matrix(rows.keys(), columns.keys(), Plus::Max));
    Ok(outcome)
}

/// The distinct ends of one edge.
struct Ends {
    separator: u8,
    keys: Vec<Vec<u8>>,
}

impl Ends {
    fn new(separator: u8) -> Self {
        Self {
            separator,
            keys: Vec::new(),
        }
    }

    fn clear(&mut self) {
        self.keys.clear();
    }

    fn add(&mut self, column: &[u8]) {
        let Some(border) = column.iter().position(|&byte| byte == self.separator) else {
            return;
        };
        let key = &column[border + 1..];
        if !self.keys.iter().any(|known| known == key) {
            self.keys.push(key.to_vec());
        }
    }

    fn pair(&self) -> Option<(&[u8], &[u8])> {
        match self.keys.as_slice() {
            [a, b] => Some((a, b)),
            _ => None,
        }
    }
}

/// Vertices whose triangles are counted before an interrupt is looked for.
const STRIDE: usize = 1024;

/// Removes edges until each lies in k − 2 triangles; returns the rounds it took.
fn peel(context: &GraphContext, graph: &mut UndirectedGraph, k: u32) -> Result<u32> {
    if k < 3 {
        return Ok(0);
    }
    let mut oriented = OrientedGraph::new(graph);
    let mut rounds = 0;
    let mut support: Vec<u32> = Vec::new();
    let mut marked = Vec::new();
    loop {
        rounds += 1;
        support.clear();
        support.resize(oriented.edges(), 0);
        for start in (0..oriented.vertices()).step_by(STRIDE) {
            context.interrupt.check()?;
            let end = oriented.vertices().min(start + STRIDE);
            oriented.triangles(start..end, &mut marked, |a, b, c| {
                support[a] += 1;
                support[b] += 1;
                support[c] += 1;
            });
        }
        let keep: Vec<bool> = support.iter().map(|&count| count + 2 >= k).collect();
        if keep.iter().all(|&keep| keep) {
            break;
        }
        oriented.retain(&keep);
    }
    // Both directions of what is left.
    let mut keep = vec![false; graph.entries()];
    for vertex in 0..oriented.vertices() {
        for edge in oriented.edges_of(vertex) {
            let other = oriented.target(edge);
            for (from, to) in [(vertex, other), (other, vertex)] {
                if let Ok(at) = graph.neighbours(from).binary_search(&(to as u32)) {
                    keep[graph.offset(from) + at] = true;
                }
            }
        }
    }
    graph.retain(&keep);
    Ok(rounds)
}
