//! Elementwise operations on two matrices. Rows and columns of both are positions in common dictionaries, reached
//! through maps, so that no operand is copied into the common shape first.

use super::condense::{Builder, Condensed};
use super::matrix::{Value, View};
use super::semiring::Number;
use crate::error::{Error, Result, checked_count};
use crate::keys::MISSING;

/// A matrix and the positions of its rows and columns in the result. `None` is "at the same position". A map
/// ascends, but for [`MISSING`], which leaves the row or column out.
#[derive(Clone, Copy, Debug)]
pub struct Aligned<'a, T> {
    matrix: View<'a, T>,
    rows: Option<&'a [u32]>,
    columns: Option<&'a [u32]>,
}

impl<'a, T> Aligned<'a, T> {
    /// Joins a matrix with its maps.
    ///
    /// # Errors
    /// [`Error::Uneven`] when a map is not as long as its side of the matrix.
    pub fn new(
        matrix: View<'a, T>,
        rows: Option<&'a [u32]>,
        columns: Option<&'a [u32]>,
    ) -> Result<Self> {
        for (what, map, expected) in [
            ("row map", rows, matrix.height()),
            ("column map", columns, matrix.width()),
        ] {
            if let Some(map) = map
                && map.len() != expected
            {
                return Err(Error::Uneven {
                    what,
                    expected,
                    found: map.len(),
                });
            }
        }
        Ok(Self {
            matrix,
            rows,
            columns,
        })
    }

    /// For each row of the result the row of the matrix, or [`MISSING`].
    fn rows_by_result(&self, height: usize) -> Result<Vec<u32>> {
        let mut rows = vec![MISSING; height];
        for row in 0..self.matrix.height() {
            let target = self.rows.map_or(row as u32, |rows| rows[row]);
            if target == MISSING {
                continue;
            }
            let Some(place) = rows.get_mut(target as usize) else {
                return Err(Error::OutOfBounds {
                    what: "rows",
                    position: target.into(),
                    count: height,
                });
            };
            *place = row as u32;
        }
        Ok(rows)
    }

    fn check_columns(&self, width: usize) -> Result<()> {
        let most = match self.columns {
            Some(columns) => columns.iter().filter(|at| **at != MISSING).max().copied(),
            None => (self.matrix.width() as u32).checked_sub(1),
        };
        match most {
            Some(position) if position as usize >= width => Err(Error::OutOfBounds {
                what: "columns",
                position: position.into(),
                count: width,
            }),
            _ => Ok(()),
        }
    }

    /// Column in the result of the entry at a position.
    #[inline]
    fn column(&self, at: usize) -> u32 {
        let column = self.matrix.columns[at];
        match self.columns {
            Some(columns) => columns[column as usize],
            None => column,
        }
    }

    /// Entries of a row of the result.
    fn entries(&self, row: u32) -> std::ops::Range<usize> {
        if row == MISSING {
            0..0
        } else {
            self.matrix.row(row as usize)
        }
    }
}

/// What happens to two numbers at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elementwise {
    /// Sum.
    Add,
    /// Difference. In a union, a value of the right matrix only is negated.
    Subtract,
    /// Product.
    Multiply,
    /// Quotient; a zero divisor gives no entry.
    Divide,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// The left one.
    First,
    /// One.
    Pair,
}

/// Places of two matrices and the entries at them, for operations that this crate does not provide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matched {
    /// Beginnings of the rows.
    pub starts: Vec<u32>,
    /// Column of each place.
    pub columns: Vec<u32>,
    /// Entry of the left matrix at each place, or [`MISSING`].
    pub left: Vec<u32>,
    /// Entry of the right matrix at each place, or [`MISSING`].
    pub right: Vec<u32>,
}

/// Places where either matrix has an entry.
///
/// # Errors
/// [`Error`] when a map leaves the shape.
pub fn union<T: Number>(
    left: &Aligned<'_, T>,
    right: &Aligned<'_, T>,
    shape: (usize, usize),
    operation: Elementwise,
    drop_null: bool,
) -> Result<Condensed<T>> {
    let expected = left.matrix.columns.len() + right.matrix.columns.len();
    let zero = T::default();
    let (a, b) = (left.matrix.values, right.matrix.values);
    macro_rules! run {
        ($both:expr, $right:expr) => {{
            let mut builder = Builder::new(shape.0, expected, drop_null);
            walk::<true, _>(left, right, shape, |step| match step {
                Step::Both(column, mine, theirs) => builder.push(column, $both(a[mine], b[theirs])),
                Step::Left(column, mine) => builder.push(column, a[mine]),
                Step::Right(column, theirs) => builder.push(column, $right(b[theirs])),
                Step::EndRow => builder.end_row(),
            })?;
            builder.finish(shape.1)
        }};
    }
    let same = |value: T| value;
    match operation {
        Elementwise::Add => run!(T::sum, same),
        Elementwise::Subtract => run!(T::minus, |value| zero.minus(value)),
        Elementwise::Multiply => run!(T::times, same),
        Elementwise::Divide => run!(T::over, same),
        Elementwise::Min => run!(T::smaller, same),
        Elementwise::Max => run!(T::larger, same),
        Elementwise::First => run!(|left, _| left, same),
        Elementwise::Pair => run!(|_, _| T::ONE, same),
    }
}

/// Places where both matrices have an entry.
///
/// # Errors
/// [`Error`] when a map leaves the shape.
pub fn intersection<T: Number>(
    left: &Aligned<'_, T>,
    right: &Aligned<'_, T>,
    shape: (usize, usize),
    operation: Elementwise,
    drop_null: bool,
) -> Result<Condensed<T>> {
    let (a, b) = (left.matrix.values, right.matrix.values);
    macro_rules! run {
        ($both:expr) => {{
            let mut builder = Builder::new(shape.0, a.len().min(b.len()) / 8, drop_null);
            walk::<false, _>(left, right, shape, |step| match step {
                Step::Both(column, mine, theirs) => builder.push(column, $both(a[mine], b[theirs])),
                Step::EndRow => builder.end_row(),
                Step::Left(..) | Step::Right(..) => {}
            })?;
            builder.finish(shape.1)
        }};
    }
    match operation {
        Elementwise::Add => run!(T::sum),
        Elementwise::Subtract => run!(T::minus),
        Elementwise::Multiply => run!(T::times),
        Elementwise::Divide => run!(T::over),
        Elementwise::Min => run!(T::smaller),
        Elementwise::Max => run!(T::larger),
        Elementwise::First => run!(|left, _| left),
        Elementwise::Pair => run!(|_, _| T::ONE),
    }
}

/// Places where either matrix has an entry, without values.
///
/// # Errors
/// [`Error`] when a map leaves the shape, or there are too many places.
pub fn matched_union<A: Value, B: Value>(
    left: &Aligned<'_, A>,
    right: &Aligned<'_, B>,
    shape: (usize, usize),
) -> Result<Matched> {
    let mut matched = Matched::new(shape.0);
    walk_any::<true, A, B>(left, right, shape, |step| matched.take(step))?;
    matched.checked()
}

/// Places where both matrices have an entry, without values.
///
/// # Errors
/// As [`matched_union`].
pub fn matched_intersection<A: Value, B: Value>(
    left: &Aligned<'_, A>,
    right: &Aligned<'_, B>,
    shape: (usize, usize),
) -> Result<Matched> {
    let mut matched = Matched::new(shape.0);
    walk_any::<false, A, B>(left, right, shape, |step| matched.take(step))?;
    matched.checked()
}

impl Matched {
    fn new(rows: usize) -> Self {
        let mut starts = Vec::with_capacity(rows + 1);
        starts.push(0);
        Self {
            starts,
            columns: Vec::new(),
            left: Vec::new(),
            right: Vec::new(),
        }
    }

    fn take(&mut self, step: Step) {
        let (column, left, right) = match step {
            Step::Both(column, mine, theirs) => (column, mine as u32, theirs as u32),
            Step::Left(column, mine) => (column, mine as u32, MISSING),
            Step::Right(column, theirs) => (column, MISSING, theirs as u32),
            Step::EndRow => {
                self.starts.push(self.columns.len() as u32);
                return;
            }
        };
        self.columns.push(column);
        self.left.push(left);
        self.right.push(right);
    }

    fn checked(self) -> Result<Self> {
        checked_count("entries", self.columns.len())?;
        Ok(self)
    }
}

/// One place of the walk: its column and the entries there.
enum Step {
    Both(u32, usize, usize),
    Left(u32, usize),
    Right(u32, usize),
    EndRow,
}

fn walk<const UNION: bool, T: Value>(
    left: &Aligned<'_, T>,
    right: &Aligned<'_, T>,
    shape: (usize, usize),
    visit: impl FnMut(Step),
) -> Result<()> {
    walk_any::<UNION, T, T>(left, right, shape, visit)
}

/// Visits the places row by row. Without `UNION`, places of only one matrix are skipped.
#[inline]
fn walk_any<const UNION: bool, A: Value, B: Value>(
    left: &Aligned<'_, A>,
    right: &Aligned<'_, B>,
    shape: (usize, usize),
    mut visit: impl FnMut(Step),
) -> Result<()> {
    left.check_columns(shape.1)?;
    right.check_columns(shape.1)?;
    let left_rows = left.rows_by_result(shape.0)?;
    let right_rows = right.rows_by_result(shape.0)?;
    for (left_row, right_row) in left_rows.into_iter().zip(right_rows) {
        let mut mine = left.entries(left_row);
        let mut theirs = right.entries(right_row);
        while !mine.is_empty() && !theirs.is_empty() {
            let left_column = left.column(mine.start);
            let right_column = right.column(theirs.start);
            if left_column == MISSING {
                mine.start += 1;
            } else if right_column == MISSING {
                theirs.start += 1;
            } else if left_column < right_column {
                if UNION {
                    visit(Step::Left(left_column, mine.start));
                }
                mine.start += 1;
            } else if right_column < left_column {
                if UNION {
                    visit(Step::Right(right_column, theirs.start));
                }
                theirs.start += 1;
            } else {
                visit(Step::Both(left_column, mine.start, theirs.start));
                mine.start += 1;
                theirs.start += 1;
            }
        }
        if UNION {
            for at in mine {
                let column = left.column(at);
                if column != MISSING {
                    visit(Step::Left(column, at));
                }
            }
            for at in theirs {
                let column = right.column(at);
                if column != MISSING {
                    visit(Step::Right(column, at));
                }
            }
        }
        visit(Step::EndRow);
    }
    Ok(())
}
