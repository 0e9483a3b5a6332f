//! T. Ivanov and others 2014: "Benchmarking DataStax Enterprise/Cassandra with HiBench", its HiveBench
//! part.

mod paper;
mod tables;

pub(super) use paper::CITATION;
pub(super) use tables::{table_14, table_15, table_16, table_17};
