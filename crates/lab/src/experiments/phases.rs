//! Runs the phases of a row and turns their figures into metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ostrakon_cell::{Durability, Result, Source, Table, TableOptions, TabletInfo};

use super::plan::{Phase, RowPlan};
use super::record::{LatencySeries, Plot, RateSeries, Repetition};
use super::rig::EmulatedStorage;
use crate::Progress;
use crate::continuous::{
    BatchWalkFigures, IngestFigures, IngestOptions, VerifyFigures, VerifyOptions, WalkFigures,
    even_splits, run_batch_walk, run_ingest, run_verify, run_walk,
};
use crate::graphs::RankCommand;
use crate::measure::{HostSampler, LatencySummary, RateSample, is_steady, max_rate, mean_rate};

/// The table of every experiment.
pub(super) const TABLE: &str = "lab";

/// What is the same for all rows.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) durability: Durability,
    pub(super) scratch: &'a std::path::Path,
    pub(super) ranks: Option<&'a dyn RankCommand>,
    pub(super) storage: Option<&'a dyn EmulatedStorage>,
    pub(super) progress: &'a dyn Progress,
}

/// What one repetition gave, and what it says about the conditions.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) repetition: Repetition,
    pub(super) entries: u64,
    pub(super) entry_bytes: u64,
    pub(super) table_bytes: u64,
    /// Bytes of files per entry, if the table was last flushed and compacted.
    pub(super) stored_bytes_per_entry: Option<f64>,
    pub(super) codec: String,
    pub(super) plots: Vec<Plot>,
    /// The tables that the phases used; [`TABLE`] if empty.
    pub(super) tables: Vec<String>,
}

/// Makes the row's table in `source` and runs its phases.
pub(super) fn run_row(
    source: &Arc<dyn Source>,
    row: &RowPlan,
    setting: Setting<'_>,
) -> Result<Outcome> {
    let options = TableOptions {
        splits: even_splits(crate::continuous::RowRange::default(), row.splits),
        properties: row.properties.iter().cloned().collect(),
        ..TableOptions::default()
    };
    if row.has_own_table() {
        source.create_table(TABLE, &options)?;
    }
    let mut outcome = Outcome::default();
    std::thread::scope(|scope| {
        let sampler = HostSampler::start(scope, Duration::from_millis(500))?;
        for phase in &row.phases {
            outcome.phase(source, phase, setting)?;
        }
        outcome.repetition.host = sampler.finish();
        Ok::<_, ostrakon_cell::Error>(())
    })?;
    if outcome.tables.is_empty() {
        outcome.tables.push(TABLE.to_owned());
    }
    let (mut tablets, mut properties) = (Vec::new(), None);
    for name in &outcome.tables {
        let table = source.table(name)?;
        tablets.extend(settled_tablets(&*table, row.least_tablets)?);
        if properties.is_none() {
            properties = Some(table.properties()?);
        }
    }
    if !outcome.repetition.metrics.is_empty() {
        outcome.set("table", "tablets", tablets.len() as f64);
    }
    outcome.table_bytes = tablets.iter().map(|tablet| tablet.bytes).sum();
    let stored: u64 = tablets.iter().map(|tablet| tablet.entries).sum();
    if stored > 0 {
        outcome.stored_bytes_per_entry = Some(outcome.table_bytes as f64 / stored as f64);
    }
    let codec = properties.and_then(|all| all.get("table.file.compress.type").cloned());
    outcome.codec = codec.unwrap_or_default();
    Ok(outcome)
}

/// The table's tablets. Automatic splits may follow the last compaction, so this waits while there are fewer than
/// `least` and some tablet has files that it could be split by.
fn settled_tablets(table: &dyn Table, least: usize) -> Result<Vec<TabletInfo>> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let tablets = table.tablets()?;
        let has_files = tablets.iter().any(|tablet| tablet.files > 0);
        if tablets.len() >= least || !has_files || Instant::now() >= deadline {
            return Ok(tablets);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Outcome {
    fn phase(
        &mut self,
        source: &Arc<dyn Source>,
        phase: &Phase,
        setting: Setting<'_>,
    ) -> Result<()> {
        let progress = setting.progress;
        let ingest = |options: &IngestOptions| IngestOptions {
            table: TABLE.to_owned(),
            durability: Some(setting.durability),
            ..options.clone()
        };
        match phase {
            Phase::Load(options) => {
                let figures = run_ingest(source, &ingest(options), progress)?;
                self.count(&figures);
            }
            Phase::Ingest(name, options) => {
                let figures = run_ingest(source, &ingest(options), progress)?;
                self.count(&figures);
                self.ingest(name, figures);
            }
            Phase::Set(name, value) => {
                let change = ((*name).to_owned(), Some((*value).to_owned()));
                source.table(TABLE)?.modify_properties(&[change])?;
            }
            Phase::Walk(options) => {
                let mut options = options.clone();
                options.table = TABLE.to_owned();
                // Fills the caches outside the timer, as they are in steady state.
                let warm_up = run_walk(source, &options, progress)?;
                self.set("query", "warm_up", warm_up.queries as f64);
                self.walk(run_walk(source, &options, progress)?);
            }
            Phase::BatchWalk(options) => {
                let mut options = options.clone();
                options.table = TABLE.to_owned();
                let warm_up = run_batch_walk(source, &options, progress)?;
                self.set("query", "warm_up", warm_up.queries as f64);
                self.batch_walk(run_batch_walk(source, &options, progress)?);
            }
            Phase::Mix(options, walk) => {
                let mut walk = walk.clone();
                walk.table = TABLE.to_owned();
                let options = ingest(options);
                let ended = Ended(AtomicBool::new(false), progress);
                let (ingested, walked) = std::thread::scope(|scope| {
                    let ingest = scope.spawn(|| run_ingest(source, &options, &ended));
                    let walked = run_walk(source, &walk, progress);
                    ended.0.store(true, Ordering::Relaxed);
                    (ingest.join(), walked)
                });
                let ingested = ingested.map_err(|_| {
                    ostrakon_cell::Error::new(
                        ostrakon_cell::ErrorKind::Internal,
                        "the ingest that runs with the walkers panicked",
                    )
                })??;
                self.count(&ingested);
                self.ingest("ingest", ingested);
                self.walk(walked?);
            }
            Phase::Verify(options) => {
                let options = VerifyOptions {
                    table: TABLE.to_owned(),
                    scratch: setting.scratch.to_path_buf(),
                    ..options.clone()
                };
                self.verify(&run_verify(source, &options, progress)?);
            }
            Phase::Graph(workload, durability) => {
                self.graph(
                    source,
                    workload,
                    durability.unwrap_or(setting.durability),
                    setting,
                )?;
            }
            #[cfg(feature = "sql")]
            Phase::Hive(step) => self.hive(source, step, setting)?,
            Phase::Requests(step) => self.requests(source, step, setting)?,
            Phase::Ycsb(step) => self.ycsb(source, step, setting)?,
            Phase::Ranks(workload) => self.ranks(source, workload, setting)?,
            Phase::Picture(workload, picture) => self.picture(workload, *picture)?,
        }
        Ok(())
    }

    fn count(&mut self, figures: &IngestFigures) {
        self.entries += figures.entries;
        self.entry_bytes += figures.bytes;
    }

    pub(super) fn set(&mut self, name: &str, of: &str, value: f64) {
        self.repetition
            .metrics
            .insert(format!("{name}.{of}"), value);
    }

    fn ingest(&mut self, name: &str, figures: IngestFigures) {
        self.set(name, "entries", figures.entries as f64);
        self.set(name, "seconds", figures.seconds);
        self.set(name, "rate", figures.entries_per_second);
        self.samples(name, &figures.samples);
        if figures.settled_seconds > figures.seconds {
            self.set(name, "settled_seconds", figures.settled_seconds);
            self.set(name, "settled_rate", figures.settled_entries_per_second);
        }
        self.set(name, "tablets", figures.tablets as f64);
        self.repetition.rates.push(RateSeries {
            name: format!("{name}, entries"),
            samples: figures.samples,
        });
    }

    /// Maximum and mean of the samples, unless the run is too short for either to mean anything.
    pub(super) fn samples(&mut self, name: &str, samples: &[RateSample]) {
        if is_steady(samples) {
            let mean = mean_rate(samples);
            self.set(name, "max", max_rate(samples).max(mean));
            self.set(name, "sampled_mean", mean);
        }
    }

    fn walk(&mut self, figures: WalkFigures) {
        self.queries(Queries {
            count: figures.queries,
            seconds: figures.seconds,
            rate: figures.queries_per_second_with_pauses,
            missing: figures.missing,
            samples: ("walk, queries", figures.samples),
            latency: ("query", figures.latency),
        });
    }

    fn batch_walk(&mut self, figures: BatchWalkFigures) {
        self.queries(Queries {
            count: figures.queries,
            seconds: figures.seconds,
            rate: figures.queries_per_second_with_pauses,
            missing: figures.missing,
            samples: ("batch walk, rows", figures.samples),
            latency: ("batch", figures.latency),
        });
    }

    fn queries(&mut self, queries: Queries) {
        let Queries { rate, latency, .. } = queries;
        self.set("query", "count", queries.count as f64);
        self.set("query", "rate", rate);
        self.set("query", "seconds", queries.seconds);
        self.samples("query", &queries.samples.1);
        self.set("query", "missing", queries.missing as f64);
        if rate > 0.0 {
            self.set("query", "reciprocal_ms", 1e3 / rate);
        }
        self.set("query", "p50_us", latency.1.p50_us);
        self.set("query", "p99_us", latency.1.p99_us);
        self.repetition.rates.push(RateSeries {
            name: queries.samples.0.to_owned(),
            samples: queries.samples.1,
        });
        self.repetition.latencies.push(LatencySeries {
            name: latency.0.to_owned(),
            latency: latency.1,
        });
    }

    fn verify(&mut self, figures: &VerifyFigures) {
        self.set("verify", "entries", figures.entries as f64);
        self.set("verify", "seconds", figures.seconds);
        self.set("verify", "rate", figures.entries_per_second);
        self.set("verify", "per_minute", figures.entries_per_second * 60.0);
        self.set("verify", "spilled_bytes", figures.spilled_bytes as f64);
        self.set("verify", "undefined", figures.undefined as f64);
        self.set("verify", "corrupt", figures.corrupt as f64);
    }
}

/// What walkers of either kind came to.
struct Queries {
    count: u64,
    /// By the clock.
    seconds: f64,
    /// A second, pauses included.
    rate: f64,
    missing: u64,
    /// Each with the name of its series.
    samples: (&'static str, Vec<RateSample>),
    latency: (&'static str, LatencySummary),
}

/// Cancels on request, or when the caller does.
struct Ended<'a>(AtomicBool, &'a dyn Progress);

impl Progress for Ended<'_> {
    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) || self.1.cancelled()
    }
}

/// Keeps the lines of a phase from the reader: an experiment has many.
pub(super) struct Quiet<'a>(pub(super) &'a dyn Progress);

impl Progress for Quiet<'_> {
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}
