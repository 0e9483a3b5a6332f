//! Counting triangles.

use std::sync::atomic::{AtomicUsize, Ordering};

use ostrakon_cell::Result;

use super::oriented::OrientedGraph;
use crate::tables::{GraphContext, MatrixTable, load_undirected};

/// Vertices a thread takes at a time.
const STRIDE: usize = 512;

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TriangleResult {
    /// Triangles, each once.
    pub triangles: u64,
    /// Vertices.
    pub vertices: u64,
    /// Edges, each once, without loops.
    pub edges: u64,
    /// Entries read.
    pub entries_read: u64,
}

/// Counts the triangles of an adjacency table, taken as undirected and without loops.
///
/// Held in memory: the graph, 16 bytes per entry of the table while it is read, which is bounded by
/// `memory_bytes`. Nothing is written. The algorithm is T. Schank and D. Wagner's (2005).
///
/// # Errors
/// A missing table, a graph larger than `memory_bytes`.
pub fn triangle_count(context: &GraphContext, table: &MatrixTable) -> Result<TriangleResult> {
    let (graph, entries_read) = load_undirected(context, table)?;
    let oriented = OrientedGraph::new(&graph);
    let next = AtomicUsize::new(0);
    let count = || {
        let mut triangles = 0_u64;
        let mut marked = Vec::new();
        loop {
            let start = next.fetch_add(STRIDE, Ordering::Relaxed);
            if start >= oriented.vertices() || context.interrupt.is_raised() {
                return triangles;
            }
            let end = oriented.vertices().min(start + STRIDE);
            oriented.triangles(start..end, &mut marked, |_, _, _| triangles += 1);
        }
    };
    let triangles = std::thread::scope(|scope| {
        let others: Vec<_> = (1..context.threads).map(|_| scope.spawn(count)).collect();
        let own = count();
        // A worker does nothing that can panic.
        let others = others
            .into_iter()
            .map(|other| other.join().unwrap_or_default());
        own + others.sum::<u64>()
    });
    context.interrupt.check()?;
    Ok(TriangleResult {
        triangles,
        vertices: graph.vertices() as u64,
        edges: oriented.edges() as u64,
        entries_read,
    })
}
