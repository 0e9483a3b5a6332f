//! Breadth-first search over the three forms of a graph in tables.
//!
//! Each step keeps the vertices whose degree lies within the limits, fetches their edges and goes
//! to the edges' ends. Few vertices are looked up; many are found by one scan of the table, since
//! reading forty entries in order costs about as much as one point read.

mod adjacency;
mod degrees;
mod incidence;
mod options;
mod output;
#[cfg(test)]
mod tests;
mod walk;

pub use options::{BfsOptions, BfsResult, DegreeLimit, GraphForm};
pub use walk::bfs;
