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
use super::starts::{Starts, sees_nothing};
use super::walkers::{Tally, Totals, authorization_sets, fault, run_walkers};
use crate::Progress;
use crate::control::{Control, pause_in_force};
use crate::measure::{Latencies, LatencySummary, RateSample, max_rate};
use crate::threads::{seed, thread_seed};

/// Settings of [`run_walk`].
#[derive(Debug, Clone)]
pub struct WalkOptions {
    /// The table. Default `ci`.
    pub table: String,
    /// Ends the run after this time. Default: until stopped.
    pub duration: Option<Duration>,
    /// Ends the run after this number of queries of all walkers together. Default: no limit.
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
    /// Sets of authorizations with which no entry was found; they are left out.
    pub blind_authorizations: u64,
    /// Highest rate between two samples, queries a second.
    pub max_queries_per_second: f64,
    /// Queries against time.
    pub samples: Vec<RateSample>,
    /// Some missing rows, as `row <- row that points to it`.
    pub missing_examples: Vec<String>,
}

impl WalkFigures {
    /// Why the run is not sound, if it is not: rows are missing or damaged, or none was looked up.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        fault(self.queries, self.missing, self.corrupt)
    }
}

/// The suite's pause.
const PAUSE: Duration = Duration::from_millis(10);

/// Follows random lists: reads a few entries after a random row, picks one that points to another
/// row, looks that row up, and so on to the end of the list.
///
/// # Errors
/// No such table, an empty one, or a failed read. Missing rows are a figure and not an error.
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
    let run = run_walkers(
        ("walk", "queries"),
        options.walkers,
        &control,
        progress,
        |number| Walker::new(&table, options, &control, thread_seed(seed, number))?.run(),
    )?;

    let walkers = run.walkers.len();
    let mut start_latencies = Latencies::new()?;
    let (mut tallies, mut ends) = (Vec::new(), 0);
    for walker in run.walkers {
        start_latencies.add(&walker.start_latencies);
        ends += walker.ends;
        tallies.push(walker.tally);
    }
    let totals = Totals::of(tallies, run.seconds)?;
    Ok(WalkFigures {
        queries: totals.queries,
        missing: totals.missing,
        corrupt: totals.corrupt,
        queries_per_second: totals.queries_per_second,
        queries_per_second_with_pauses: totals.queries_per_second_with_pauses,
        p50_us: totals.latency.p50_us,
        p99_us: totals.latency.p99_us,
        latency: totals.latency,
        starts: totals.starts,
        start_latency: start_latencies.summary(),
        entries: totals.entries,
        ends,
        seconds: run.seconds,
        walkers,
        blind_authorizations: totals.blind,
        max_queries_per_second: max_rate(&run.samples),
        samples: run.samples,
        missing_examples: totals.missing_examples,
    })
}

struct Walker<'a> {
    control: &'a Control<'a>,
    pause: Duration,
    random: Xoshiro256PlusPlus,
    /// For each set of authorizations, how to start and how to look up.
    readers: Vec<(Starts, Box<dyn Scan>)>,
    batch: Batch,
    links: Vec<u64>,
    tally: Tally,
    start_latencies: Latencies,
    ends: u64,
}

impl<'a> Walker<'a> {
    fn new(
        table: &Arc<dyn Table>,
        options: &WalkOptions,
        control: &'a Control<'a>,
        seed: u64,
    ) -> Result<Self> {
        let limited = options.duration.is_some() || options.queries.is_some();
        let readers = authorization_sets(&options.authorizations)
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
            control,
            pause: pause_in_force(options.pause, limited, PAUSE),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            readers,
            batch: Batch::new(),
            links: Vec::new(),
            tally: Tally::new(options.examples)?,
            start_latencies: Latencies::new()?,
            ends: 0,
        })
    }

    fn run(mut self) -> Result<Self> {
        while self.control.goes_on() {
            let reader = self.random.random_range(0..self.readers.len());
            self.links.clear();
            let (starts, _) = &mut self.readers[reader];
            let took = match starts.search(&mut self.random, &mut self.links) {
                // Authorizations that see nothing do not end the walk of those that see something.
                Err(error) if sees_nothing(&error) && self.readers.len() > 1 => {
                    let (starts, _) = self.readers.swap_remove(reader);
                    self.tally.corrupt += starts.corrupt;
                    self.tally.blind += 1;
                    continue;
                }
                took => took?,
            };
            self.start_latencies.record(took);
            self.tally.starts += 1;
            self.tally.paused += self.control.pause(self.pause);
            let mut from = None;
            while let Some(row) = self.pick() {
                if !self.control.goes_on() || !self.look_up(reader, row, from)? {
                    break;
                }
                from = Some(row);
                self.tally.paused += self.control.pause(self.pause);
            }
        }
        for (starts, _) in &self.readers {
            self.tally.entries += starts.entries;
            self.tally.corrupt += starts.corrupt;
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
                self.tally.entries += 1;
                match parse_entry(&entry) {
                    Ok(link) => self.links.extend(link.previous),
                    Err(EntryError::Foreign) => {}
                    Err(_) => self.tally.corrupt += 1,
                }
            }
        }
        self.tally.latencies.record(began.elapsed());
        self.tally.queries += 1;
        self.control.done.fetch_add(1, Ordering::Relaxed);
        if !found {
            self.tally.miss(|| {
                let from =
                    from.map_or_else(|| "a start row".to_owned(), |from| format!("{from:016x}"));
                format!("{row:016x} <- {from}")
            });
        } else if self.links.is_empty() {
            self.ends += 1;
        }
        Ok(found)
    }
}
