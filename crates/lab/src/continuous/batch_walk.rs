//! Batch walk: follows thousands of lists at once.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ostrakon_cell::{
    Authorizations, Batch, Error, Range, Result, Scan, ScanOptions, Source, Table,
};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use serde::Serialize;

use super::layout::{EntryError, format_row, parse_entry, parse_row};
use super::rows::RowRange;
use super::starts::{Starts, sees_nothing};
use super::walkers::{Tally, Totals, authorization_sets, fault, run_walkers};
use crate::Progress;
use crate::control::{Control, pause_in_force};
use crate::measure::{LatencySummary, RateSample, max_rate};
use crate::threads::{seed, thread_seed};

/// Settings of [`run_batch_walk`].
#[derive(Debug, Clone)]
pub struct BatchWalkOptions {
    /// The table. Default `ci`.
    pub table: String,
    /// Ends the run after this time. Default: until stopped.
    pub duration: Option<Duration>,
    /// Ends the run after this number of queries. Default: no limit.
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
    /// Sets of authorizations with which no entry was found; they are left out.
    pub blind_authorizations: u64,
    /// Highest rate between two samples, rows a second.
    pub max_queries_per_second: f64,
    /// Rows against time.
    pub samples: Vec<RateSample>,
    /// Some missing rows.
    pub missing_examples: Vec<String>,
}

impl BatchWalkFigures {
    /// Why the run is not sound, if it is not: rows are missing or damaged, or none was looked up.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        fault(self.queries, self.missing, self.corrupt)
    }
}

/// The suite's pause.
const PAUSE: Duration = Duration::from_secs(180);

/// Follows many random lists at once: collects rows that random entries point to, looks a batch of
/// them up in one batch scan, takes the rows these point to for the next batch, and so on.
///
/// # Errors
/// No such table, an empty one, or a failed read. Missing rows are a figure and not an error.
pub fn run_batch_walk(
    source: &Arc<dyn Source>,
    options: &BatchWalkOptions,
    progress: &dyn Progress,
) -> Result<BatchWalkFigures> {
    options.rows.check()?;
    if options.batch_rows == 0 {
        return Err(Error::invalid("a batch holds at least one row"));
    }
    let table = source.table(&options.table)?;
    let control = Control::new(options.duration, options.queries, progress);
    let seed = seed(options.seed);
    progress.phase("batch walk", options.queries);
    let run = run_walkers(
        ("batch-walk", "rows"),
        options.walkers,
        &control,
        progress,
        |number| Walker::new(&table, options, &control, thread_seed(seed, number))?.run(),
    )?;

    let batches = run.walkers.iter().map(|walker| walker.batches).sum();
    let tallies = run.walkers.into_iter().map(|walker| walker.tally);
    let totals = Totals::of(tallies, run.seconds)?;
    Ok(BatchWalkFigures {
        queries: totals.queries,
        missing: totals.missing,
        corrupt: totals.corrupt,
        queries_per_second: totals.queries_per_second,
        queries_per_second_with_pauses: totals.queries_per_second_with_pauses,
        p50_us: totals.latency.p50_us,
        p99_us: totals.latency.p99_us,
        latency: totals.latency,
        batches,
        starts: totals.starts,
        entries: totals.entries,
        seconds: run.seconds,
        batch_rows: options.batch_rows,
        threads: options.threads,
        blind_authorizations: totals.blind,
        max_queries_per_second: max_rate(&run.samples),
        samples: run.samples,
        missing_examples: totals.missing_examples,
    })
}

/// Reads with one set of authorizations, and the rows found with it: others might not see them.
struct Reader {
    starts: Starts,
    scan: Box<dyn Scan>,
    pool: Vec<u64>,
}

struct Walker<'a> {
    options: &'a BatchWalkOptions,
    control: &'a Control<'a>,
    pause: Duration,
    random: Xoshiro256PlusPlus,
    readers: Vec<Reader>,
    batch: Batch,
    asked: Vec<u64>,
    ranges: Vec<Range>,
    seen: Vec<u64>,
    tally: Tally,
    batches: u64,
}

impl<'a> Walker<'a> {
    fn new(
        table: &Arc<dyn Table>,
        options: &'a BatchWalkOptions,
        control: &'a Control<'a>,
        seed: u64,
    ) -> Result<Self> {
        let limited = options.duration.is_some() || options.queries.is_some();
        let readers = authorization_sets(&options.authorizations)
            .iter()
            .map(|set| {
                let scan = ScanOptions {
                    authorizations: set.clone(),
                    ordered: false,
                    threads: options.threads,
                    ..ScanOptions::default()
                };
                Ok(Reader {
                    starts: Starts::new(&**table, set, options.rows, 1_000)?,
                    scan: table.scan(&[Range::row("")], &scan)?,
                    pool: Vec::new(),
                })
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            options,
            control,
            pause: pause_in_force(options.pause, limited, PAUSE),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            readers,
            batch: Batch::new(),
            asked: Vec::new(),
            ranges: Vec::new(),
            seen: Vec::new(),
            tally: Tally::new(options.examples)?,
            batches: 0,
        })
    }

    fn run(mut self) -> Result<Self> {
        while self.control.goes_on() {
            let reader = self.random.random_range(0..self.readers.len());
            match self.collect(reader) {
                // Authorizations that see nothing do not end the walk of those that see something.
                Err(error) if sees_nothing(&error) && self.readers.len() > 1 => {
                    let blind = self.readers.swap_remove(reader);
                    self.tally.corrupt += blind.starts.corrupt;
                    self.tally.blind += 1;
                    continue;
                }
                collected => collected?,
            }
            // However short the run, one batch is looked up: no figure can be made of none.
            if self.batches > 0 && !self.control.goes_on() {
                break;
            }
            self.look_up(reader)?;
            self.tally.paused += self.control.pause(self.pause);
        }
        for reader in &self.readers {
            self.tally.entries += reader.starts.entries;
            self.tally.corrupt += reader.starts.corrupt;
        }
        Ok(self)
    }

    /// Takes a batch of distinct rows at random from the pool, which random entries fill up first.
    fn collect(&mut self, reader: usize) -> Result<()> {
        let wanted = self.options.batch_rows;
        let reader = &mut self.readers[reader];
        // A small table has fewer rows than a batch: what many searches find must do.
        let mut searches_left = 8 + wanted / 100;
        while reader.pool.len() < wanted && searches_left > 0 {
            if self.batches > 0 && !self.control.goes_on() {
                break;
            }
            reader.starts.search(&mut self.random, &mut reader.pool)?;
            self.tally.starts += 1;
            searches_left -= 1;
        }
        self.asked.clear();
        while self.asked.len() < wanted && !reader.pool.is_empty() {
            let at = self.random.random_range(0..reader.pool.len());
            self.asked.push(reader.pool.swap_remove(at));
        }
        self.asked.sort_unstable();
        self.asked.dedup();
        Ok(())
    }

    fn look_up(&mut self, reader: usize) -> Result<()> {
        let reader = &mut self.readers[reader];
        self.ranges.clear();
        self.ranges
            .extend(self.asked.iter().map(|row| Range::row(format_row(*row))));
        self.seen.clear();
        let pool_max = self.options.batch_rows * 3;
        let began = Instant::now();
        reader.scan.restart(&self.ranges)?;
        while reader.scan.next_batch(&mut self.batch)? {
            for entry in self.batch.iter() {
                self.tally.entries += 1;
                // Whatever its value, the row is there.
                if let Some(row) = parse_row(entry.key.row) {
                    self.seen.push(row);
                }
                match parse_entry(&entry) {
                    Ok(link) => {
                        if let Some(previous) = link.previous
                            && reader.pool.len() < pool_max
                        {
                            reader.pool.push(previous);
                        }
                    }
                    Err(EntryError::Foreign) => {}
                    Err(_) => self.tally.corrupt += 1,
                }
            }
        }
        self.tally.latencies.record(began.elapsed());
        self.seen.sort_unstable();
        self.seen.dedup();
        self.batches += 1;
        self.tally.queries += self.asked.len() as u64;
        self.control
            .done
            .fetch_add(self.asked.len() as u64, Ordering::Relaxed);
        for row in &self.asked {
            if self.seen.binary_search(row).is_err() {
                self.tally.miss(|| format!("{row:016x}"));
            }
        }
        Ok(())
    }
}
