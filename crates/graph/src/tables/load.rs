//! Selects the part of a table that is a matrix, and reads it into memory.

use ostrakon_cell::{Column, ColumnSelection, Result, ScanOptions};

use super::{GraphContext, RowStream};
use crate::KeyRanges;
use crate::iterators::{Apply, key_filter};
use crate::matrix::{Interner, UndirectedGraph};

/// How values are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ValueKind {
    /// Decimal numbers; another value is an error. Default.
    #[default]
    Numbers,
    /// Decimal numbers; another value counts as 1, as strings do in D4M's products.
    NumbersOrOne,
    /// Every entry counts as 1, its value is not looked at.
    Ones,
}

/// A table, or a part of it, as a matrix: rows are rows, column qualifiers are columns.
///
/// ```
/// use ostrakon_graph::{KeyRanges, MatrixTable};
/// let mut edges = MatrixTable::from("Tadj");
/// edges.rows = KeyRanges::parse("a*,")?;
/// # Ok::<(), ostrakon_cell::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct MatrixTable {
    /// The table's name.
    pub table: String,
    /// The column family; `None` takes all and does not tell them apart. Default: all.
    pub family: Option<Vec<u8>>,
    /// Rows. Default: all.
    pub rows: KeyRanges,
    /// Columns (qualifiers). Default: all. Filtered where the table is.
    pub columns: KeyRanges,
    /// Bounds of the values, both included. Default: none. Filtered where the table is.
    pub least: Option<f64>,
    /// See [`least`](Self::least).
    pub most: Option<f64>,
    /// A function of every value, applied where the table is, after the filters. Default: none.
    pub apply: Option<Apply>,
    /// How values are read. Default: as numbers.
    pub values: ValueKind,
}

impl<S: Into<String>> From<S> for MatrixTable {
    fn from(table: S) -> Self {
        Self {
            table: table.into(),
            ..Self::default()
        }
    }
}

impl MatrixTable {
    /// The same with every entry counted as 1.
    #[must_use]
    pub fn as_ones(&self) -> Self {
        Self {
            values: ValueKind::Ones,
            ..self.clone()
        }
    }

    /// What a scan of this part asks for.
    pub(crate) fn scan_options(&self) -> Result<ScanOptions> {
        let mut options = ScanOptions::default();
        if let Some(family) = &self.family {
            options.columns = ColumnSelection::new([Column::family(family.clone())]);
        }
        if !self.columns.is_all() || self.least.is_some() || self.most.is_some() {
            options.iterators.push(key_filter(
                40,
                &KeyRanges::all(),
                &self.columns,
                (self.least, self.most),
            )?);
        }
        if let Some(apply) = self.apply {
            options.iterators.push(apply.setting(41)?);
        }
        Ok(options)
    }

    /// Its rows in order.
    pub(crate) fn stream(&self, context: &GraphContext) -> Result<RowStream> {
        let table = context.table(&self.table)?;
        let scan = context.scan(&table, &self.rows.to_ranges(), self.scan_options()?)?;
        Ok(RowStream::new(scan, self.values))
    }
}

/// Bytes per entry while a graph is read: the pair, and both directions of the graph.
const EDGE_BYTES: usize = 16;

/// Reads an adjacency table as an undirected graph: rows and columns are vertices. Returns it with
/// the number of entries read.
pub(crate) fn load_undirected(
    context: &GraphContext,
    part: &MatrixTable,
) -> Result<(UndirectedGraph, u64)> {
    let part = part.as_ones();
    let mut stream = part.stream(context)?;
    let mut names = Interner::default();
    let mut edges = Vec::new();
    while stream.advance()? {
        let row = names.intern(stream.row())?;
        stream.visit(|column, _| {
            edges.push((row, names.intern(column)?));
            Ok(())
        })?;
        context.check_memory(EDGE_BYTES * edges.len(), "a graph")?;
    }
    let graph = UndirectedGraph::new(names.keys(), &edges);
    Ok((graph, stream.entries()))
}
