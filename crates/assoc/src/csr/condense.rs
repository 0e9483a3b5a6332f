//! Removes empty rows and columns.

use super::matrix::{Csr, Value};
use crate::error::{Result, checked_count};

/// A matrix without empty rows and columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Condensed<T> {
    /// What is left.
    pub matrix: Csr<T>,
    /// The rows that are left, by their former positions; `None` when all are.
    pub rows: Option<Vec<u32>>,
    /// The columns that are left; `None` when all are.
    pub columns: Option<Vec<u32>>,
}

/// Collects the entries of a matrix row by row.
pub(super) struct Builder<T> {
    starts: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<T>,
    drop_null: bool,
}

impl<T: Value> Builder<T> {
    /// With `drop_null`, entries whose value means "no entry" are left out.
    pub(super) fn new(rows: usize, expected: usize, drop_null: bool) -> Self {
        let mut starts = Vec::with_capacity(rows + 1);
        starts.push(0);
        Self {
            starts,
            columns: Vec::with_capacity(expected),
            values: Vec::with_capacity(expected),
            drop_null,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, column: u32, value: T) {
        if self.drop_null && value.is_null() {
            return;
        }
        self.columns.push(column);
        self.values.push(value);
    }

    pub(super) fn end_row(&mut self) {
        self.starts.push(self.columns.len() as u32);
    }

    pub(super) fn finish(self, width: usize) -> Result<Condensed<T>> {
        checked_count("entries", self.columns.len())?;
        Ok(condense(Csr {
            starts: self.starts,
            columns: self.columns,
            values: self.values,
            width,
        }))
    }
}

/// Removes empty rows and columns.
pub(super) fn condense<T>(mut matrix: Csr<T>) -> Condensed<T> {
    let rows = condense_rows(&mut matrix.starts);
    let mut used = vec![false; matrix.width];
    for column in &matrix.columns {
        used[*column as usize] = true;
    }
    let columns = if used.iter().all(|used| *used) {
        None
    } else {
        let mut new_position = vec![0; matrix.width];
        let mut kept = Vec::new();
        for (column, used) in used.iter().enumerate() {
            if *used {
                new_position[column] = kept.len() as u32;
                kept.push(column as u32);
            }
        }
        for column in &mut matrix.columns {
            *column = new_position[*column as usize];
        }
        matrix.width = kept.len();
        Some(kept)
    };
    Condensed {
        matrix,
        rows,
        columns,
    }
}

fn condense_rows(starts: &mut Vec<u32>) -> Option<Vec<u32>> {
    if starts.windows(2).all(|pair| pair[0] < pair[1]) {
        return None;
    }
    let kept: Vec<u32> = starts
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| pair[0] < pair[1])
        .map(|(row, _)| row as u32)
        .collect();
    let end = starts.last().copied().unwrap_or(0);
    let mut left: Vec<u32> = kept.iter().map(|row| starts[*row as usize]).collect();
    left.push(end);
    *starts = left;
    Some(kept)
}
