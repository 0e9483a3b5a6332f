//! Walk: follows one list at a time, row by row.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ostrakon_cell::{Authorizations, Batch, Range, Result, Scan, ScanOptions, Source, Table};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use serde::Serialize;

use super::layout::{EntryError, format_row, parse_entry};
use super::rows::RowRange;
use super::starts::Starts;
use crate::Progress;
use crate::control::{Control, pause_in_force};
use crate::measure::{Latencies, LatencySummary, RateSample, RateSampler, Watched, max_rate};
use crate::threads::{in_threads, seed, thread_seed};

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

/// The suite's pause.
const PAUSE: Duration = Duration::from_millis(10);

/// Follows random lists: reads a few entries behind a random row, picks one that points to another
/// row, looks that row up, and so on to the end of the list.
///
/// # Errors
/// No such table, an empty one, or a failed read. Missing rows are no error but a figure.
pub fn run_walk(
    source: &Arc<dyn Source>,
    options: &WalkOptions,
    progress: &dyn Progress,
) -> Result<WalkFigures> {
    options.rows.check()?;
    let table = source.table(&options.table)?;
    let control = Control::new(options.duration, options.queries, progress);
    let seed = seed(options.seed);
    progress.phase("walk", options.queries);
    let (walkers, samples, seconds) = std::thread::scope(|scope| {
        let sampler = RateSampler::start(scope, watched(&control, progress, "queries"))?;
        let walkers = in_threads(
            "walk",
            options.walkers.max(1),
            || control.stop(),
            |number| Walker::new(&table, options, &control, thread_seed(seed, number))?.run(),
        );
        let seconds = control.seconds();
        let samples = sampler.finish();
        walkers.map(|walkers| (walkers, samples, seconds))
    })?;

    let mut figures = WalkFigures {
        seconds,
        walkers: walkers.len(),
        max_queries_per_second: max_rate(&samples),
        samples,
        ..WalkFigures::default()
    };
    let (mut latencies, mut start_latencies) = (Latencies::new()?, Latencies::new()?);
    for walker in walkers {
        latencies.add(&walker.latencies);
        start_latencies.add(&walker.start_latencies);
        figures.missing += walker.missing;
        figures.corrupt += walker.corrupt + walker.damaged_starts;
        figures.starts += walker.starts;
        figures.ends += walker.ends;
        figures.entries += walker.entries;
        let running = (seconds - walker.paused.as_secs_f64()).max(1e-9);
        figures.queries += walker.queries;
        figures.queries_per_second += walker.queries as f64 / running;
        let room = options
            .examples
            .saturating_sub(figures.missing_examples.len());
        let examples = walker.examples.into_iter().take(room);
        figures.missing_examples.extend(examples);
    }
    figures.queries_per_second_with_pauses = figures.queries as f64 / seconds.max(1e-9);
    figures.latency = latencies.summary();
    figures.start_latency = start_latencies.summary();
    (figures.p50_us, figures.p99_us) = (figures.latency.p50_us, figures.latency.p99_us);
    Ok(figures)
}

/// What the sampler of a run looks at.
pub(super) fn watched<'a>(
    control: &'a Control<'a>,
    progress: &'a dyn Progress,
    unit: &'static str,
) -> Watched<'a> {
    Watched {
        counter: &control.done,
        progress,
        unit,
        seconds: 0.25,
    }
}

struct Walker<'a> {
    options: &'a WalkOptions,
    control: &'a Control<'a>,
    pause: Duration,
    random: Xoshiro256PlusPlus,
    /// For each set of authorizations, how to start and how to look up.
    readers: Vec<(Starts, Box<dyn Scan>)>,
    batch: Batch,
    links: Vec<u64>,
    latencies: Latencies,
    start_latencies: Latencies,
    paused: Duration,
    queries: u64,
    missing: u64,
    corrupt: u64,
    damaged_starts: u64,
    starts: u64,
    ends: u64,
    entries: u64,
    examples: Vec<String>,
}

impl<'a> Walker<'a> {
    fn new(
        table: &Arc<dyn Table>,
        options: &'a WalkOptions,
        control: &'a Control<'a>,
        seed: u64,
    ) -> Result<Self> {
        let limited = options.duration.is_some() || options.queries.is_some();
        let nobody = [Authorizations::default()];
        let sets = if options.authorizations.is_empty() {
            nobody.as_slice()
        } else {
            &options.authorizations
        };
        let readers = sets
            .iter()
            .map(|set| {
                let scan = ScanOptions {
                    authorizations: set.clone(),
                    ..ScanOptions::default()
                };
                Ok((
                    Starts::new(&**table, set, options.rows, options.start_entries)?,
                    table.scan(&[Range::row("")], &scan)?,
                ))
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            options,
            control,
            pause: pause_in_force(options.pause, limited, PAUSE),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            readers,
            batch: Batch::new(),
            links: Vec::new(),
            latencies: Latencies::new()?,
            start_latencies: Latencies::new()?,
            paused: Duration::ZERO,
            queries: 0,
            missing: 0,
            corrupt: 0,
            damaged_starts: 0,
            starts: 0,
            ends: 0,
            entries: 0,
            examples: Vec::new(),
        })
    }

    fn run(mut self) -> Result<Self> {
        while self.control.goes_on() {
            let reader = self.random.random_range(0..self.readers.len());
            self.links.clear();
            let (starts, _) = &mut self.readers[reader];
            let took = starts.search(&mut self.random, &mut self.links)?;
            self.start_latencies.record(took);
            self.starts += 1;
            self.paused += self.control.pause(self.pause);
            let mut from = None;
            while let Some(row) = self.pick() {
                if !self.control.goes_on() || !self.look_up(reader, row, from)? {
                    break;
                }
                from = Some(row);
                self.paused += self.control.pause(self.pause);
            }
        }
        for (starts, _) in &self.readers {
            self.entries += starts.entries;
            self.damaged_starts += starts.corrupt;
        }
        Ok(self)
    }

    /// One of the links found last.
    fn pick(&mut self) -> Option<u64> {
        match self.links.len() {
            0 => None,
            len => Some(self.links[self.random.random_range(0..len)]),
        }
    }

    /// Reads a row and collects where it points. `false` when the list cannot be followed further.
    fn look_up(&mut self, reader: usize, row: u64, from: Option<u64>) -> Result<bool> {
        let (_, scan) = &mut self.readers[reader];
        let range = Range::row(format_row(row));
        let began = Instant::now();
        scan.restart(std::slice::from_ref(&range))?;
        self.links.clear();
        let mut found = false;
        while scan.next_batch(&mut self.batch)? {
            found = true;
            for entry in self.batch.iter() {
                self.entries += 1;
                match parse_entry(&entry) {
                    Ok(link) => self.links.extend(link.previous),
                    Err(EntryError::Foreign) => {}
                    Err(_) => self.corrupt += 1,
                }
            }
        }
        self.latencies.record(began.elapsed());
        self.queries += 1;
        self.control.done.fetch_add(1, Ordering::Relaxed);
        if !found {
            self.missing += 1;
            if self.examples.len() < self.options.examples {
                let from =
                    from.map_or_else(|| "a start row".to_owned(), |from| format!("{from:016x}"));
                self.examples.push(format!("{row:016x} <- {from}"));
            }
        } else if self.links.is_empty() {
            self.ends += 1;
        }
        Ok(found)
    }
}
