//! Graphs in tables: D4M's schema, the Kronecker generator, and algorithms that run over tables.

mod kronecker;

pub use kronecker::{DegreeExpectations, Kronecker, KroneckerOptions, SCALE_MAX, expectations};
