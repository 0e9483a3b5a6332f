//! Incidence tables: a row for each edge.

use ostrakon_cell::Result;

use super::adjacency::check_whole;
use super::edge_tables::{EdgeTableNames, EdgeTables};
use super::ids::edge_id;
use super::writers::Same;
use crate::number::format_number;
use crate::tables::GraphContext;

/// Names of the tables, and how the two ends are distinguished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidenceTables {
    /// Row = edge, columns `Out|alice` and `In|bob`, value = weight.
    pub edges: String,
    /// The transpose; `None` keeps none.
    pub transpose: Option<String>,
    /// Row = `Out|alice` or `In|bob`, column `Degree`; `None` keeps none.
    pub degrees: Option<String>,
    /// Digits of an edge's id. Default: 10.
    pub id_width: usize,
}

impl IncidenceTables {
    /// D4M's names: `prefix` alone, `prefixT`, `prefixDeg`.
    #[must_use]
    pub fn named(prefix: &str) -> Self {
        Self {
            edges: prefix.to_owned(),
            transpose: Some(format!("{prefix}T")),
            degrees: Some(format!("{prefix}Deg")),
            id_width: 10,
        }
    }
}

/// Writes a graph into incidence tables, which are made where they are missing. Edges have numbers,
/// [`edge_id`] makes keys of them; parallel edges stay apart.
pub struct IncidenceWriter {
    tables: EdgeTables<1>,
    id_width: usize,
    text: Vec<u8>,
    column: Vec<u8>,
}

impl IncidenceWriter {
    /// Opens or makes the tables.
    ///
    /// # Errors
    /// The source refuses a name.
    pub fn new(context: &GraphContext, tables: &IncidenceTables) -> Result<Self> {
        let names = EdgeTableNames {
            edges: &tables.edges,
            transpose: tables.transpose.as_deref(),
            degrees: tables.degrees.as_deref(),
        };
        Ok(Self {
            tables: EdgeTables::open(context, &names, Same::Newest, [b"Degree"])?,
            id_width: tables.id_width,
            text: Vec::new(),
            column: Vec::new(),
        })
    }

    /// Adds edge number `number`; the number of an earlier one replaces its weight, or makes it an
    /// edge of more than two ends.
    ///
    /// # Errors
    /// A weight that is not a whole number, a key that is too large, the failure of an earlier batch.
    pub fn add(&mut self, number: u64, from: &[u8], to: &[u8], weight: f64) -> Result<()> {
        check_whole(weight)?;
        self.text.clear();
        format_number(weight, &mut self.text)?;
        let id = edge_id(number, self.id_width);
        for (prefix, vertex) in [(b"Out|".as_slice(), from), (b"In|", to)] {
            self.column.clear();
            self.column.extend_from_slice(prefix);
            self.column.extend_from_slice(vertex);
            self.tables.put(&id, &self.column, &self.text)?;
            self.tables.count(&self.column, 0, weight)?;
        }
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
