//! Throughput against time: a counter, and a thread that samples it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use ostrakon_cell::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use crate::Progress;

/// How far a run was at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RateSample {
    /// Seconds since the run began.
    pub seconds: f64,
    /// Units done since the run began.
    pub done: u64,
}

/// More samples than this are thinned to half, and taken half as often.
const SAMPLES_MAX: usize = 600;

/// Samples a counter in the background, and tells the progress.
#[derive(Debug)]
pub struct RateSampler<'scope> {
    stop: Sender<()>,
    thread: ScopedJoinHandle<'scope, Vec<RateSample>>,
}

/// What a sampler looks at.
#[derive(Clone, Copy)]
pub struct Watched<'a> {
    /// Units done.
    pub counter: &'a AtomicU64,
    /// Told of every sample.
    pub progress: &'a dyn Progress,
    /// What the units are called in the lines for the reader.
    pub unit: &'static str,
    /// Seconds between samples.
    pub seconds: f64,
}

impl<'scope> RateSampler<'scope> {
    /// Starts sampling.
    ///
    /// # Errors
    /// When the system starts no more threads.
    pub fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        watched: Watched<'scope>,
    ) -> Result<Self> {
        let (stop, stopped) = bounded(1);
        let thread = std::thread::Builder::new()
            .name("lab-rates".to_owned())
            .spawn_scoped(scope, move || sample(watched, &stopped))
            .map_err(|error| {
                Error::new(ErrorKind::Io, "no thread could be started").with_source(error)
            })?;
        Ok(Self { stop, thread })
    }

    /// Takes a last sample and returns them all.
    #[must_use]
    pub fn finish(self) -> Vec<RateSample> {
        drop(self.stop);
        self.thread.join().unwrap_or_default()
    }
}

fn sample(watched: Watched<'_>, stopped: &Receiver<()>) -> Vec<RateSample> {
    let started = Instant::now();
    let mut interval = Duration::from_secs_f64(watched.seconds.clamp(0.01, 3600.0));
    let mut samples = vec![RateSample::default()];
    let mut told = RateSample::default();
    let mut next = started + interval;
    loop {
        // Progress is reported a few times per second, whatever the interval of the samples.
        let now = Instant::now();
        let wait = next.saturating_duration_since(now);
        let outcome = stopped.recv_timeout(wait.min(Duration::from_millis(250)));
        let over = outcome == Err(RecvTimeoutError::Disconnected);
        let sample = RateSample {
            seconds: started.elapsed().as_secs_f64(),
            done: watched.counter.load(Ordering::Relaxed),
        };
        watched.progress.done(sample.done);
        if over || Instant::now() >= next {
            // A reader wants no more than a line a second.
            if !over && sample.seconds - told.seconds >= 0.99 {
                let rate = (sample.done - told.done) as f64 / (sample.seconds - told.seconds);
                watched.progress.line(&format!(
                    "{:.0} s: {} {}, {rate:.0} a second",
                    sample.seconds, sample.done, watched.unit
                ));
                told = sample;
            }
            samples.push(sample);
            next += interval;
        }
        if over {
            return samples;
        }
        if samples.len() > SAMPLES_MAX {
            thin(&mut samples);
            interval *= 2;
        }
    }
}

/// Keeps the first sample and every second one.
fn thin(samples: &mut Vec<RateSample>) {
    let mut at = 0;
    samples.retain(|_| {
        at += 1;
        at % 2 == 1
    });
}

/// A run is long enough for a maximum, an average of samples or a chart against time from these on.
const STEADY_SECONDS: f64 = 2.0;
const STEADY_WINDOWS: usize = 8;

/// Whether the run is long enough for its samples to mean something.
#[must_use]
pub fn is_steady(samples: &[RateSample]) -> bool {
    let seconds = samples.last().map_or(0.0, |last| last.seconds);
    samples.len() > STEADY_WINDOWS && seconds >= STEADY_SECONDS
}

/// The mean of the rates between samples, each weighted by the length of its window: the last window is as short as
/// chance has it and must not count as much as a whole one.
#[must_use]
pub fn mean_rate(samples: &[RateSample]) -> f64 {
    let windows = samples.windows(2).map(|pair| {
        let seconds = pair[1].seconds - pair[0].seconds;
        (seconds, (pair[1].done - pair[0].done) as f64)
    });
    let (seconds, done) = windows
        .filter(|(seconds, _)| *seconds > 0.0)
        .fold((0.0, 0.0), |sum, window| {
            (sum.0 + window.0, sum.1 + window.1)
        });
    if seconds > 0.0 { done / seconds } else { 0.0 }
}

/// The highest rate between two neighbouring samples at least half an interval apart.
#[must_use]
pub fn max_rate(samples: &[RateSample]) -> f64 {
    let mut widths: Vec<f64> = samples
        .windows(2)
        .map(|pair| pair[1].seconds - pair[0].seconds)
        .collect();
    widths.sort_by(f64::total_cmp);
    let median = widths.get(widths.len() / 2).copied().unwrap_or(0.0);
    samples
        .windows(2)
        .map(|pair| {
            (
                pair[1].seconds - pair[0].seconds,
                pair[1].done - pair[0].done,
            )
        })
        // The last window is as short as chance has it, and would exaggerate.
        .filter(|(width, _)| *width > 0.0 && *width >= median / 2.0)
        .map(|(width, done)| done as f64 / width)
        .fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_watched_to_its_end() {
        /// Counts how often it is told.
        struct Told(AtomicU64);
        impl Progress for Told {
            fn done(&self, _: u64) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let (counter, told) = (AtomicU64::new(0), Told(AtomicU64::new(0)));
        let samples = std::thread::scope(|scope| {
            let watched = Watched {
                counter: &counter,
                progress: &told,
                unit: "entries",
                seconds: 0.02,
            };
            let sampler = RateSampler::start(scope, watched).unwrap();
            // However busy the machine is: until the sampler has looked a few times.
            while told.0.load(Ordering::Relaxed) < 5 {
                std::thread::sleep(Duration::from_millis(10));
                counter.fetch_add(100, Ordering::Relaxed);
            }
            sampler.finish()
        });
        assert!(samples.len() >= 4, "{samples:?}");
        assert_eq!(samples.first().unwrap().done, 0);
        assert_eq!(
            samples.last().unwrap().done,
            counter.load(Ordering::Relaxed)
        );
        assert!(samples.is_sorted_by(|a, b| a.seconds < b.seconds && a.done <= b.done));
        assert!(max_rate(&samples) > 0.0);
    }

    #[test]
    fn thinning_halves_and_keeps_the_start() {
        let mut samples: Vec<RateSample> = (0..=600)
            .map(|at| RateSample {
                seconds: f64::from(at),
                done: at as u64,
            })
            .collect();
        thin(&mut samples);
        assert_eq!(samples.len(), 301);
        assert_eq!(samples[1].done, 2);
    }

    #[test]
    fn a_short_window_weighs_as_much_as_it_lasts() {
        let at = |seconds, done| RateSample { seconds, done };
        // 2.98 M/s in a window of 0.25 s, then 0.80 M/s in one of 0.07 s.
        let samples = [at(0.0, 0), at(0.25, 745_000), at(0.32, 801_000)];
        assert!((mean_rate(&samples) - 801_000.0 / 0.32).abs() < 1.0);
        assert_eq!(mean_rate(&[]), 0.0);
        assert_eq!(mean_rate(&[at(0.0, 0)]), 0.0);
    }

    #[test]
    fn a_short_run_or_one_of_few_samples_is_not_steady() {
        let run = |count: u64, seconds: f64| -> Vec<RateSample> {
            (0..=count)
                .map(|done| RateSample {
                    seconds: seconds * done as f64 / count as f64,
                    done,
                })
                .collect()
        };
        assert!(is_steady(&run(8, 2.0)));
        assert!(!is_steady(&run(7, 20.0)) && !is_steady(&run(100, 1.9)) && !is_steady(&[]));
    }

    #[test]
    fn the_highest_rate_ignores_a_sliver_at_the_end() {
        let at = |seconds, done| RateSample { seconds, done };
        let samples = [at(0.0, 0), at(1.0, 100), at(2.0, 300), at(2.001, 310)];
        assert_eq!(max_rate(&samples), 200.0);
        assert_eq!(max_rate(&[]), 0.0);
    }
}
