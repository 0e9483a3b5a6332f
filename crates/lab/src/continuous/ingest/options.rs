//! Options and figures of ingest.

use std::time::Duration;

use ostrakon_cell::{Durability, Error, Properties, Result};
use serde::Serialize;

use super::super::generator::GeneratorOptions;
use super::super::rows::RowRange;
use crate::measure::RateSample;

/// What happens after the last entry is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Settle {
    /// Nothing: `settled_seconds` equals `seconds`.
    No,
    /// The table is flushed.
    Flush,
    /// The table is flushed and every tablet compacted into one file. The default.
    #[default]
    Compact,
}

/// Settings of [`run_ingest`](super::run_ingest).
#[derive(Debug, Clone)]
pub struct IngestOptions {
    /// The table; created if it is not there. Default `ci`.
    pub table: String,
    /// Split points the table is created with, cutting the row range evenly. Default 0: one
    /// tablet. A table that is there already keeps its tablets.
    pub splits: usize,
    /// Properties the table is created with.
    pub properties: Properties,
    /// Entries to write, all writers together, rewritten ones counted each time. `None`, the
    /// default, writes until stopped.
    pub entries: Option<u64>,
    /// Ends the run after this time, whatever was written. Default: no limit.
    pub duration: Option<Duration>,
    /// Entries of one round of a writer, after which it waits until all are acknowledged. `None`,
    /// the default, takes the suite's 1,000,000, or less where the run is too short for whole lists:
    /// entries / writers / (depth + 2). Costs 24 bytes of memory each.
    pub flush_interval: Option<u64>,
    /// Rounds that lengthen the lists before they are joined. Default 25. (The paper counts them
    /// after the first entries, as here; the suite's code counts the first entries too.)
    pub max_depth: u32,
    /// Writer threads, each with its own UUID and batch writer. Default 1.
    pub writers: usize,
    /// The numbers rows are drawn from.
    pub rows: RowRange,
    /// One more than the largest column family. Default 32,767.
    pub family_max: u32,
    /// One more than the largest column qualifier. Default 32,767.
    pub qualifier_max: u32,
    /// Whether values end in a checksum. Default yes, as in the suite; the paper's had none.
    pub checksum: bool,
    /// Labels that entries get, as `label_choice` says. Default: none.
    pub visibilities: Vec<Vec<u8>>,
    /// Which entries share a label. Default: those of a round of lists.
    pub label_choice: LabelChoice,
    /// Chance that finished lists are deleted instead of joined, 0 to 1. Default 0, as in the paper (the suite's
    /// present version: 0.1). Walkers that run meanwhile then miss rows.
    pub delete_probability: f64,
    /// Bytes a writer may have under way. Default 100 MB, as in the suite.
    pub buffer_bytes: usize,
    /// Bytes a writer collects before it submits them. Default 1 MiB.
    pub batch_bytes: usize,
    /// Durability of the writes. `None`, the default, takes the table's.
    pub durability: Option<Durability>,
    /// What happens after the last entry.
    pub settle: Settle,
    /// Seconds between samples of the rate. Default 0.25. They stretch as the run grows, so that there are never more
    /// than 600.
    pub sample_seconds: f64,
    /// Seconds between statistics lines that are reported as progress. Default: none.
    pub stats_seconds: Option<f64>,
    /// Start of the random sequences. `None`, the default, draws one.
    pub seed: Option<u64>,
}

impl Default for IngestOptions {
    fn default() -> Self {
        Self {
            table: "ci".to_owned(),
            splits: 0,
            properties: Properties::new(),
            entries: None,
            duration: None,
            flush_interval: None,
            max_depth: 25,
            writers: 1,
            rows: RowRange::default(),
            family_max: 32_767,
            qualifier_max: 32_767,
            checksum: true,
            visibilities: Vec::new(),
            label_choice: LabelChoice::default(),
            delete_probability: 0.0,
            buffer_bytes: 100_000_000,
            batch_bytes: 1 << 20,
            durability: None,
            settle: Settle::Compact,
            sample_seconds: 0.25,
            stats_seconds: None,
            seed: None,
        }
    }
}

/// Flushes of a writer that are kept.
pub const FLUSHES_MAX: usize = 1_000;

/// Which entries share a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LabelChoice {
    /// All lists of a round: those that are joined to one.
    #[default]
    Round,
    /// The entries of one list. Lists of different labels are not joined, so that a reader of one label finds every row
    /// that its lists point to.
    List,
    /// None: each entry has an expression of its own, `LABEL|uROW`. A reader of `LABEL` sees all of them.
    Entry,
}

/// The suite's flush interval.
const FLUSH_INTERVAL: u64 = 1_000_000;

impl IngestOptions {
    /// The flush interval in force.
    #[must_use]
    pub fn flush_interval(&self) -> u64 {
        self.flush_interval.unwrap_or_else(|| {
            let whole = self.entries.map_or(u64::MAX, |entries| {
                entries / self.writers.max(1) as u64 / (u64::from(self.max_depth) + 2)
            });
            whole.clamp(1, FLUSH_INTERVAL)
        })
    }

    pub(super) fn check(&self) -> Result<()> {
        self.generator(0).check()?;
        if self.writers == 0 {
            return Err(Error::invalid("ingest needs at least one writer"));
        }
        if self.flush_interval == Some(0) {
            return Err(Error::invalid(
                "a flush interval is one entry or more; leave it out for the suite's 1,000,000",
            ));
        }
        if !(0.0..=1.0).contains(&self.delete_probability) {
            return Err(Error::invalid("a probability lies between 0 and 1")
                .with("delete probability", self.delete_probability));
        }
        Ok(())
    }

    pub(super) fn generator(&self, seed: u64) -> GeneratorOptions {
        GeneratorOptions {
            rows: self.rows,
            family_max: self.family_max,
            qualifier_max: self.qualifier_max,
            checksum: self.checksum,
            seed,
        }
    }
}

/// One flush of a writer, as in the log of the suite's ingest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Flush {
    /// The writer, from 0.
    pub writer: usize,
    /// Seconds from the start of the run to the acknowledgement.
    pub seconds: f64,
    /// Seconds since this writer's flush before, or since the start of the run.
    pub since_last: f64,
    /// Entries that this writer has written by now.
    pub entries: u64,
}

/// What ingest did.
#[derive(Debug, Clone, Default, Serialize)]
pub struct IngestFigures {
    /// Entries written and acknowledged, rewritten ones counted each time; deletes are not.
    pub entries: u64,
    /// Seconds until the last was acknowledged.
    pub seconds: f64,
    /// `entries` / `seconds`.
    pub entries_per_second: f64,
    /// Seconds, from the start, until the table was flushed and compacted
    /// (as far as [`IngestOptions::settle`] asks for it).
    pub settled_seconds: f64,
    /// `entries` / `settled_seconds`.
    pub settled_entries_per_second: f64,
    /// Entries that were written again to join lists: the table holds `entries` less these, less
    /// the deleted.
    pub rewritten: u64,
    /// Entries that were deleted again.
    pub deleted: u64,
    /// Bytes of keys and values written, labels included.
    pub bytes: u64,
    /// Writer threads.
    pub writers: usize,
    /// Tablets when the run began.
    pub tablets_before: usize,
    /// Tablets when it was over.
    pub tablets: usize,
    /// The flush interval in force.
    pub flush_interval: u64,
    /// Highest rate between two samples, entries a second.
    pub max_entries_per_second: f64,
    /// The durability in force: the option, or the table's property.
    pub durability: String,
    /// Start of the random sequences.
    pub seed: u64,
    /// Entries passed to the table over time.
    pub samples: Vec<RateSample>,
    /// The newest flushes of each writer, at most [`FLUSHES_MAX`] of each, in the order of the writers.
    pub flushes: Vec<Flush>,
}
