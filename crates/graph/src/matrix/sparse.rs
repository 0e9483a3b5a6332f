//! A sparse matrix with keys, the content of an associative array.

use super::keys::{Keys, ranks};
use crate::semiring::Plus;

/// A matrix whose rows and columns have keys: compressed sparse rows. Row keys and column keys are
/// sorted and each has an entry; the columns of a row ascend.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SparseMatrix {
    /// The rows' keys.
    pub rows: Keys,
    /// The columns' keys.
    pub columns: Keys,
    /// Where each row begins in `indices` and `values`, and one end more.
    pub offsets: Vec<usize>,
    /// Column numbers.
    pub indices: Vec<u32>,
    /// Values.
    pub values: Vec<f64>,
}

impl SparseMatrix {
    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// The entries of row number `row`: column numbers and values.
    ///
    /// # Panics
    /// When there are not that many rows.
    #[must_use]
    pub fn row(&self, row: usize) -> (&[u32], &[f64]) {
        let span = self.offsets[row]..self.offsets[row + 1];
        (&self.indices[span.clone()], &self.values[span])
    }

    /// All entries in order: row key, column key, value.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8], f64)> {
        (0..self.rows.len()).flat_map(move |row| {
            let (indices, values) = self.row(row);
            indices.iter().zip(values).map(move |(&column, &value)| {
                (self.rows.get(row), self.columns.get(column as usize), value)
            })
        })
    }

    /// The value at a row and column key.
    #[must_use]
    pub fn get(&self, row: &[u8], column: &[u8]) -> Option<f64> {
        let row = self.rows.find_sorted(row)?;
        let column = self.columns.find_sorted(column)? as u32;
        let (indices, values) = self.row(row);
        let at = indices.binary_search(&column).ok()?;
        values.get(at).copied()
    }
}

/// Entries by row and column number, in any order.
#[derive(Debug, Default)]
pub(crate) struct Triples {
    pub(crate) rows: Vec<u32>,
    pub(crate) columns: Vec<u32>,
    pub(crate) values: Vec<f64>,
}

impl Triples {
    pub(crate) fn push(&mut self, row: u32, column: u32, value: f64) {
        self.rows.push(row);
        self.columns.push(column);
        self.values.push(value);
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        self.rows.append(&mut other.rows);
        self.columns.append(&mut other.columns);
        self.values.append(&mut other.values);
    }

    /// The matrix of these entries; several of one place are combined by `plus`. `rows` and
    /// `columns` name the numbers, in any order.
    pub(crate) fn into_matrix(self, rows: &Keys, columns: &Keys, plus: Plus) -> SparseMatrix {
        let used = |numbers: &[u32], keys: &Keys| {
            let mut seen = vec![false; keys.len()];
            for &number in numbers {
                seen[number as usize] = true;
            }
            let mut order = keys.sorted_positions();
            // Unused ones last: their ranks never occur.
            order.sort_by_key(|&at| !seen[at as usize]);
            let count = seen.iter().filter(|seen| **seen).count();
            (ranks(&order), keys.pick(&order[..count]))
        };
        let (row_ranks, rows) = used(&self.rows, rows);
        let (column_ranks, columns) = used(&self.columns, columns);
        let mut offsets = vec![0_usize; rows.len() + 1];
        for &row in &self.rows {
            offsets[row_ranks[row as usize] as usize + 1] += 1;
        }
        for at in 1..offsets.len() {
            offsets[at] += offsets[at - 1];
        }
        let mut next = offsets.clone();
        let mut placed = vec![(0_u32, 0.0_f64); self.rows.len()];
        for at in 0..self.rows.len() {
            let slot = &mut next[row_ranks[self.rows[at] as usize] as usize];
            placed[*slot] = (column_ranks[self.columns[at] as usize], self.values[at]);
            *slot += 1;
        }
        let mut indices: Vec<u32> = Vec::with_capacity(placed.len());
        let mut values: Vec<f64> = Vec::with_capacity(placed.len());
        let mut starts = Vec::with_capacity(offsets.len());
        for row in 0..rows.len() {
            let span = &mut placed[offsets[row]..offsets[row + 1]];
            if !span.is_sorted_by(|a, b| a.0 < b.0) {
                span.sort_by_key(|(column, _)| *column);
            }
            let start = indices.len();
            starts.push(start);
            for &(column, value) in span.iter() {
                match values.last_mut() {
                    Some(last) if indices.len() > start && indices.last() == Some(&column) => {
                        *last = plus.apply(*last, value);
                    }
                    _ => {
                        indices.push(column);
                        values.push(value);
                    }
                }
            }
        }
        starts.push(indices.len());
        SparseMatrix {
            rows,
            columns,
            offsets: starts,
            indices,
            values,
        }
    }
}
