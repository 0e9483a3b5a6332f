//! Point reads right after ingest and compaction, by a process whose own caches are empty.
//!
//! The system's page cache keeps what the ingest left in it, as for a program that is restarted.

use std::time::{Duration, Instant};

use super::measuring::all_found;
use crate::Outcome;
use crate::children::Job;
use crate::figures::{Figure, Work};
use crate::rivals::{Setting, open};

/// How long it reads.
const DURATION: Duration = Duration::from_secs(10);
/// Number of distinct keys, read in random order; after the last, reading starts over.
const KEYS: u64 = 2_000_000;
/// Number of keys after which the time is checked.
const STRIDE: usize = 1_000;

/// Reads random keys, one per call, until the time is over.
pub(super) fn run(job: &Job) -> Outcome<Vec<Figure>> {
    let keys = job.workload().sample(KEYS.min(job.entries))?;
    let setting = Setting {
        dir: job.dir.clone(),
        ..Setting::default()
    };
    let started = Instant::now();
    let engine = open(job.engine, &setting)?;
    let mut found = 0;
    for some in keys.chunks(STRIDE).cycle() {
        found += all_found(engine.look_up(some)?, some.len())?;
        if started.elapsed() >= DURATION {
            break;
        }
    }
    Ok(vec![Figure {
        work: Work::LookUpFirst,
        value: found as f64 / started.elapsed().as_secs_f64(),
    }])
}
