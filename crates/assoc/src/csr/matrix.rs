//! The matrix, and the view of it that kernels take when the caller owns the memory.

use crate::error::{Error, Result};

/// What an entry may hold.
pub trait Value: Copy + PartialEq + PartialOrd + Send + Sync + 'static {
    /// Whether the value means "no entry".
    fn is_null(self) -> bool;
}

impl Value for f64 {
    fn is_null(self) -> bool {
        self == 0.0
    }
}

impl Value for i64 {
    fn is_null(self) -> bool {
        self == 0
    }
}

impl Value for bool {
    fn is_null(self) -> bool {
        !self
    }
}

/// A position in the dictionary of values. The caller removes the empty text.
impl Value for u32 {
    fn is_null(self) -> bool {
        false
    }
}

/// A matrix that owns its parts. Within a row columns ascend strictly.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr<T> {
    pub(super) starts: Vec<u32>,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<T>,
    pub(super) width: usize,
}

impl<T> Csr<T> {
    /// Beginnings of the rows in the two other lists, and the end of the last row.
    #[must_use]
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// Column of each entry.
    #[must_use]
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Value of each entry.
    #[must_use]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Starts, columns and values.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u32>, Vec<u32>, Vec<T>) {
        (self.starts, self.columns, self.values)
    }

    /// The matrix as kernels take it.
    #[must_use]
    pub fn view(&self) -> View<'_, T> {
        View {
            starts: &self.starts,
            columns: &self.columns,
            values: &self.values,
            width: self.width,
        }
    }
}

/// A matrix whose parts live elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T> {
    pub(super) starts: &'a [u32],
    pub(super) columns: &'a [u32],
    pub(super) values: &'a [T],
    pub(super) width: usize,
}

impl<'a, T> View<'a, T> {
    /// Puts a matrix together from its parts.
    ///
    /// # Errors
    /// [`Error::Uneven`], [`Error::BadOffsets`] or [`Error::OutOfBounds`] when the parts do not fit.
    pub fn new(
        starts: &'a [u32],
        columns: &'a [u32],
        values: &'a [T],
        width: usize,
    ) -> Result<Self> {
        if values.len() != columns.len() {
            return Err(Error::Uneven {
                what: "values",
                expected: columns.len(),
                found: values.len(),
            });
        }
        let ascending = starts.windows(2).all(|pair| pair[0] <= pair[1]);
        let ends = starts.first() == Some(&0)
            && starts
                .last()
                .is_some_and(|end| *end as usize == columns.len());
        if !ascending || !ends {
            return Err(Error::BadOffsets);
        }
        if let Some(&position) = columns.iter().max()
            && position as usize >= width
        {
            return Err(Error::OutOfBounds {
                what: "columns",
                position: position.into(),
                count: width,
            });
        }
        Ok(Self {
            starts,
            columns,
            values,
            width,
        })
    }

    /// How many rows there are.
    #[must_use]
    pub fn height(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// How many columns there are.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The entries of a row, as positions in columns and values.
    pub(super) fn row(&self, row: usize) -> std::ops::Range<usize> {
        self.starts[row] as usize..self.starts[row + 1] as usize
    }
}
