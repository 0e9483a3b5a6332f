//! Batch walk: follows thousands of lists at once.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{Authorizations, Result, Source};
use serde::Serialize;

use super::rows::RowRange;
use crate::Progress;
use crate::measure::{LatencySummary, RateSample};

/// Settings of [`run_batch_walk`].
#[derive(Debug, Clone)]
pub struct BatchWalkOptions {
    /// The table. Default `ci`.
    pub table: String,
    /// Ends the run after this time. Default: until stopped.
    pub duration: Option<Duration>,
    /// Ends the run after so many queries. Default: no limit.
    pub queries: Option<u64>,
    /// Pause after each batch. `None`, the default, is the suite's 180 s in a run without end, and no pause in one
    /// that `duration` or `queries` limits, which is a measurement.
    pub pause: Option<Duration>,
    /// Rows looked up together. Default 10,000. (The paper says bytes; the suite's code counts
    /// rows.)
    pub batch_rows: usize,
    /// Threads of the batch scan. Default 16.
    pub threads: usize,
    /// Batch walkers, each with its own scan. Default 1.
    pub walkers: usize,
    /// The numbers random start rows are drawn from.
    pub rows: RowRange,
    /// Authorizations; a walker draws one for each batch of lists. Empty, the default, reads
    /// without any.
    pub authorizations: Vec<Authorizations>,
    /// The most missing rows named. Default 10.
    pub examples: usize,
    /// Start of the random sequences. `None`, the default, draws one.
    pub seed: Option<u64>,
}

impl Default for BatchWalkOptions {
    fn default() -> Self {
        Self {
            table: "ci".to_owned(),
            duration: None,
            queries: None,
            pause: None,
            batch_rows: 10_000,
            threads: 16,
            walkers: 1,
            rows: RowRange::default(),
            authorizations: Vec::new(),
            examples: 10,
            seed: None,
        }
    }
}

/// What batch walking found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct BatchWalkFigures {
    /// Rows looked up (not batches).
    pub queries: u64,
    /// Rows asked for that did not come (the suite's DIF).
    pub missing: u64,
    /// Entries whose checksum or form is wrong.
    pub corrupt: u64,
    /// Rows a second of running time, pauses left out.
    pub queries_per_second: f64,
    /// Rows a second by the clock, pauses included: what the paper's throughput is.
    pub queries_per_second_with_pauses: f64,
    /// Median time of a whole batch, in microseconds.
    pub p50_us: f64,
    /// Time 99 of 100 batches stay below, in microseconds.
    pub p99_us: f64,
    /// All percentiles of the time of a batch.
    pub latency: LatencySummary,
    /// Batches (the suite's BRQ).
    pub batches: u64,
    /// Times rows were collected to start from (the suite's FSB).
    pub starts: u64,
    /// Entries read.
    pub entries: u64,
    /// Seconds by the clock.
    pub seconds: f64,
    /// Rows in a batch.
    pub batch_rows: usize,
    /// Threads of the batch scan.
    pub threads: usize,
    /// Highest rate between two samples, rows a second.
    pub max_queries_per_second: f64,
    /// Rows against time.
    pub samples: Vec<RateSample>,
    /// Some missing rows.
    pub missing_examples: Vec<String>,
}

/// Follows many random lists at once.
///
/// # Errors
/// No such table, or a failed read. Missing rows are no error but a figure.
pub fn run_batch_walk(
    source: &Arc<dyn Source>,
    options: &BatchWalkOptions,
    progress: &dyn Progress,
) -> Result<BatchWalkFigures> {
    let _ = (source, options, progress);
    Err(super::pending())
}
