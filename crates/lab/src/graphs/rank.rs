//! One process of a parallel ingest: it sorts its own part and writes a sorted file.

use std::path::PathBuf;
use std::time::Instant;

use ostrakon_cell::{Batch, BulkWriter, Error, ErrorKind, KeyRef, Result};
use serde::{Deserialize, Serialize};

use super::base::BaseGraph;
use super::workload::GraphWorkload;

/// Bytes written to the file at a time.
const BATCH_BYTES: usize = 500_000;

/// Options of a rank.
#[derive(Debug, Clone)]
pub struct RankOptions {
    /// The whole workload; its writers are the ranks.
    pub workload: GraphWorkload,
    /// Which rank this is, from 0.
    pub rank: usize,
    /// The split file: a line a tablet, in order, with its location, a tab, and its last row (none for the last
    /// tablet).
    pub splits: PathBuf,
    /// Where this rank is: it takes its share of the tablets with this location.
    pub location: String,
}

/// What a rank did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RankFigures {
    /// Edges generated: what the paper counts.
    pub edges: u64,
    /// Entries in its file.
    pub entries: u64,
    /// Bytes of keys and values of them.
    pub bytes: u64,
    /// Total seconds.
    pub seconds: f64,
    /// Of these, for making and sorting the base graph.
    pub generating_seconds: f64,
}

/// Makes the sorted file of a name.
pub type MakeSorted<'a> = dyn Fn(&str) -> Result<Box<dyn BulkWriter>> + 'a;

/// Does the work of one rank: reads the split file, picks its share of the local tablets, generates its base graph,
/// moves the rows to each of its tablets in turn, and leaves one sorted file, `part-RANK.sorted`.
///
/// Timestamps are 0: a process that sorts ahead does not know when the table imports the entries.
///
/// # Errors
/// No split file or one with other rows, an invalid rank, what `make` refuses.
pub fn run_rank(options: &RankOptions, make: &MakeSorted<'_>) -> Result<RankFigures> {
    let started = Instant::now();
    let workload = &options.workload;
    workload.check()?;
    if options.rank >= workload.writers {
        return Err(
            Error::invalid("ranks are numbered from 0 to one less than their count")
                .with("rank", options.rank)
                .with("ranks", workload.writers),
        );
    }
    let first_rows = local_tablets(options)?;
    let share = share(first_rows.len(), options.rank, workload.writers);
    let base = BaseGraph::generate(workload, options.rank)?;
    let mut figures = RankFigures {
        generating_seconds: started.elapsed().as_secs_f64(),
        ..RankFigures::default()
    };
    let mut file = make(&format!("part-{:05}.sorted", options.rank))?;
    let mut batch = Batch::new();
    for first_row in &first_rows[share] {
        base.each_entry(*first_row, |entry| {
            let key = KeyRef {
                row: entry.row,
                family: b"",
                qualifier: entry.column,
                visibility: b"",
                timestamp: 0,
                deleted: false,
            };
            batch.push(key, entry.value)?;
            figures.bytes += (entry.row.len() + entry.column.len() + entry.value.len()) as u64;
            if batch.byte_len() >= BATCH_BYTES {
                file.append(&batch)?;
                batch.clear();
            }
            Ok(())
        })?;
        figures.edges += base.generated();
        figures.entries += base.entries();
    }
    file.append(&batch)?;
    file.finish()?;
    figures.seconds = started.elapsed().as_secs_f64();
    Ok(figures)
}

/// Block `at` of `count` as equal blocks of `length` things.
fn share(length: usize, at: usize, count: usize) -> std::ops::Range<usize> {
    length * at / count..length * (at + 1) / count
}

/// The first row numbers of the tablets at the rank's location.
fn local_tablets(options: &RankOptions) -> Result<Vec<u64>> {
    let refuse = |message: &'static str| {
        Error::new(ErrorKind::InvalidArgument, message).with("file", options.splits.display())
    };
    let text = std::fs::read_to_string(&options.splits)
        .map_err(|error| refuse("the split file cannot be read").with_source(error))?;
    let mut first_row = 0;
    let mut local = Vec::new();
    for line in text.lines() {
        let (location, end) = line
            .split_once('\t')
            .ok_or_else(|| refuse("a line of the split file is not LOCATION, tab, ROW"))?;
        if location == options.location {
            local.push(first_row);
        }
        if !end.is_empty() {
            let last: u64 = end
                .parse()
                .map_err(|_| refuse("a row of the split file is not a number"))?;
            first_row = last + 1;
        }
    }
    Ok(local)
}
