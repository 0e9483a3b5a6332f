//! Parts of a matrix, and its transpose.

use super::condense::{Builder, Condensed};
use super::matrix::{Csr, Value, View};
use crate::error::{Error, Result};
use crate::keys::MISSING;

/// The entries in some rows (ascending) and some columns; `None` is all. A few rows of a large matrix
/// cost what is in them, plus one mark per column.
///
/// # Errors
/// [`Error::OutOfBounds`] or [`Error::NotAscending`].
pub fn select<T: Value>(
    matrix: &View<'_, T>,
    rows: Option<&[u32]>,
    columns: Option<&[u32]>,
) -> Result<Condensed<T>> {
    let height = matrix.height();
    for (what, chosen, count) in [("rows", rows, height), ("columns", columns, matrix.width)] {
        let Some(chosen) = chosen else { continue };
        if chosen.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(Error::NotAscending);
        }
        if let Some(&position) = chosen.last()
            && position as usize >= count
        {
            return Err(Error::OutOfBounds {
                what,
                position: position.into(),
                count,
            });
        }
    }
    let keep = columns.map(|columns| {
        let mut keep = vec![MISSING; matrix.width];
        for (position, column) in columns.iter().enumerate() {
            keep[*column as usize] = position as u32;
        }
        keep
    });
    let count = rows.map_or(height, <[u32]>::len);
    let width = columns.map_or(matrix.width, <[u32]>::len);
    let mut builder = Builder::new(count, 0, false);
    for at in 0..count {
        let row = rows.map_or(at, |rows| rows[at] as usize);
        for entry in matrix.row(row) {
            let column = matrix.columns[entry];
            match &keep {
                None => builder.push(column, matrix.values[entry]),
                Some(keep) => {
                    let column = keep[column as usize];
                    if column != MISSING {
                        builder.push(column, matrix.values[entry]);
                    }
                }
            }
        }
        builder.end_row();
    }
    let mut condensed = builder.finish(width)?;
    // Positions of the result so far are positions among the chosen.
    condensed.rows = translate(condensed.rows, rows);
    condensed.columns = translate(condensed.columns, columns);
    Ok(condensed)
}

fn translate(left: Option<Vec<u32>>, chosen: Option<&[u32]>) -> Option<Vec<u32>> {
    match (left, chosen) {
        (None, None) => None,
        (Some(left), None) => Some(left),
        (None, Some(chosen)) => Some(chosen.to_vec()),
        (Some(left), Some(chosen)) => {
            Some(left.into_iter().map(|at| chosen[at as usize]).collect())
        }
    }
}

/// The entries whose mark is set.
///
/// # Errors
/// [`Error::Uneven`] when there is not one mark per entry.
pub fn filter<T: Value>(matrix: &View<'_, T>, marks: &[bool]) -> Result<Condensed<T>> {
    if marks.len() != matrix.columns.len() {
        return Err(Error::Uneven {
            what: "marks",
            expected: matrix.columns.len(),
            found: marks.len(),
        });
    }
    let mut builder = Builder::new(matrix.height(), 0, false);
    for row in 0..matrix.height() {
        for entry in matrix.row(row) {
            if marks[entry] {
                builder.push(matrix.columns[entry], matrix.values[entry]);
            }
        }
        builder.end_row();
    }
    builder.finish(matrix.width)
}

/// Rows become columns.
#[must_use]
pub fn transpose<T: Value>(matrix: &View<'_, T>) -> Csr<T> {
    let mut starts = vec![0_u32; matrix.width + 1];
    for column in matrix.columns {
        starts[*column as usize + 1] += 1;
    }
    for column in 0..matrix.width {
        starts[column + 1] += starts[column];
    }
    let mut next = starts.clone();
    let mut columns = vec![0; matrix.columns.len()];
    let mut values = matrix.values.to_vec();
    for row in 0..matrix.height() {
        for entry in matrix.row(row) {
            let place = &mut next[matrix.columns[entry] as usize];
            columns[*place as usize] = row as u32;
            values[*place as usize] = matrix.values[entry];
            *place += 1;
        }
    }
    Csr {
        starts,
        columns,
        values,
        width: matrix.height(),
    }
}

/// Row of each entry.
#[must_use]
pub fn row_numbers(starts: &[u32]) -> Vec<u32> {
    let mut rows = Vec::with_capacity(starts.last().map_or(0, |end| *end as usize));
    for (row, pair) in starts.windows(2).enumerate() {
        rows.resize(rows.len() + (pair[1] - pair[0]) as usize, row as u32);
    }
    rows
}
