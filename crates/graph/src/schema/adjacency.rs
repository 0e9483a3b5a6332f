//! Adjacency tables: edges, their transpose, degrees.

use ostrakon_cell::{Error, Result};

use super::edge_tables::{EdgeTableNames, EdgeTables};
use super::writers::Same;
use crate::number::format_number;
use crate::tables::GraphContext;

/// Names of the tables of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdjacencyTables {
    /// Row = where an edge begins, column = where it ends, value = its weight.
    pub edges: String,
    /// The transpose; `None` keeps none.
    pub transpose: Option<String>,
    /// Row = vertex, columns `OutDeg` and `InDeg`; `None` keeps none.
    pub degrees: Option<String>,
}

impl AdjacencyTables {
    /// D4M's names: `prefix` alone, `prefixT`, `prefixDeg`.
    #[must_use]
    pub fn named(prefix: &str) -> Self {
        Self {
            edges: prefix.to_owned(),
            transpose: Some(format!("{prefix}T")),
            degrees: Some(format!("{prefix}Deg")),
        }
    }
}

/// Writes a graph into adjacency tables, which are made where they are missing. Equal edges add up
/// their weights; degrees are sums of weights, as in D4M's examples, and weights are whole numbers since
/// the stock `SummingCombiner` supports no others.
///
/// What is collected is written when a batch is full, and by [`close`](Self::close).
///
/// ```
/// use ostrakon_graph::{AdjacencyTables, AdjacencyWriter, GraphContext};
/// use ostrakon_store::Store;
/// let context = GraphContext::new(Store::in_memory()?);
/// let mut writer = AdjacencyWriter::new(&context, &AdjacencyTables::named("Tadj"))?;
/// writer.add(b"alice", b"bob", 1.0)?;
/// writer.add(b"alice", b"carl", 2.0)?;
/// assert_eq!(writer.close()?, 7); // two edges twice, three degrees
/// # Ok::<(), ostrakon_cell::Error>(())
/// ```
pub struct AdjacencyWriter {
    tables: EdgeTables<2>,
    text: Vec<u8>,
}

impl AdjacencyWriter {
    /// Opens or makes the tables.
    ///
    /// # Errors
    /// The source refuses a name.
    pub fn new(context: &GraphContext, tables: &AdjacencyTables) -> Result<Self> {
        let names = EdgeTableNames {
            edges: &tables.edges,
            transpose: tables.transpose.as_deref(),
            degrees: tables.degrees.as_deref(),
        };
        Ok(Self {
            tables: EdgeTables::open(context, &names, Same::Summed, [b"OutDeg", b"InDeg"])?,
            text: Vec::new(),
        })
    }

    /// Adds an edge.
    ///
    /// # Errors
    /// A weight that is not a whole number, a key that is too large, the failure of an earlier batch.
    pub fn add(&mut self, from: &[u8], to: &[u8], weight: f64) -> Result<()> {
        check_whole(weight)?;
        self.text.clear();
        format_number(weight, &mut self.text)?;
        self.tables.put(from, to, &self.text)?;
        self.tables.count(from, 0, weight)?;
        self.tables.count(to, 1, weight)?;
        self.tables.spill()
    }

    /// Writes what is collected and waits until it is acknowledged.
    ///
    /// # Errors
    /// The first failure since the last flush.
    pub fn flush(&mut self) -> Result<()> {
        self.tables.flush()
    }

    /// [`flush`](Self::flush); returns the number of entries written to all tables.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn close(mut self) -> Result<u64> {
        self.flush()?;
        Ok(self.tables.written())
    }
}

pub(super) fn check_whole(weight: f64) -> Result<()> {
    if weight.fract() == 0.0 && weight.abs() < 9e15 {
        return Ok(());
    }
    Err(Error::invalid(
        "a weight must be a whole number: the table's SummingCombiner supports no others",
    )
    .with("weight", weight))
}
