//! Batch writers in this process.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ostrakon_cell::{BatchWriter, BatchWriterConfig, ColumnUpdate, Durability, Result, Source};

use super::base::BaseGraph;
use super::workload::{GraphFigures, GraphWorkload};
use crate::Progress;
use crate::control::Control;
use crate::measure::{RateSampler, Watched};
use crate::threads::in_threads;

/// Entries between two looks at the shared counter.
const STRIDE: u64 = 4096;

/// Settings of [`run_graph_ingest`].
#[derive(Debug, Clone)]
pub struct GraphIngestOptions {
    /// The table, which must exist; its split points are added before the clock starts.
    pub table: String,
    /// What is written.
    pub workload: GraphWorkload,
    /// Bytes of a batch. Default: 500,000, as in the paper.
    pub batch_bytes: usize,
    /// Durability of the writes; `None` takes the table's.
    pub durability: Option<Durability>,
    /// Seconds between samples of the rate. Default: 0.1.
    pub sample_seconds: f64,
}

impl Default for GraphIngestOptions {
    fn default() -> Self {
        Self {
            table: "lab".to_owned(),
            workload: GraphWorkload::default(),
            batch_bytes: 500_000,
            durability: None,
            sample_seconds: 0.1,
        }
    }
}

/// Writes the workload with one batch writer for each of its writers: each generates its base graph, sorts it, sums
/// equal edges up, and inserts it once for each of its tablets, rows moved to that tablet.
///
/// # Errors
/// A workload that does not fit, no such table, a write that fails. A cancelled run ends early, with figures.
pub fn run_graph_ingest(
    source: &Arc<dyn Source>,
    options: &GraphIngestOptions,
    progress: &dyn Progress,
) -> Result<GraphFigures> {
    let workload = &options.workload;
    workload.check()?;
    let table = source.table(&options.table)?;
    table.add_splits(&workload.splits())?;
    let mut figures = GraphFigures {
        writers: workload.writers,
        tablets: table.tablets()?.len(),
        ..GraphFigures::default()
    };
    progress.phase("graph ingest", Some(workload.edges()));
    let control = Control::new(None, None, progress);
    let (writers, samples) = std::thread::scope(|scope| {
        let sampler = RateSampler::start(
            scope,
            Watched {
                counter: &control.done,
                progress,
                unit: "entries",
                seconds: options.sample_seconds,
            },
        )?;
        let writers = in_threads(
            "graph",
            workload.writers,
            || control.stop(),
            |number| {
                let config = BatchWriterConfig {
                    batch_bytes: options.batch_bytes.max(1),
                    durability: options.durability,
                    ..BatchWriterConfig::default()
                };
                let writer = BatchWriter::new(Arc::clone(&table), config);
                write(writer, workload, number, &control)
            },
        );
        figures.seconds = control.seconds();
        let samples = sampler.finish();
        writers.map(|writers| (writers, samples))
    })?;
    table.flush(true)?;
    figures.flushed_seconds = control.seconds();
    for writer in writers {
        figures.edges += writer.edges;
        figures.entries += writer.entries;
        figures.bytes += writer.bytes;
        figures.generating_seconds = figures.generating_seconds.max(writer.generating_seconds);
    }
    figures.samples = samples;
    Ok(figures)
}

fn write(
    mut writer: BatchWriter,
    workload: &GraphWorkload,
    number: usize,
    control: &Control<'_>,
) -> Result<GraphFigures> {
    let mut written = GraphFigures::default();
    let base = BaseGraph::generate(workload, number)?;
    written.generating_seconds = control.seconds();
    for tablet in 0..workload.tablets {
        let stacked = (number * workload.tablets + tablet) as u64;
        let mut uncounted = 0;
        base.each_entry(stacked * workload.tablet_rows(), |entry| {
            let update = ColumnUpdate {
                qualifier: entry.column,
                value: Some(entry.value),
                ..ColumnUpdate::default()
            };
            writer.put(entry.row, update)?;
            written.bytes += (entry.row.len() + entry.column.len() + entry.value.len()) as u64;
            uncounted += 1;
            if uncounted == STRIDE {
                control.done.fetch_add(uncounted, Ordering::Relaxed);
                uncounted = 0;
            }
            Ok(())
        })?;
        control.done.fetch_add(uncounted, Ordering::Relaxed);
        written.edges += base.generated();
        written.entries += base.entries();
        if !control.goes_on() {
            break;
        }
    }
    writer.close()?;
    Ok(written)
}
