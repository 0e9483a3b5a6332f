//! The result of a run: one JSON file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::rig::RigConditions;
use super::unit::Unit;
use crate::graphs::Spy;
use crate::measure::{Host, HostSample, LatencySummary, RateSample, Spread};

/// The record's version. Fields may be added; a change of meaning raises it.
/// 2: an average of samples weighs windows by their length; a short run has neither maximum nor average of samples;
/// walkers warm the caches before the timer.
pub const RECORD_VERSION: u32 = 2;

/// The record of one run of an experiment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Record {
    /// [`RECORD_VERSION`] of the writer.
    pub record_version: u32,
    /// The experiment's name.
    pub experiment: String,
    /// Its title.
    pub title: String,
    /// What the paper did and found.
    pub paper: Paper,
    /// How ours differs in size and kind.
    pub scaling: String,
    /// What the numbers are worth nothing without.
    pub conditions: Conditions,
    /// When the run began, in milliseconds since 1970.
    pub started_ms: u64,
    /// How long all of it took, in seconds.
    pub seconds: f64,
    /// What each number of a row means, in the order to show them.
    pub columns: Vec<Column>,
    /// Our rows.
    pub rows: Vec<Row>,
    /// What [`Row::clients`] counts.
    #[serde(default)]
    pub clients: String,
    /// Charts in addition to those of every record.
    #[serde(default)]
    pub plots: Vec<Plot>,
}

/// A chart of points and lines, or a picture of a matrix.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: String,
    /// The vertical axis.
    pub y: String,
    /// Whether both axes are logarithmic.
    #[serde(default)]
    pub log: bool,
    /// What is drawn.
    #[serde(default)]
    pub series: Vec<PlotSeries>,
    /// A matrix instead.
    #[serde(default)]
    pub spy: Option<Spy>,
}

/// Points, or a line, of a [`Plot`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlotSeries {
    /// What the legend calls it.
    pub name: String,
    /// Across and up.
    pub points: Vec<(f64, f64)>,
    /// Whether a line joins them.
    #[serde(default)]
    pub lines: bool,
    /// Whether the points are circles that are not filled: for values to be taken with care.
    #[serde(default)]
    pub hollow: bool,
}

/// What the paper did and found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Paper {
    /// Which paper.
    pub citation: String,
    /// Which table or figure.
    pub label: String,
    /// What was done.
    pub what: String,
    /// Heads of the table.
    pub columns: Vec<String>,
    /// Rows of the table, as printed.
    pub rows: Vec<Vec<String>>,
    /// What a reader must know before comparing.
    pub caveats: Vec<String>,
}

/// What the numbers are worth nothing without.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Conditions {
    /// The source.
    pub source: RigConditions,
    /// The machine.
    pub host: Host,
    /// Durability of the writes.
    pub durability: String,
    /// Bytes of keys and values of an entry, on average.
    pub entry_bytes: f64,
    /// Bytes per entry on disk after the last compaction, on average; 0 where unknown.
    pub stored_bytes_per_entry: f64,
    /// The table's block compression, as its property says.
    pub codec: String,
    /// Largest table of the run, in bytes on disk.
    pub data_bytes: u64,
    /// `data_bytes` against the source's memory budget.
    pub data_to_memory: f64,
    /// Bytes a writer collects before it submits them; 0 where nothing is written.
    pub batch_bytes: u64,
    /// Bytes a writer may have under way; 0 where nothing is written.
    pub buffer_bytes: u64,
    /// What is inside the timers.
    pub timed: String,
    /// Steady state or burst, and the state data was in before reading.
    pub state: String,
    /// The factor on the sizes.
    pub scale: f64,
    /// Times each row was measured.
    pub repetitions: usize,
    /// Version of the lab.
    pub lab_version: String,
}

/// What one number of a row means.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its key among the metrics.
    pub key: String,
    /// What a table calls it.
    pub label: String,
    /// How to show it.
    pub unit: Unit,
}

/// One row of ours.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Row {
    /// What distinguishes it.
    pub name: String,
    /// Client threads, where rows differ in them: the horizontal axis of a plot.
    pub clients: usize,
    /// The source's memory budget in this row, in bytes; 0 where not recorded.
    #[serde(default)]
    pub memory_bytes: u64,
    /// The row's table at the end, in bytes on disk.
    #[serde(default)]
    pub data_bytes: u64,
    /// Mean and deviation over the repetitions, by metric.
    pub metrics: BTreeMap<String, Spread>,
    /// What each repetition gave.
    pub repetitions: Vec<Repetition>,
}

/// One repetition of a row.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Repetition {
    /// Numbers by metric.
    pub metrics: BTreeMap<String, f64>,
    /// Throughput against time.
    pub rates: Vec<RateSeries>,
    /// Latency distributions.
    pub latencies: Vec<LatencySeries>,
    /// Process and machine during the repetition.
    pub host: Vec<HostSample>,
}

/// Throughput against time.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RateSeries {
    /// What is counted.
    pub name: String,
    /// How far the run was, sample by sample.
    pub samples: Vec<RateSample>,
}

/// A latency distribution.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LatencySeries {
    /// Of what.
    pub name: String,
    /// The distribution.
    pub latency: LatencySummary,
}
