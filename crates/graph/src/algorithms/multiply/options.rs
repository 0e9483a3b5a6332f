//! Options and results of a multiplication.

use crate::matrix::SparseMatrix;
use crate::tables::{MatrixTable, ResultTable, WriteCount};
use crate::{Plus, Semiring};

/// Which entries of the product are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// All.
    #[default]
    All,
    /// Those whose row key differs from their column key.
    OffDiagonal,
    /// Those whose column key is greater than their row key: the strict upper triangle.
    Upper,
}

/// A product of two tables.
#[derive(Debug, Clone, Default)]
pub struct TableMultOptions {
    /// The left table: it holds A *transposed*, so that its rows match those of the right.
    pub left: MatrixTable,
    /// The right table, B.
    pub right: MatrixTable,
    /// The operations used as plus and times. Default: plus and times.
    pub semiring: Semiring,
    /// Which entries are wanted. Default: all.
    pub part: Part,
    /// Where C is added. A table that is missing is made with a combiner for plus.
    pub result: Option<ResultTable>,
    /// Where the transpose of C is added.
    pub result_transpose: Option<ResultTable>,
    /// Returns the product of this call as a matrix, which must then fit in memory. Default: no.
    pub collect: bool,
}

impl TableMultOptions {
    /// The product `leftᵀ right`, written nowhere yet.
    #[must_use]
    pub fn new(left: impl Into<MatrixTable>, right: impl Into<MatrixTable>) -> Self {
        Self {
            left: left.into(),
            right: right.into(),
            ..Self::default()
        }
    }

    /// Whether a second reading could read what the first one wrote.
    pub(super) fn writes_what_it_reads(&self) -> bool {
        let mut results = self.result.iter().chain(&self.result_transpose);
        results.any(|result| [&self.left.table, &self.right.table].contains(&&result.table))
    }

    pub(super) fn plus(&self) -> Plus {
        self.semiring.plus
    }
}

/// What a product did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableMultResult {
    /// Partial products: pairs of matching entries.
    pub partial_products: u64,
    /// Row keys found in both tables.
    pub rows_matched: u64,
    /// Entries read of both tables, each as often as it was read.
    pub entries_read: u64,
    /// How often what was collected was multiplied.
    pub collections: u32,
    /// Entries written; entries in C, counted in the table when it was there before or got its
    /// entries in parts.
    pub io: WriteCount,
    /// The product, if asked for.
    pub matrix: Option<SparseMatrix>,
}
