//! Stats: one line about the table every so many seconds.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{Result, Source};
use serde::Serialize;

use crate::Progress;

/// Settings of [`run_stats`].
#[derive(Debug, Clone)]
pub struct StatsOptions {
    /// The table. Default `ci`.
    pub table: String,
    /// Time between lines. Default 30 s.
    pub interval: Duration,
    /// Lines to collect; `None`, the default, goes on until stopped.
    pub lines: Option<u64>,
}

impl Default for StatsOptions {
    fn default() -> Self {
        Self {
            table: "ci".to_owned(),
            interval: Duration::from_secs(30),
            lines: None,
        }
    }
}

/// One line: what of the suite's collector makes sense for one process.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct StatsLine {
    /// Milliseconds since 1970.
    pub time_ms: u64,
    /// Entries of all tables.
    pub total_entries: u64,
    /// Entries a second that all tables together grew by since the line before.
    pub total_ingest: f64,
    /// Entries of the table.
    pub table_entries: u64,
    /// Entries a second that the table grew by since the line before.
    pub table_ingest: f64,
    /// Tablets of the table.
    pub tablets: u64,
    /// Bytes of the table's files.
    pub table_bytes: u64,
    /// The table's files.
    pub table_files: u64,
    /// Bytes of all tables' files.
    pub total_bytes: u64,
    /// Tables.
    pub tables: u64,
    /// Fewest files of a tablet.
    pub files_min: u64,
    /// Most files of a tablet.
    pub files_max: u64,
    /// Mean number of files of a tablet.
    pub files_mean: f64,
    /// Its standard deviation.
    pub files_deviation: f64,
    /// Resident memory of this process, in bytes.
    pub memory_bytes: u64,
    /// Processors this process kept busy since the line before.
    pub processors: f64,
}

/// What was collected.
#[derive(Debug, Clone, Default, Serialize)]
pub struct StatsFigures {
    /// The newest lines, at most 10,000.
    pub lines: Vec<StatsLine>,
}

/// Collects lines, handing each to the progress as text.
///
/// # Errors
/// No such table, or the source cannot be reached.
pub fn run_stats(
    source: &Arc<dyn Source>,
    options: &StatsOptions,
    progress: &dyn Progress,
) -> Result<StatsFigures> {
    let _ = (source, options, progress);
    Err(super::pending())
}
