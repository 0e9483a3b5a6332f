//! Point reads right after ingest and compaction, by a process whose own caches are empty.
//!
//! What the ingest left in the system's page cache is there, as it would be for a program that is started again.

use std::time::{Duration, Instant};

use super::measuring::all_found;
use crate::Outcome;
use crate::children::Job;
use crate::figures::{Figure, Work};
use crate::rivals::{Setting, open};

/// For how long it reads.
const DURATION: Duration = Duration::from_secs(10);
/// Different keys, in random order; started over when all were read.
const KEYS: u64 = 2_000_000;
/// Keys between two looks at the time.
const STRIDE: usize = 1_000;

/// Reads one random key after the other until the time is over.
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
