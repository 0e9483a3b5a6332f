//! Common parts of walkers and batch walkers: running in parallel, and counting.

use std::time::Duration;

use ostrakon_cell::{Authorizations, Result};

use crate::Progress;
use crate::control::Control;
use crate::measure::{Latencies, LatencySummary, RateSample, RateSampler, Watched};
use crate::threads::in_threads;

/// What a run of walkers came to.
pub(super) struct Walked<W> {
    pub(super) walkers: Vec<W>,
    pub(super) samples: Vec<RateSample>,
    pub(super) seconds: f64,
}

/// Runs `count` walkers, at least one, each in a thread called `name`, and samples how many of its `unit`
/// were looked up.
pub(super) fn run_walkers<W: Send>(
    (name, unit): (&str, &'static str),
    count: usize,
    control: &Control<'_>,
    progress: &dyn Progress,
    walk: impl Fn(usize) -> Result<W> + Sync,
) -> Result<Walked<W>> {
    std::thread::scope(|scope| {
        let sampler = RateSampler::start(scope, watched(control, progress, unit))?;
        let walkers = in_threads(name, count.max(1), || control.stop(), walk);
        let seconds = control.seconds();
        let samples = sampler.finish();
        Ok(Walked {
            walkers: walkers?,
            samples,
            seconds,
        })
    })
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

/// The sets a walker draws from: those given, or one without labels.
pub(super) fn authorization_sets(given: &[Authorizations]) -> Vec<Authorizations> {
    match given {
        [] => vec![Authorizations::default()],
        sets => sets.to_vec(),
    }
}

/// What one walker counts.
pub(super) struct Tally {
    pub(super) latencies: Latencies,
    pub(super) paused: Duration,
    pub(super) queries: u64,
    pub(super) corrupt: u64,
    pub(super) starts: u64,
    pub(super) entries: u64,
    /// Sets of authorizations that saw nothing.
    pub(super) blind: u64,
    missing: u64,
    examples: Vec<String>,
    examples_max: usize,
}

impl Tally {
    /// Nothing yet; at most `examples_max` missing rows are named.
    pub(super) fn new(examples_max: usize) -> Result<Self> {
        Ok(Self {
            latencies: Latencies::new()?,
            paused: Duration::ZERO,
            queries: 0,
            corrupt: 0,
            starts: 0,
            entries: 0,
            blind: 0,
            missing: 0,
            examples: Vec::new(),
            examples_max,
        })
    }

    /// Counts a missing row.
    pub(super) fn miss(&mut self, name: impl FnOnce() -> String) {
        self.missing += 1;
        if self.examples.len() < self.examples_max {
            self.examples.push(name());
        }
    }
}

/// What all walkers of a run counted.
pub(super) struct Totals {
    pub(super) queries: u64,
    pub(super) missing: u64,
    pub(super) corrupt: u64,
    pub(super) starts: u64,
    pub(super) entries: u64,
    /// The most sets of authorizations that one walker found to see nothing.
    pub(super) blind: u64,
    pub(super) queries_per_second: f64,
    pub(super) queries_per_second_with_pauses: f64,
    pub(super) latency: LatencySummary,
    pub(super) missing_examples: Vec<String>,
}

impl Totals {
    /// Sums what was counted in a number of seconds by the clock.
    pub(super) fn of(tallies: impl IntoIterator<Item = Tally>, seconds: f64) -> Result<Self> {
        let mut latencies = Latencies::new()?;
        let mut totals = Self {
            queries: 0,
            missing: 0,
            corrupt: 0,
            starts: 0,
            entries: 0,
            blind: 0,
            queries_per_second: 0.0,
            queries_per_second_with_pauses: 0.0,
            latency: LatencySummary::default(),
            missing_examples: Vec::new(),
        };
        for tally in tallies {
            latencies.add(&tally.latencies);
            totals.queries += tally.queries;
            totals.missing += tally.missing;
            totals.corrupt += tally.corrupt;
            totals.starts += tally.starts;
            totals.entries += tally.entries;
            totals.blind = totals.blind.max(tally.blind);
            let running = (seconds - tally.paused.as_secs_f64()).max(1e-9);
            totals.queries_per_second += tally.queries as f64 / running;
            let examples = &mut totals.missing_examples;
            let room = tally.examples_max.saturating_sub(examples.len());
            examples.extend(tally.examples.into_iter().take(room));
        }
        totals.queries_per_second_with_pauses = totals.queries as f64 / seconds.max(1e-9);
        totals.latency = latencies.summary();
        Ok(totals)
    }
}

/// Why a run of walkers is not sound, if it is not: something is missing or damaged, or nothing was looked up.
pub(super) fn fault(queries: u64, missing: u64, corrupt: u64) -> Option<&'static str> {
    if missing > 0 || corrupt > 0 {
        Some("rows are missing or damaged")
    } else if queries == 0 {
        Some(
            "no row was looked up, so nothing is proved: let it run longer, or look whether entries have links",
        )
    } else {
        None
    }
}
