//! The lab: workloads, measurement, run records and reports.
//!
//! * [`continuous`]: the continuous test suite. Ingest writes linked lists of random rows; walkers
//!   follow them; verify finds every link to a missing row.
//! * [`graphs`]: ingest of stacked Kronecker graphs, by batch writers or by processes that sort their
//!   own part.
//! * [`experiments`]: the tables and figures of published papers, rerun at a size that suits this
//!   machine, one JSON record per run.
//! * [`report`]: the records as one HTML page, the paper's rows next to ours.
//! * `hive`, with the feature `sql`: the analytical queries of HiBench.
//! * [`web_requests`]: requests of a web proxy as events, and parallel clients that query them.
//! * [`ycsb`]: the core workloads of YCSB on tables.
//! * [`measure`]: rates against time, latencies, process and host samples.
//!
//! The lab sees tables only through the source contract of `ostrakon_cell`: the caller passes
//! the source in.

pub mod continuous;
mod control;
mod draws;
pub mod experiments;
pub mod graphs;
#[cfg(feature = "sql")]
pub mod hive;
pub mod measure;
mod progress;
pub mod report;
mod threads;
pub mod web_requests;
pub mod ycsb;

pub use progress::{NoProgress, Progress};
