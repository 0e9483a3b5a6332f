//! Options and results of a search.

use crate::matrix::{Keys, SparseMatrix};
use crate::tables::{ResultTable, WriteCount};

/// How a graph lies in tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GraphForm {
    /// Row = where an edge begins, qualifier = where it ends.
    Adjacency {
        /// The table.
        table: String,
    },
    /// Row = edge, qualifiers = its ends with a prefix: `Out|alice`, `In|bob`.
    Incidence {
        /// The table of edges.
        edges: String,
        /// Its transpose: without it every step scans the edges.
        transpose: Option<String>,
        /// Prefixes of the ends where a step begins, such as `Out|`.
        start_prefixes: Vec<Vec<u8>>,
        /// Prefixes of the ends where a step goes, such as `In|`.
        end_prefixes: Vec<Vec<u8>>,
    },
    /// Row = both ends joined, `alice|bob`, with the weight in one column; rows of single vertices
    /// hold degrees.
    SingleTable {
        /// The table.
        table: String,
        /// The column of the weight.
        edge_column: Vec<u8>,
        /// What joins the ends. The first one in a row counts.
        separator: u8,
    },
}

/// The vertices from which a step continues.
#[derive(Debug, Clone, PartialEq)]
pub struct DegreeLimit {
    /// The table of degrees, a row per vertex.
    pub table: String,
    /// The column that holds the degree as a number, such as `OutDeg`.
    pub column: Vec<u8>,
    /// The prefix of the vertex in the table's rows, such as `Out|`; may be empty.
    pub prefix: Vec<u8>,
    /// Least degree, included. A vertex without an entry has degree 0.
    pub least: f64,
    /// Largest degree, included.
    pub most: f64,
}

/// A breadth-first search.
#[derive(Debug, Clone)]
pub struct BfsOptions {
    /// The graph.
    pub form: GraphForm,
    /// Where the search begins.
    pub start: Keys,
    /// How many steps to take.
    pub steps: u32,
    /// The vertices from which to continue. Default: all.
    pub degrees: Option<DegreeLimit>,
    /// Outputs the edges of all steps instead of only those of the last. Default: all.
    pub union: bool,
    /// Goes on again from a vertex that is reached again, as D4M and Graphulo do: step k is then all
    /// walks of length k, and edges taken several times are added up. Default: no, each vertex once.
    pub revisit: bool,
    /// Where the entries of the edges are added: as they are, with their labels unless the context
    /// sets one.
    pub result: Option<ResultTable>,
    /// Where they are added transposed.
    pub result_transpose: Option<ResultTable>,
    /// Returns the edges as a matrix. Default: no.
    pub collect: bool,
}

impl BfsOptions {
    /// A search in an adjacency table; all steps' edges, each vertex once, nothing written.
    pub fn adjacency<K: AsRef<[u8]>>(
        table: impl Into<String>,
        start: impl IntoIterator<Item = K>,
        steps: u32,
    ) -> Self {
        Self::new(
            GraphForm::Adjacency {
                table: table.into(),
            },
            start.into_iter().collect(),
            steps,
        )
    }

    /// A search in a graph of any form.
    #[must_use]
    pub fn new(form: GraphForm, start: Keys, steps: u32) -> Self {
        Self {
            form,
            start,
            steps,
            degrees: None,
            union: true,
            revisit: false,
            result: None,
            result_transpose: None,
            collect: false,
        }
    }
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BfsResult {
    /// Every vertex reached, the start included, sorted.
    pub vertices: Keys,
    /// The step in which each was reached first; 0 for the start.
    pub levels: Vec<u32>,
    /// The vertices reached by the last step (the start, if no step was asked for), as positions in `vertices`; empty when the search ended
    /// before.
    pub last: Vec<u32>,
    /// Edges taken.
    pub edges: u64,
    /// Entries read, those skipped by scans included.
    pub entries_read: u64,
    /// Entries written.
    pub io: WriteCount,
    /// The edges, if asked for: entries of the tables, values as numbers or 1.
    pub matrix: Option<SparseMatrix>,
}
