//! The stacked graphs, and how their rows are named and split.

use ostrakon_cell::{Error, Result};
use ostrakon_graph::KroneckerOptions;
use serde::{Deserialize, Serialize};

use crate::measure::RateSample;

/// Digits of a row: enough for the paper's 5.4 billion rows and more.
pub(super) const ROW_DIGITS: usize = 10;

/// Base graphs stacked one below the other, in one table of `writers × tablets × 2^scale` rows and 2^scale
/// columns.
///
/// Rows are numbers with leading zeros, so that they sort as numbers; columns are numbers with leading zeros in the
/// qualifier, with an empty family; the value is how often the edge was generated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphWorkload {
    /// A base graph has 2^scale vertex numbers. The paper: 17.
    pub scale: u32,
    /// Edges for each vertex number. The paper: 8.
    pub edges_per_vertex: u32,
    /// Writers, or ranks.
    pub writers: usize,
    /// Tablets of each writer, each with one copy of its base graph. The paper: 32.
    pub tablets: usize,
    /// Renumbers the vertices at random, as the paper's figure has them.
    pub permuted: bool,
    /// Decides everything random; writers differ.
    pub seed: u64,
}

impl Default for GraphWorkload {
    fn default() -> Self {
        Self {
            scale: 17,
            edges_per_vertex: 8,
            writers: 1,
            tablets: 32,
            permuted: true,
            seed: 1,
        }
    }
}

impl GraphWorkload {
    /// An error unless the rows fit into their digits.
    pub(super) fn check(&self) -> Result<()> {
        if self.writers == 0 || self.tablets == 0 || !(1..=32).contains(&self.scale) {
            return Err(Error::invalid(
                "a graph ingest needs at least one writer with at least one tablet each, and a scale from 1 to 32",
            )
            .with("writers", self.writers)
            .with("tablets", self.tablets)
            .with("scale", self.scale));
        }
        if self.rows() > 10_u64.pow(ROW_DIGITS as u32) {
            return Err(Error::invalid(format!(
                "the number of rows does not fit into {ROW_DIGITS} digits: use a smaller scale, fewer writers or tablets"
            ))
            .with("rows", self.rows()));
        }
        Ok(())
    }

    /// Rows per tablet.
    #[must_use]
    pub fn tablet_rows(&self) -> u64 {
        1 << self.scale
    }

    /// Row numbers of the table; about half of them have entries.
    #[must_use]
    pub fn rows(&self) -> u64 {
        (self.writers as u64)
            .saturating_mul(self.tablets as u64)
            .saturating_mul(self.tablet_rows())
    }

    /// Edges generated for the whole table: what the paper counts as entries.
    #[must_use]
    pub fn edges(&self) -> u64 {
        self.base_edges() * (self.writers * self.tablets) as u64
    }

    /// Edges of one base graph.
    #[must_use]
    pub fn base_edges(&self) -> u64 {
        u64::from(self.edges_per_vertex) << self.scale
    }

    /// The rows at which the table is split: the last of each tablet but the last.
    #[must_use]
    pub fn splits(&self) -> Vec<Vec<u8>> {
        let tablets = (self.writers * self.tablets) as u64;
        (1..tablets)
            .map(|tablet| row(tablet * self.tablet_rows() - 1).to_vec())
            .collect()
    }

    /// The generator of one writer.
    pub(crate) fn generator(&self, writer: usize) -> KroneckerOptions {
        KroneckerOptions {
            scale: self.scale,
            edges_per_vertex: f64::from(self.edges_per_vertex),
            seed: crate::threads::thread_seed(self.seed, writer),
            permuted: self.permuted,
            ..KroneckerOptions::default()
        }
    }

    /// Digits of a column.
    pub(super) fn column_digits(&self) -> usize {
        (self.tablet_rows() - 1).to_string().len()
    }
}

/// The text of a row number.
pub(super) fn row(number: u64) -> [u8; ROW_DIGITS] {
    let mut text = [b'0'; ROW_DIGITS];
    put_digits(number, &mut text);
    text
}

/// Fills `text` with the digits of a number, zeros in front.
#[inline]
pub(super) fn put_digits(mut number: u64, text: &mut [u8]) {
    for digit in text.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// What a graph ingest came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GraphFigures {
    /// Edges generated: what the paper counts.
    pub edges: u64,
    /// Entries stored: equal edges of a base graph are one entry.
    pub entries: u64,
    /// Bytes of keys and values stored.
    pub bytes: u64,
    /// Writers, or ranks.
    pub writers: usize,
    /// Tablets of the table.
    pub tablets: usize,
    /// Seconds from the first writer's start, generating included, to the last acknowledgement.
    pub seconds: f64,
    /// Of these, seconds for making the base graphs, of the slowest writer.
    pub generating_seconds: f64,
    /// Of these, seconds for taking files over; 0 without.
    pub import_seconds: f64,
    /// Seconds until everything was in files too.
    pub flushed_seconds: f64,
    /// Entries over time.
    pub samples: Vec<RateSample>,
}
