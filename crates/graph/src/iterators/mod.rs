//! Iterators that run inside a store: apply a function, filter keys, reduce rows, combine numbers.
//!
//! Register them where a store is opened ([`register_graph_iterators`]). A source that does not
//! have them is scanned without iterators, and the same iterators run on the result of the scan.

mod apply;
mod combiner;
mod filter;
mod options;
mod register;
mod row_reduce;
#[cfg(test)]
mod tests;

pub use apply::{Apply, Scalar};
pub use combiner::number_combiner;
pub use filter::key_filter;
pub use register::register_graph_iterators;
pub use row_reduce::{RowReduction, row_reduce};

pub(crate) use register::graph_iterators;
