//! Reads the files of the ingest: opening, a scan, point reads, and verify.

use std::sync::Arc;

use ostrakon_cell::Source;
use ostrakon_lab::NoProgress;
use ostrakon_lab::continuous::{VerifyOptions, run_verify};

use super::measuring::{all_found, complete, rate, timed};
use crate::Outcome;
use crate::children::Job;
use crate::figures::{Figure, Work};
use crate::rivals::{Engine, EngineKind, Ostrakon, Setting, open};

/// Keys read one by one in a pass.
const LOOK_UPS: u64 = 100_000;
/// Keys read in one call.
const TOGETHER: usize = 10_000;

/// Runs all reads.
pub(super) fn run(job: &Job) -> Outcome<Vec<Figure>> {
    let setting = Setting {
        dir: job.dir.clone(),
        ..Setting::default()
    };
    if job.engine != EngineKind::Ostrakon {
        let (seconds, engine) = timed(|| open(job.engine, &setting))?;
        let mut figures = vec![opening(seconds)];
        figures.extend(read(&*engine, job)?);
        return Ok(figures);
    }
    let (seconds, engine) = timed(|| Ostrakon::open(&setting))?;
    let mut figures = vec![opening(seconds)];
    figures.extend(read(&engine, job)?);
    figures.push(verify(&engine, job)?);
    Ok(figures)
}

fn opening(seconds: f64) -> Figure {
    Figure {
        work: Work::Open,
        value: seconds * 1e3,
    }
}

fn read(engine: &dyn Engine, job: &Job) -> Outcome<Vec<Figure>> {
    let keys = job.workload().sample(LOOK_UPS)?;
    let together = keys.get(..TOGETHER.min(keys.len())).unwrap_or_default();
    // The blocks of the full run do not fit in the caches, so these are separate figures.
    let (one_by_one, in_one_call) = if job.full {
        (Work::LookUpLarge, Work::LookUpTogetherLarge)
    } else {
        (Work::LookUp, Work::LookUpTogether)
    };
    Ok(vec![
        Figure {
            work: Work::Scan,
            value: rate(|| scan(engine, job.entries))?,
        },
        Figure {
            work: one_by_one,
            value: rate(|| all_found(engine.look_up(&keys)?, keys.len()))?,
        },
        Figure {
            work: in_one_call,
            value: rate(|| all_found(engine.look_up_together(together)?, together.len()))?,
        },
    ])
}

fn scan(engine: &dyn Engine, entries: u64) -> Outcome<u64> {
    complete(engine.scan()?, entries)
}

fn verify(engine: &Ostrakon, job: &Job) -> Outcome<Figure> {
    let source: Arc<dyn Source> = Arc::<ostrakon_store::Store>::clone(&engine.store);
    let verified = run_verify(&source, &VerifyOptions::default(), &NoProgress)?;
    if let Some(fault) = verified.fault() {
        return Err(format!("verify: {fault}").into());
    }
    if verified.entries != job.entries {
        let (read, written) = (verified.entries, job.entries);
        return Err(format!("verify read {read} entries of {written}").into());
    }
    Ok(Figure {
        work: Work::Verify,
        value: verified.entries_per_second,
    })
}
