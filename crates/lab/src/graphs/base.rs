//! One base graph: generated, sorted, equal edges summed up.

use ostrakon_cell::Result;
use ostrakon_graph::Kronecker;

use super::workload::{GraphWorkload, ROW_DIGITS, put_digits, row};

/// Digits of the longest column.
const COLUMN_DIGITS_MAX: usize = 10;

/// A base graph as an associative array: distinct edges in order, each with its count.
#[derive(Debug, Clone, Default)]
pub struct BaseGraph {
    /// Row in the upper half, column in the lower; ascending.
    edges: Vec<u64>,
    counts: Vec<u32>,
    column_digits: usize,
    generated: u64,
}

/// One entry of a stacked graph, as text.
pub(super) struct GraphEntry<'a> {
    pub(super) row: &'a [u8],
    pub(super) column: &'a [u8],
    pub(super) value: &'a [u8],
}

impl BaseGraph {
    /// Generates the base graph of a writer.
    ///
    /// # Errors
    /// Those of the generator's settings.
    pub fn generate(workload: &GraphWorkload, writer: usize) -> Result<Self> {
        let graph = Kronecker::new(&workload.generator(writer))?;
        let count = graph.edges() as usize;
        let (mut rows, mut columns) = (vec![0; count], vec![0; count]);
        graph.fill(0, &mut rows, &mut columns)?;
        let mut edges: Vec<u64> = rows
            .iter()
            .zip(&columns)
            .map(|(row, column)| row << 32 | column)
            .collect();
        drop((rows, columns));
        edges.sort_unstable();
        let mut counts: Vec<u32> = Vec::with_capacity(count);
        let mut kept: usize = 0;
        for at in 0..count {
            if kept > 0 && edges[kept - 1] == edges[at] {
                counts[kept - 1] += 1;
            } else {
                edges[kept] = edges[at];
                counts.push(1);
                kept += 1;
            }
        }
        edges.truncate(kept);
        Ok(Self {
            edges,
            counts,
            column_digits: workload.column_digits(),
            generated: count as u64,
        })
    }

    /// Distinct edges: entries of one copy.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.edges.len() as u64
    }

    /// Edges generated.
    #[must_use]
    pub fn generated(&self) -> u64 {
        self.generated
    }

    /// Distinct edges as row, column and count, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64, u32)> + '_ {
        let edges = self.edges.iter().zip(&self.counts);
        edges.map(|(edge, count)| (edge >> 32, edge & 0xffff_ffff, *count))
    }

    /// Gives `take` every entry of the copy whose rows begin at `first_row`, in key order, until it fails.
    pub(super) fn each_entry(
        &self,
        first_row: u64,
        mut take: impl FnMut(&GraphEntry<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut row_text = [0; ROW_DIGITS];
        let mut last_row = None;
        let mut column_text = [0; COLUMN_DIGITS_MAX];
        let column_text = &mut column_text[..self.column_digits];
        let mut value_text = [0; COLUMN_DIGITS_MAX];
        for (number, column, count) in self.iter() {
            if last_row != Some(number) {
                row_text = row(first_row + number);
                last_row = Some(number);
            }
            put_digits(column, column_text);
            take(&GraphEntry {
                row: &row_text,
                column: column_text,
                value: decimal(count, &mut value_text),
            })?;
        }
        Ok(())
    }
}

/// The digits of a number, without zeros in front.
fn decimal(number: u32, text: &mut [u8; COLUMN_DIGITS_MAX]) -> &[u8] {
    if number < 10 {
        text[0] = b'0' + number as u8;
        return &text[..1];
    }
    put_digits(u64::from(number), text);
    let zeros = text.iter().take_while(|digit| **digit == b'0').count();
    &text[zeros..]
}

impl BaseGraph {
    /// About one in `share` of the generated edges, drawn by a fixed hash of their numbers.
    #[must_use]
    pub fn sample(&self, share: u64) -> Self {
        let mut sample = Self {
            column_digits: self.column_digits,
            ..Self::default()
        };
        let mut number = 0_u64;
        for (edge, count) in self.edges.iter().zip(&self.counts) {
            let drawn = (0..*count)
                .filter(|_| {
                    number += 1;
                    // Fibonacci hashing (D. Knuth): neighbouring numbers land far apart.
                    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).is_multiple_of(share.max(1))
                })
                .count();
            if drawn > 0 {
                sample.edges.push(*edge);
                sample.counts.push(drawn as u32);
                sample.generated += drawn as u64;
            }
        }
        sample
    }

    /// Distinct edges from a vertex to itself.
    #[must_use]
    pub fn self_edges(&self) -> u64 {
        self.iter().filter(|(row, column, _)| row == column).count() as u64
    }
}
