//! A graph and its degrees in one table.

use ostrakon_cell::{Error, Escaped, Result};

use super::adjacency::check_whole;
use super::degrees::Sums;
use super::writers::{Same, Writer};
use crate::number::format_number;
use crate::tables::GraphContext;

/// Writes a graph into a single table, which is made where it is missing: row `alice|bob`, column
/// `edge`, the weight; row `alice`, columns `OutDeg` and `InDeg`. Equal edges add up.
pub struct SingleTableWriter {
    table: Writer,
    separator: u8,
    sums: Sums<2>,
    text: Vec<u8>,
    row: Vec<u8>,
}

impl SingleTableWriter {
    /// The column of the weights.
    pub const EDGE_COLUMN: &'static [u8] = b"edge";

    /// Opens or makes the table.
    ///
    /// # Errors
    /// The source refuses the name.
    pub fn new(context: &GraphContext, table: &str, separator: u8) -> Result<Self> {
        Ok(Self {
            table: Writer::open(context, table, Same::Summed)?,
            separator,
            sums: Sums::new([b"OutDeg", b"InDeg"]),
            text: Vec::new(),
            row: Vec::new(),
        })
    }

    /// Adds an edge.
    ///
    /// # Errors
    /// A key that holds the separator, a weight that is not a whole number, the failure of an earlier
    /// batch.
    pub fn add(&mut self, from: &[u8], to: &[u8], weight: f64) -> Result<()> {
        check_whole(weight)?;
        if let Some(key) = [from, to].iter().find(|key| key.contains(&self.separator)) {
            return Err(Error::invalid(
                "a vertex holds the separator of the table's rows: choose another one",
            )
            .with("vertex", Escaped(key))
            .with("separator", Escaped(&[self.separator])));
        }
        self.text.clear();
        format_number(weight, &mut self.text)?;
        self.row.clear();
        self.row.extend_from_slice(from);
        self.row.push(self.separator);
        self.row.extend_from_slice(to);
        self.table.put(&self.row, Self::EDGE_COLUMN, &self.text)?;
        self.sums.add(from, 0, weight)?;
        self.sums.add(to, 1, weight)?;
        if self.sums.is_full() {
            self.sums.write(&mut self.table)?;
        }
        Ok(())
    }

    /// Writes what is collected and waits until it is acknowledged; returns the number of entries
    /// written.
    ///
    /// # Errors
    /// The first failure since the beginning.
    pub fn close(mut self) -> Result<u64> {
        self.sums.write(&mut self.table)?;
        self.table.flush()?;
        Ok(self.table.written)
    }
}
