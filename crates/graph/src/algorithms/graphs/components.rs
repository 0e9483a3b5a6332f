//! Connected components.

use ostrakon_cell::Result;

use crate::matrix::{Interner, Keys};
use crate::tables::{GraphContext, MatrixTable, ResultTable, TableWriter, WriteCount};

/// The components of a graph.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ComponentsResult {
    /// The vertices, sorted.
    pub vertices: Keys,
    /// For each the smallest vertex of its component, as a position in `vertices`.
    pub representatives: Vec<u32>,
    /// Number of components.
    pub components: u64,
    /// Entries read.
    pub entries_read: u64,
    /// Entries written.
    pub io: WriteCount,
}

/// The connected components of an adjacency table, directions not regarded. With a result table
/// each vertex gets a row with the smallest key of its component as the value of `component`.
///
/// Held in memory: the keys of the vertices and four bytes for each, whatever the number of edges,
/// which are read once. Union-find with path halving (R. E. Tarjan and J. van Leeuwen, 1984).
///
/// # Errors
/// A missing table; a result table that combines numbers, since the values are keys.
pub fn connected_components(
    context: &GraphContext,
    table: &MatrixTable,
    result: Option<&ResultTable>,
) -> Result<ComponentsResult> {
    let part = table.as_ones();
    let mut stream = part.stream(context)?;
    let mut names = Interner::default();
    let mut forest = Forest::default();
    while stream.advance()? {
        let row = forest.tree(names.intern(stream.row())?);
        stream.visit(|column, _| {
            let column = forest.tree(names.intern(column)?);
            forest.join(row, column);
            Ok(())
        })?;
    }
    let order = names.keys().sorted_positions();
    let mut smallest = vec![u32::MAX; order.len()];
    let mut representatives = Vec::with_capacity(order.len());
    let mut components = 0;
    for (rank, &vertex) in order.iter().enumerate() {
        let root = forest.root(vertex) as usize;
        if smallest[root] == u32::MAX {
            smallest[root] = rank as u32;
            components += 1;
        }
        representatives.push(smallest[root]);
    }
    let vertices = names.keys().pick(&order);
    let mut io = WriteCount {
        result_entries: vertices.len() as u64,
        ..WriteCount::default()
    };
    if let Some(result) = result {
        let writer = TableWriter::open_text(context, result)?;
        let mut sink = writer.sink(true, vertices.len() as u64)?;
        for (vertex, &representative) in vertices.iter().zip(&representatives) {
            sink.put_text(vertex, b"component", vertices.get(representative as usize))?;
        }
        io.entries_written = sink.finish()?;
    }
    Ok(ComponentsResult {
        vertices,
        representatives,
        components,
        entries_read: stream.entries(),
        io,
    })
}

#[derive(Default)]
struct Forest {
    parents: Vec<u32>,
}

impl Forest {
    /// Makes sure that there is a tree for a vertex.
    fn tree(&mut self, vertex: u32) -> u32 {
        while self.parents.len() <= vertex as usize {
            self.parents.push(self.parents.len() as u32);
        }
        vertex
    }

    fn root(&mut self, mut vertex: u32) -> u32 {
        loop {
            let parent = self.parents[vertex as usize];
            if parent == vertex {
                return vertex;
            }
            let above = self.parents[parent as usize];
            self.parents[vertex as usize] = above;
            vertex = above;
        }
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        // The earlier number stays the root: it tends to be the larger tree.
        let (root, child) = (a.min(b), a.max(b));
        self.parents[child as usize] = root;
    }
}
