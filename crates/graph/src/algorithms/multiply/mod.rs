//! The product of two tables.
//!
//! `C += Aᵀ B` by outer products: rows of the two tables with the same key match, and each
//! entry of the one makes a partial product with each entry of the other. Matching rows are
//! collected until the memory bound is reached; the collection is then multiplied row of C by
//! row of C in a dense accumulator, so that every partial product is summed in memory and an
//! entry of C is written once for each collection. A single collection writes C and nothing else.
//! What does not fit is counted first. Then C is cut into blocks, for each of which the tables are
//! read once more, so that every entry is still written once. If that would take too many passes,
//! matching rows are collected in the order of the scan, and the combiner of C sums what was written.
//!
//! The row-by-row product is F. G. Gustavson's (1978); the outer products are how Graphulo defines
//! the operation.

mod blocks;
mod chunk;
mod kernel;
mod options;
mod run;
#[cfg(test)]
mod tests;

pub use options::{Part, TableMultOptions, TableMultResult};
pub use run::table_mult;
