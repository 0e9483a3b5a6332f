//! Builds a matrix from triples in any order: groups by row, sorts each row, folds collisions.

use std::thread;

use super::condense::{Builder, Condensed};
use super::matrix::{Csr, Value};
use crate::error::{Error, Result, checked_count};

/// What becomes of several values at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collision {
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// Their sum; integers wrap.
    Sum,
    /// Their product; integers wrap.
    Product,
    /// The first in input order.
    First,
    /// The last in input order.
    Last,
}

/// Places of triples, as positions in two dictionaries.
#[derive(Clone, Copy, Debug)]
pub struct Triples<'a> {
    /// Row of each triple.
    pub rows: &'a [u32],
    /// Column of each triple.
    pub columns: &'a [u32],
    /// How many rows and columns there are.
    pub shape: (usize, usize),
}

/// Triples by row and column, those at one place in input order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grouped {
    /// Beginnings of the rows in `columns`.
    pub starts: Vec<u32>,
    /// Column of each place.
    pub columns: Vec<u32>,
    /// Beginnings of the places in `order`, and its end.
    pub groups: Vec<u32>,
    /// Triples by their positions in the input.
    pub order: Vec<u32>,
}

impl<T: Value + super::semiring::Fold> Csr<T> {
    /// Builds a matrix. Null values are removed after folding.
    ///
    /// # Errors
    /// [`Error`] when lists are uneven or positions outside the shape.
    pub fn from_triples(
        triples: &Triples<'_>,
        values: &[T],
        collision: Collision,
        threads: usize,
    ) -> Result<Condensed<T>> {
        Self::from_triples_keeping(triples, values, collision, true, threads)
    }

    /// The same; with `drop_null` off, null values stay (timestamps have none).
    ///
    /// # Errors
    /// As [`Self::from_triples`].
    pub fn from_triples_keeping(
        triples: &Triples<'_>,
        values: &[T],
        collision: Collision,
        drop_null: bool,
        threads: usize,
    ) -> Result<Condensed<T>> {
        if values.len() != triples.rows.len() {
            return Err(Error::Uneven {
                what: "values",
                expected: triples.rows.len(),
                found: values.len(),
            });
        }
        let sorted = Sorted::new(triples, threads)?;
        match collision {
            Collision::Min => sorted.fold(values, drop_null, T::smaller),
            Collision::Max => sorted.fold(values, drop_null, T::larger),
            Collision::Sum => sorted.fold(values, drop_null, T::sum),
            Collision::Product => sorted.fold(values, drop_null, T::times),
            Collision::First => sorted.fold(values, drop_null, |first, _| first),
            Collision::Last => sorted.fold(values, drop_null, |_, last| last),
        }
    }
}

/// Groups triples without folding them, for folds that this crate does not provide.
///
/// # Errors
/// As [`Csr::from_triples`].
pub fn group(triples: &Triples<'_>, threads: usize) -> Result<Grouped> {
    let sorted = Sorted::new(triples, threads)?;
    let mut grouped = Grouped {
        starts: vec![0],
        columns: Vec::new(),
        groups: Vec::new(),
        order: sorted.packed.iter().map(|entry| *entry as u32).collect(),
    };
    for row in sorted.starts.windows(2) {
        let mut before = None;
        for at in row[0]..row[1] {
            let column = (sorted.packed[at as usize] >> 32) as u32;
            if before != Some(column) {
                grouped.columns.push(column);
                grouped.groups.push(at);
                before = Some(column);
            }
        }
        grouped.starts.push(grouped.columns.len() as u32);
    }
    grouped.groups.push(sorted.packed.len() as u32);
    Ok(grouped)
}

/// Triples by row; within a row by column and input position, both packed into one number.
struct Sorted {
    starts: Vec<u32>,
    packed: Vec<u64>,
    width: usize,
}

impl Sorted {
    fn new(triples: &Triples<'_>, threads: usize) -> Result<Self> {
        let (height, width) = triples.shape;
        let count = triples.rows.len();
        checked_count("triples", count)?;
        if triples.columns.len() != count {
            return Err(Error::Uneven {
                what: "columns",
                expected: count,
                found: triples.columns.len(),
            });
        }
        check_below("rows", triples.rows, height)?;
        check_below("columns", triples.columns, width)?;
        let mut starts = vec![0_u32; height + 1];
        for row in triples.rows {
            starts[*row as usize + 1] += 1;
        }
        for row in 0..height {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut packed = vec![0; count];
        for (position, (row, column)) in triples.rows.iter().zip(triples.columns).enumerate() {
            let place = &mut next[*row as usize];
            packed[*place as usize] = u64::from(*column) << 32 | position as u64;
            *place += 1;
        }
        sort_rows(&starts, &mut packed, threads);
        Ok(Self {
            starts,
            packed,
            width,
        })
    }

    fn fold<T: Value>(
        &self,
        values: &[T],
        drop_null: bool,
        fold: impl Fn(T, T) -> T,
    ) -> Result<Condensed<T>> {
        let mut builder = Builder::new(self.starts.len() - 1, self.packed.len(), drop_null);
        for row in self.starts.windows(2) {
            let entries = &self.packed[row[0] as usize..row[1] as usize];
            let mut entries = entries.iter().map(|entry| {
                let value = values[*entry as u32 as usize];
                ((*entry >> 32) as u32, value)
            });
            if let Some((mut column, mut value)) = entries.next() {
                for (next_column, next_value) in entries {
                    if next_column == column {
                        value = fold(value, next_value);
                    } else {
                        builder.push(column, value);
                        (column, value) = (next_column, next_value);
                    }
                }
                builder.push(column, value);
            }
            builder.end_row();
        }
        builder.finish(self.width)
    }
}

fn check_below(what: &'static str, positions: &[u32], count: usize) -> Result<()> {
    match positions.iter().max() {
        Some(&position) if position as usize >= count => Err(Error::OutOfBounds {
            what,
            position: position.into(),
            count,
        }),
        _ => Ok(()),
    }
}

/// Below this many triples a thread costs more than it saves.
const THREAD_TRIPLES: usize = 1 << 16;

fn sort_rows(starts: &[u32], packed: &mut [u64], threads: usize) {
    let parts = threads.min(packed.len() / THREAD_TRIPLES).max(1);
    let share = packed.len().div_ceil(parts);
    thread::scope(|scope| {
        let mut rows = starts;
        let mut rest = packed;
        for part in 1..=parts {
            let base = rows[0];
            let rows_here = if part == parts {
                rows.len()
            } else {
                // Whole rows only: the first row boundary at or after the even share.
                let mark = base as usize + share;
                (rows.partition_point(|start| (*start as usize) < mark) + 1).min(rows.len())
            };
            let (mine, after) = (&rows[..rows_here], &rows[rows_here - 1..]);
            let (here, behind) = rest.split_at_mut((mine[rows_here - 1] - base) as usize);
            rows = after;
            rest = behind;
            let mut work = move || {
                for row in mine.windows(2) {
                    here[(row[0] - base) as usize..(row[1] - base) as usize].sort_unstable();
                }
            };
            if part == parts {
                work();
            } else {
                scope.spawn(work);
            }
        }
    });
}
