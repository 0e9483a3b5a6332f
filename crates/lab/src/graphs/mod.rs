//! Ingest of graphs, as in the paper of 100 million inserts a second: Kronecker graphs stacked one below the
//! other in one table, each writer with rows of its own.
//!
//! * [`GraphWorkload`] describes the stack; [`BaseGraph`] is the graph that one writer makes and inserts repeatedly.
//! * [`run_graph_ingest`] writes it with batch writers in this process.
//! * [`run_ranks`] starts processes that sort their own part, and imports their files in one step;
//!   [`run_rank`] is the work of such a process.
//! * [`DegreeCurve`] and [`Spy`] are the pictures of one base graph.

mod base;
mod ingest;
mod rank;
mod ranks;
mod shape;
#[cfg(test)]
mod tests;
mod workload;

pub use base::BaseGraph;
pub use ingest::{GraphIngestOptions, run_graph_ingest};
pub use rank::{MakeSorted, RankFigures, RankOptions, run_rank};
pub use ranks::{RankCommand, RanksOptions, run_ranks};
pub use shape::{DegreeCurve, Spy};
pub use workload::{GraphFigures, GraphWorkload};
