//! Small dense matrices: products with a square of a few topics, and its inverse.

/// Row-major, `rows` × `columns`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Dense {
    pub(super) columns: usize,
    pub(super) values: Vec<f64>,
}

impl Dense {
    pub(super) fn zero(rows: usize, columns: usize) -> Self {
        Self {
            columns,
            values: vec![0.0; rows * columns],
        }
    }

    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..][..self.columns]
    }

    pub(super) fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.columns..][..self.columns]
    }

    fn rows(&self) -> usize {
        self.values.len() / self.columns.max(1)
    }

    /// `selfᵀ self`.
    pub(super) fn gram(&self) -> Self {
        let mut gram = Self::zero(self.columns, self.columns);
        for row in 0..self.rows() {
            let row = self.row(row);
            for (at, &left) in row.iter().enumerate() {
                for (sum, &right) in gram.row_mut(at).iter_mut().zip(row) {
                    *sum += left * right;
                }
            }
        }
        gram
    }

    /// Replaces every row by max(0, row · square).
    pub(super) fn project(&mut self, square: &Self) {
        let mut product = vec![0.0; self.columns];
        for row in 0..self.rows() {
            product.fill(0.0);
            for (at, &left) in self.row(row).iter().enumerate() {
                for (sum, &right) in product.iter_mut().zip(square.row(at)) {
                    *sum += left * right;
                }
            }
            for (value, &sum) in self.row_mut(row).iter_mut().zip(&product) {
                *value = sum.max(0.0);
            }
        }
    }

    /// Σ of the products of entries at the same place.
    pub(super) fn dot(&self, other: &Self) -> f64 {
        let pairs = self.values.iter().zip(&other.values);
        pairs.map(|(a, b)| a * b).sum()
    }

    /// The inverse of a symmetric positive square by Gauss and Jordan, with a little added to the
    /// diagonal where the square is singular: a topic that nothing is about.
    pub(super) fn inverse(&self) -> Self {
        let size = self.columns;
        let largest = self
            .values
            .iter()
            .fold(0.0_f64, |most, value| most.max(value.abs()));
        let mut left = self.clone();
        let mut inverse = Self::zero(size, size);
        for at in 0..size {
            left.row_mut(at)[at] += largest * 1e-12 + f64::MIN_POSITIVE;
            inverse.row_mut(at)[at] = 1.0;
        }
        for at in 0..size {
            let pivot = (at..size)
                .max_by(|&a, &b| left.row(a)[at].abs().total_cmp(&left.row(b)[at].abs()))
                .unwrap_or(at);
            for matrix in [&mut left, &mut inverse] {
                for column in 0..size {
                    matrix
                        .values
                        .swap(at * size + column, pivot * size + column);
                }
            }
            let factor = 1.0 / left.row(at)[at];
            for matrix in [&mut left, &mut inverse] {
                for value in matrix.row_mut(at) {
                    *value *= factor;
                }
            }
            for other in (0..size).filter(|&other| other != at) {
                let factor = left.row(other)[at];
                for matrix in [&mut left, &mut inverse] {
                    for column in 0..size {
                        let taken = factor * matrix.row(at)[column];
                        matrix.row_mut(other)[column] -= taken;
                    }
                }
            }
        }
        inverse
    }
}
