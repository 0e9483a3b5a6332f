//! The Kronecker graph generator of Graph500 (R-MAT): the published experiments' workload.
//!
//! Every vertex number is built bit by bit: at each bit an edge falls into one of four quadrants
//! with probabilities A, B, C and D. Edges are independent of each other, and edge `n` depends on
//! the seed and on `n` alone, so that any number of processes make disjoint parts of one graph.

mod alias;
mod expectations;
mod generator;
mod permutation;
#[cfg(test)]
mod tests;

pub use expectations::{DegreeExpectations, expectations};
pub(crate) use generator::mix;
pub use generator::{Kronecker, KroneckerOptions, SCALE_MAX};
