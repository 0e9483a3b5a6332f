//! Adjacency tables: edges, their transpose, degrees.

use ostrakon_cell::{Error, Result};

use super::degrees::Sums;
use super::writers::{Same, Writer};
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
/// the stock `SummingCombiner` knows no others.
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
    edges: Writer,
    transpose: Option<Writer>,
    degrees: Option<Writer>,
    sums: Sums<2>,
    text: Vec<u8>,
}

impl AdjacencyWriter {
    /// Opens or makes the tables.
    ///
    /// # Errors
    /// The source refuses a name.
    pub fn new(context: &GraphContext, tables: &AdjacencyTables) -> Result<Self> {
        let open = |name: &Option<String>| {
            let name = name.as_ref();
            name.map(|name| Writer::open(context, name, Same::Summed))
                .transpose()
        };
        Ok(Self {
            edges: Writer::open(context, &tables.edges, Same::Summed)?,
            transpose: open(&tables.transpose)?,
            degrees: open(&tables.degrees)?,
            sums: Sums::new([b"OutDeg", b"InDeg"]),
            text: Vec::new(),
        })
    }

    /// Adds an edge.
    ///
    /// # Errors
    /// A weight that is no whole number, a key that is too large, the failure of an earlier batch.
    pub fn add(&mut self, from: &[u8], to: &[u8], weight: f64) -> Result<()> {
        check_whole(weight)?;
        self.text.clear();
        format_number(weight, &mut self.text)?;
        self.edges.put(from, to, &self.text)?;
        if let Some(transpose) = &mut self.transpose {
            transpose.put(to, from, &self.text)?;
        }
        if let Some(degrees) = &mut self.degrees {
            self.sums.add(from, 0, weight)?;
            self.sums.add(to, 1, weight)?;
            if self.sums.is_full() {
                self.sums.write(degrees)?;
            }
        }
        Ok(())
    }

    /// Writes what is collected and waits until it is acknowledged.
    ///
    /// # Errors
    /// The first failure since the last flush.
    pub fn flush(&mut self) -> Result<()> {
        if let Some(degrees) = &mut self.degrees {
            self.sums.write(degrees)?;
            degrees.flush()?;
        }
        if let Some(transpose) = &mut self.transpose {
            transpose.flush()?;
        }
        self.edges.flush()
    }

    /// [`flush`](Self::flush); returns the number of entries written to all tables.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn close(mut self) -> Result<u64> {
        self.flush()?;
        let others = self.transpose.iter().chain(&self.degrees);
        Ok(self.edges.written + others.map(|writer| writer.written).sum::<u64>())
    }
}

pub(super) fn check_whole(weight: f64) -> Result<()> {
    if weight.fract() == 0.0 && weight.abs() < 9e15 {
        return Ok(());
    }
    Err(Error::invalid(
        "a weight is a whole number here: the table's SummingCombiner knows no others",
    )
    .with("weight", weight))
}
