//! Scan: reads random ranges of about the same number of entries.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ostrakon_cell::{Authorizations, Batch, Range, Result, ScanOptions, Source};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use serde::Serialize;

use super::layout::{EntryError, parse_entry};
use super::rows::RowRange;
use super::walkers::authorization_sets;
use crate::Progress;
use crate::control::{Control, pause_in_force};
use crate::measure::{Latencies, LatencySummary, RateSample, RateSampler, Watched};
use crate::threads::seed;

/// Settings of [`run_scan`].
#[derive(Debug, Clone)]
pub struct ScanTestOptions {
    /// The table. Default `ci`.
    pub table: String,
    /// Ends the run after this time. Default: until stopped.
    pub duration: Option<Duration>,
    /// Ends the run after this number of scans. Default: no limit.
    pub scans: Option<u64>,
    /// Pause after each scan. `None`, the default, is the suite's 10 ms in a run without end, and no pause in one that
    /// `duration` or `scans` limits, which is a measurement.
    pub pause: Option<Duration>,
    /// Entries a scan should return; its width adapts. Default 5,000.
    pub entries_per_scan: u64,
    /// The numbers rows are drawn from.
    pub rows: RowRange,
    /// Authorizations; one is drawn for each scan. Empty, the default, reads without any.
    pub authorizations: Vec<Authorizations>,
    /// Start of the random sequence. `None`, the default, draws one.
    pub seed: Option<u64>,
}

impl Default for ScanTestOptions {
    fn default() -> Self {
        Self {
            table: "ci".to_owned(),
            duration: None,
            scans: None,
            pause: None,
            entries_per_scan: 5_000,
            rows: RowRange::default(),
            authorizations: Vec::new(),
            seed: None,
        }
    }
}

/// What scanning found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ScanFigures {
    /// Scans.
    pub scans: u64,
    /// Entries read.
    pub entries: u64,
    /// Entries whose checksum or form is wrong.
    pub corrupt: u64,
    /// Seconds by the clock.
    pub seconds: f64,
    /// Entries a second of running time, pauses left out.
    pub entries_per_second: f64,
    /// Scans a second of running time, pauses left out.
    pub scans_per_second: f64,
    /// Median time of a scan, in microseconds.
    pub p50_us: f64,
    /// Time 99 of 100 scans stay below, in microseconds.
    pub p99_us: f64,
    /// All percentiles of the time of a scan.
    pub latency: LatencySummary,
    /// Entries against time.
    pub samples: Vec<RateSample>,
}

/// The suite's pause.
const PAUSE: Duration = Duration::from_millis(10);

/// The width of the first scan, in rows of the range they are drawn from; the suite's.
const FIRST_WIDTH: u64 = 1_000_000_000_000;

/// Scans random ranges, each begun at a random row, and adapts their width to the number of
/// entries wanted.
///
/// # Errors
/// No such table, or a failed read.
pub fn run_scan(
    source: &Arc<dyn Source>,
    options: &ScanTestOptions,
    progress: &dyn Progress,
) -> Result<ScanFigures> {
    options.rows.check()?;
    let table = source.table(&options.table)?;
    let control = Control::new(options.duration, options.scans, progress);
    progress.phase("scan", options.scans);
    let mut scans = authorization_sets(&options.authorizations)
        .iter()
        .map(|set| {
            let scan = ScanOptions {
                authorizations: set.clone(),
                ..ScanOptions::default()
            };
            // Each set sees a different part of the entries and has its own width.
            Ok((table.scan(&[Range::row("")], &scan)?, FIRST_WIDTH))
        })
        .collect::<Result<Vec<_>>>()?;
    let limited = options.duration.is_some() || options.scans.is_some();
    let pause = pause_in_force(options.pause, limited, PAUSE);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed(options.seed));
    let mut latencies = Latencies::new()?;
    let mut figures = ScanFigures::default();
    let mut paused = Duration::ZERO;
    let mut batch = Batch::new();
    let entries_read = AtomicU64::new(0);
    let samples = std::thread::scope(|scope| {
        let sampler = RateSampler::start(
            scope,
            Watched {
                counter: &entries_read,
                progress,
                unit: "entries",
                seconds: 0.25,
            },
        )?;
        while control.goes_on() {
            let reader = random.random_range(0..scans.len());
            let (scan, width) = &mut scans[reader];
            let range = options.rows.draw_range(&mut random, *width);
            let mut count = 0;
            let began = Instant::now();
            scan.restart(std::slice::from_ref(&range))?;
            while scan.next_batch(&mut batch)? {
                for entry in batch.iter() {
                    if matches!(
                        parse_entry(&entry),
                        Err(EntryError::Checksum | EntryError::Shape)
                    ) {
                        figures.corrupt += 1;
                    }
                }
                count += batch.len() as u64;
                entries_read.fetch_add(batch.len() as u64, Ordering::Relaxed);
            }
            latencies.record(began.elapsed());
            figures.scans += 1;
            figures.entries += count;
            *width = adapt(*width, count, options.entries_per_scan, options.rows);
            control.done.fetch_add(1, Ordering::Relaxed);
            paused += control.pause(pause);
        }
        Ok::<_, ostrakon_cell::Error>(sampler.finish())
    })?;
    figures.samples = samples;
    figures.seconds = control.seconds();
    let running = (figures.seconds - paused.as_secs_f64()).max(1e-9);
    figures.entries_per_second = figures.entries as f64 / running;
    figures.scans_per_second = figures.scans as f64 / running;
    figures.latency = latencies.summary();
    (figures.p50_us, figures.p99_us) = (figures.latency.p50_us, figures.latency.p99_us);
    Ok(figures)
}

/// The width for the next scan: a third of the way to what would have been right, ten times more
/// when nothing came.
fn adapt(width: u64, count: u64, wanted: u64, rows: RowRange) -> u64 {
    let next = if count == 0 {
        width as f64 * 10.0
    } else {
        width as f64 * (1.0 + (wanted as f64 / count as f64 - 1.0) / 3.0)
    };
    (next as u64).clamp(1, rows.max - rows.min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_settles_where_the_count_is_right() {
        let rows = RowRange::default();
        let density = 1e6 / rows.max as f64;
        let mut width = FIRST_WIDTH;
        for _ in 0..40 {
            width = adapt(width, (width as f64 * density) as u64, 5_000, rows);
        }
        let count = width as f64 * density;
        assert!((4_500.0..5_500.0).contains(&count), "{count}");
        assert_eq!(adapt(rows.max - 1, 0, 5_000, rows), rows.max);
    }
}
