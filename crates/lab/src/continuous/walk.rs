//! Walk: follows one list at a time, row by row.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{Authorizations, Result, Source};
use serde::Serialize;

use super::rows::RowRange;
use crate::Progress;
use crate::measure::{LatencySummary, RateSample};

/// Settings of [`run_walk`].
#[derive(Debug, Clone)]
pub struct WalkOptions {
    /// The table. Default `ci`.
    pub table: String,
    /// Ends the run after this time. Default: until stopped.
    pub duration: Option<Duration>,
    /// Ends the run after so many queries, all walkers together. Default: no limit.
    pub queries: Option<u64>,
    /// Pause after each query. `None`, the default, is the suite's 10 ms (it stands for an
    /// application's own work) in a run without end, and no pause in one that `duration` or
    /// `queries` limits, which is a measurement.
    pub pause: Option<Duration>,
    /// Walker threads. Default 1.
    pub walkers: usize,
    /// The numbers random start rows are drawn from.
    pub rows: RowRange,
    /// Authorizations; a walker draws one for each list. Empty, the default, reads without any.
    pub authorizations: Vec<Authorizations>,
    /// Entries read to find where to start. Default 100, as in the suite.
    pub start_entries: usize,
    /// The most missing rows named. Default 10.
    pub examples: usize,
    /// Start of the random sequences. `None`, the default, draws one.
    pub seed: Option<u64>,
}

impl Default for WalkOptions {
    fn default() -> Self {
        Self {
            table: "ci".to_owned(),
            duration: None,
            queries: None,
            pause: None,
            walkers: 1,
            rows: RowRange::default(),
            authorizations: Vec::new(),
            start_entries: 100,
            examples: 10,
            seed: None,
        }
    }
}

/// What walking found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct WalkFigures {
    /// Rows looked up by a link that were there (the suite's SRQ) or missing.
    pub queries: u64,
    /// Rows a link names that are not there (the suite's MIS): data was lost, unless lists are being
    /// deleted meanwhile or are hidden from the reader.
    pub missing: u64,
    /// Entries whose checksum or form is wrong.
    pub corrupt: u64,
    /// Queries a second of running time, pauses left out; all walkers together.
    pub queries_per_second: f64,
    /// Queries a second by the clock, pauses included: what the paper's throughput is.
    pub queries_per_second_with_pauses: f64,
    /// Median time of a query, in microseconds.
    pub p50_us: f64,
    /// Time 99 of 100 queries stay below, in microseconds.
    pub p99_us: f64,
    /// All percentiles.
    pub latency: LatencySummary,
    /// Times a start row was searched (the suite's FSR).
    pub starts: u64,
    /// Time to find a start row.
    pub start_latency: LatencySummary,
    /// Entries read.
    pub entries: u64,
    /// Lists followed to an end without a link.
    pub ends: u64,
    /// Seconds by the clock.
    pub seconds: f64,
    /// Walker threads.
    pub walkers: usize,
    /// Highest rate between two samples, queries a second.
    pub max_queries_per_second: f64,
    /// Queries against time.
    pub samples: Vec<RateSample>,
    /// Some missing rows, as `row <- row that points to it`.
    pub missing_examples: Vec<String>,
}

/// Follows random lists.
///
/// # Errors
/// No such table, or a failed read. Missing rows are no error but a figure.
pub fn run_walk(
    source: &Arc<dyn Source>,
    options: &WalkOptions,
    progress: &dyn Progress,
) -> Result<WalkFigures> {
    let _ = (source, options, progress);
    Err(super::pending())
}
