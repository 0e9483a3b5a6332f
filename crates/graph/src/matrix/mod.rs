//! Matrices in memory: lists of keys, sparse rows, undirected graphs.

mod graph;
mod interner;
mod keys;
mod sparse;

pub use keys::Keys;
pub use sparse::SparseMatrix;

pub(crate) use graph::UndirectedGraph;
pub(crate) use interner::Interner;
pub(crate) use keys::ranks;
pub(crate) use sparse::Triples;
