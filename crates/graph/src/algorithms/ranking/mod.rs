//! Algorithms that rank vertices and words: degrees, TF-IDF, PageRank, non-negative factors.

mod degree_table;
mod edge_list;
mod factors;
mod pagerank;
mod small_matrix;
#[cfg(test)]
mod tests;
mod tfidf;

pub use degree_table::degree_table;
pub use factors::{FactorsOptions, FactorsResult, nmf};
pub use pagerank::{PageRankOptions, PageRankResult, pagerank};
pub use tfidf::{TfIdfOptions, TfIdfResult, tfidf};
