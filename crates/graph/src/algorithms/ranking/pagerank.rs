//! PageRank.

use ostrakon_cell::{Error, Result};

use super::edge_list::EdgeList;
use crate::Plus;
use crate::matrix::Keys;
use crate::tables::{GraphContext, MatrixTable, ResultTable, TableWriter, WriteCount};

/// How to rank.
#[derive(Debug, Clone)]
pub struct PageRankOptions {
    /// The adjacency table; values weigh the edges.
    pub table: MatrixTable,
    /// Probability to follow an edge instead of starting anywhere. Default: 0.85.
    pub damping: f64,
    /// The ranks are good when they change by less than this times the number of vertices, all
    /// together. Default: 1e-6.
    pub tolerance: f64,
    /// Most rounds. Default: 100.
    pub rounds_max: u32,
    /// Where the ranks are added, a row each, column `PageRank`.
    pub result: Option<ResultTable>,
}

impl PageRankOptions {
    /// The defaults for a table.
    #[must_use]
    pub fn new(table: impl Into<MatrixTable>) -> Self {
        Self {
            table: table.into(),
            damping: 0.85,
            tolerance: 1e-6,
            rounds_max: 100,
            result: None,
        }
    }
}

/// Ranks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PageRankResult {
    /// The vertices, sorted.
    pub vertices: Keys,
    /// Their ranks, which add up to 1.
    pub ranks: Vec<f64>,
    /// Rounds done.
    pub rounds: u32,
    /// Whether the tolerance was reached.
    pub converged: bool,
    /// Entries read.
    pub entries_read: u64,
    /// Entries written.
    pub io: WriteCount,
}

/// Ranks the vertices of an adjacency table (S. Brin and L. Page, 1998): power iteration; what
/// reaches a vertex without outgoing edges starts anywhere.
///
/// Held in memory: the keys of the vertices, 24 bytes for each, and the edges while they fit
/// `memory_bytes`; else the table is read in every round.
///
/// # Errors
/// A missing table, negative weights or other values that are not numbers, options out of bounds.
pub fn pagerank(context: &GraphContext, options: &PageRankOptions) -> Result<PageRankResult> {
    if !(0.0..1.0).contains(&options.damping) {
        return Err(
            Error::invalid("the damping must lie between 0 and 1").with("damping", options.damping)
        );
    }
    let mut edges = EdgeList::read(context, &options.table, true)?;
    let count = edges.rows.len();
    let mut outgoing = vec![0.0_f64; count];
    let mut negative = false;
    edges.each(|row, _, weight| {
        negative |= weight < 0.0;
        outgoing[row] += weight;
    })?;
    if negative {
        return Err(Error::invalid(
            "an edge has a negative weight: filter the table, or count edges as 1",
        ));
    }
    let share = 1.0 / count.max(1) as f64;
    let mut ranks = vec![share; count];
    let mut next = vec![0.0; count];
    let (mut rounds, mut converged) = (0, count == 0);
    while !converged && rounds < options.rounds_max {
        context.interrupt.check()?;
        rounds += 1;
        let dangling: f64 = ranks
            .iter()
            .zip(&outgoing)
            .filter(|(_, outgoing)| **outgoing == 0.0)
            .map(|(rank, _)| rank)
            .sum();
        let base = (1.0 - options.damping + options.damping * dangling) * share;
        next.fill(base);
        edges.each(|row, column, weight| {
            if outgoing[row] > 0.0 {
                next[column] += options.damping * ranks[row] * weight / outgoing[row];
            }
        })?;
        let change: f64 = ranks.iter().zip(&next).map(|(a, b)| (a - b).abs()).sum();
        std::mem::swap(&mut ranks, &mut next);
        converged = change < options.tolerance * count as f64;
    }
    let order = edges.rows.keys().sorted_positions();
    let vertices = edges.rows.keys().pick(&order);
    let ranks: Vec<f64> = order.iter().map(|&at| ranks[at as usize]).collect();
    let mut io = WriteCount {
        result_entries: vertices.len() as u64,
        ..WriteCount::default()
    };
    if let Some(result) = &options.result {
        let writer = TableWriter::open(context, result, Plus::Max)?;
        let mut sink = writer.sink(true, vertices.len() as u64)?;
        for (vertex, &rank) in vertices.iter().zip(&ranks) {
            sink.put(vertex, b"PageRank", rank)?;
        }
        io.entries_written = sink.finish()?;
    }
    Ok(PageRankResult {
        vertices,
        ranks,
        rounds,
        converged,
        entries_read: edges.entries_read,
        io,
    })
}
