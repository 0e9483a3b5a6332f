//! Plays many seeds, and shortens what fails.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use ostrakon_store::clock::Random;

use super::generate::{Plan, generate};
use super::harness::Harness;
use super::keys::START_MILLIS;
use super::operation::Step;
use super::player::{Disagreement, play};
use crate::reference_model::Coverage;

/// How many seeds, and which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runs {
    /// The first seed; the others follow it.
    pub first: u64,
    /// How many.
    pub count: u64,
}

impl Runs {
    /// `count` seeds from 1 on, unless the environment says otherwise: `OSTRAKON_MODEL_SEED=N` plays that
    /// seed alone, `OSTRAKON_MODEL_RUNS=N` plays N seeds that were never played before.
    #[must_use]
    pub fn from_environment(count: u64) -> Self {
        if let Some(first) = number("OSTRAKON_MODEL_SEED") {
            return Self { first, count: 1 };
        }
        match number("OSTRAKON_MODEL_RUNS") {
            Some(count) => Self {
                first: Random::from_system().below(1 << 40),
                count,
            },
            None => Self { first: 1, count },
        }
    }

    /// The seeds.
    pub fn seeds(self) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |at| self.first.wrapping_add(at))
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// How many seconds a failure is shortened before it is shown; `OSTRAKON_MODEL_SHORTEN` says another number.
const SHORTEN_FOR: u64 = 30;

/// Plays every seed on a fresh harness. Returns how often situations came up.
///
/// # Panics
/// When a source disagrees with the model: with the seed, and the fewest operations found that show
/// it.
pub fn run(name: &str, runs: Runs, plan: Plan, make: &dyn Fn(u64) -> Box<dyn Harness>) -> Coverage {
    let mut coverage = Coverage::default();
    for seed in runs.seeds() {
        let operations = generate(seed, plan);
        let first = match attempt(seed, &operations, make) {
            Ok(played) => {
                coverage.merge(&played);
                continue;
            }
            Err(first) => first,
        };
        let (short, last) = shorten(seed, operations, &first, make);
        let listed: Vec<String> = short
            .iter()
            .map(|step| {
                let ahead = step.millis - START_MILLIS;
                format!("  {} ({ahead} ms): {:?}", step.number, step.operation)
            })
            .collect();
        panic!(
            "{name}: OSTRAKON_MODEL_SEED={seed} shows it again.\nat operation {}: {}\nshortened to {} \
             operations, at {}: {}\n{}",
            first.step,
            first.what,
            short.len(),
            last.step,
            last.what,
            listed.join("\n")
        );
    }
    coverage
}

fn attempt(
    seed: u64,
    operations: &[Step],
    make: &dyn Fn(u64) -> Box<dyn Harness>,
) -> Result<Coverage, Disagreement> {
    let played = catch_unwind(AssertUnwindSafe(|| play(&mut *make(seed), operations)));
    match played {
        Ok(outcome) => outcome.map(|played| played.coverage),
        Err(panic) => Err(Disagreement {
            step: 0,
            what: format!("panicked: {}", words(&*panic)),
        }),
    }
}

/// Leaves operations out as long as something still fails.
fn shorten(
    seed: u64,
    mut operations: Vec<Step>,
    first: &Disagreement,
    make: &dyn Fn(u64) -> Box<dyn Harness>,
) -> (Vec<Step>, Disagreement) {
    let begun = Instant::now();
    let longest = Duration::from_secs(number("OSTRAKON_MODEL_SHORTEN").unwrap_or(SHORTEN_FOR));
    let mut last = first.clone();
    let mut chunk = operations.len() / 2;
    while chunk > 0 {
        let mut at = 0;
        while at < operations.len() && begun.elapsed() < longest {
            let mut fewer = operations.clone();
            fewer.drain(at..(at + chunk).min(operations.len()));
            match attempt(seed, &fewer, make) {
                Err(failure) => (operations, last) = (fewer, failure),
                Ok(_) => at += chunk,
            }
        }
        chunk /= 2;
    }
    (operations, last)
}

fn words(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a message")
}
