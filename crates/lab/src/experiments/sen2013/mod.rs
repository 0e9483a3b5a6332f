//! Sen, Farris, Guerra 2013: "Benchmarking Apache Accumulo BigData Distributed Table Store Using Its
//! Continuous Test Suite".

mod ingest;
mod labels;
mod mix;
mod paper;
mod query;
mod tables;
mod verification;

pub(super) use ingest::{figure_5, table_1, table_2};
pub(super) use labels::table_11;
pub(super) use mix::{table_7, table_8, table_9, table_10};
pub(super) use paper::CITATION;
pub(super) use query::{table_3, table_4, table_5, table_6};
pub(super) use verification::table_12;
