//! The product of two tables.
//!
//! `C += Aᵀ B` by outer products: rows of the two tables that have the same key meet, and each
//! entry of the one makes a partial product with each entry of the other. Matching rows are
//! collected until the memory allowed is full; what is collected is then multiplied row of C by
//! row of C in a dense accumulator, so that every partial product is summed in memory and an
//! entry of C is written once for each collection. A single collection writes C and nothing else;
//! with several, the combiner of C adds up what they wrote.
//!
//! The row-by-row product is F. G. Gustavson's (1978); the outer products are how Graphulo defines
//! the operation.

mod chunk;
mod kernel;
mod options;
mod run;
#[cfg(test)]
mod tests;

pub use options::{Part, TableMultOptions, TableMultResult};
pub use run::table_mult;
