//! Algorithms over tables.

mod bfs;
mod elementwise;
mod graphs;
mod multiply;
mod one_table;
mod ranking;
#[cfg(test)]
mod real_edges;
#[cfg(test)]
mod tests;

pub use bfs::{BfsOptions, BfsResult, DegreeLimit, GraphForm, bfs};
pub use elementwise::{Elementwise, ElementwiseOptions, ElementwiseResult, elementwise};
pub use graphs::{
    ComponentsResult, JaccardOptions, JaccardResult, TriangleResult, TrussOptions, TrussResult,
    connected_components, jaccard, k_truss_adjacency, k_truss_incidence, triangle_count,
};
pub use multiply::{Part, TableMultOptions, TableMultResult, table_mult};
pub use one_table::{ReduceResult, TransformOptions, TransformResult, reduce_rows, transform};
pub use ranking::{
    FactorsOptions, FactorsResult, PageRankOptions, PageRankResult, TfIdfOptions, TfIdfResult,
    degree_table, nmf, pagerank, tfidf,
};
