//! Ingest of graphs, as in the paper of 100 million inserts a second: Kronecker graphs stacked one below the
//! other in one table, each writer with rows of its own.
//!
//! * [`GraphWorkload`] says what is stacked; [`BaseGraph`] is what one writer makes and inserts again and again.
//! * [`run_graph_ingest`] writes it with batch writers in this process.
//! * [`run_ranks`] has processes sort their own part, and takes over what they wrote in one import;
//!   [`run_rank`] is what such a process does.
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
