//! Reads what ingest left: opening, a scan, look-ups, and verify.

use std::sync::Arc;

use ostrakon_cell::Source;
use ostrakon_lab::NoProgress;
use ostrakon_lab::continuous::{VerifyOptions, run_verify};

use super::dispatch::{median, timed};
use crate::Outcome;
use crate::children::Job;
use crate::figures::{Figure, Work};
use crate::rivals::{Engine, EngineKind, Ostrakon, Scanned, Setting, open};
use crate::workload::{KEY_BYTES, VALUE_BYTES};

/// Timed passes after one that fills the cache.
pub(super) const PASSES: usize = 3;
/// Keys looked up one by one in a pass.
const LOOK_UPS: u64 = 100_000;
/// Keys looked up in one call.
const TOGETHER: usize = 10_000;

/// Everything that is read.
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
    // The full run's blocks are some times what caches hold, which is another thing to measure.
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

/// Units a second: the median of some passes after one that does not count.
pub(super) fn rate(pass: impl Fn() -> Outcome<u64>) -> Outcome<f64> {
    pass()?;
    let mut rates = Vec::new();
    for _ in 0..PASSES {
        let (seconds, units) = timed(&pass)?;
        rates.push(units as f64 / seconds);
    }
    Ok(median(&rates))
}

fn scan(engine: &dyn Engine, entries: u64) -> Outcome<u64> {
    complete(engine.scan()?, entries)
}

/// A fast wrong answer is none.
pub(super) fn complete(scanned: Scanned, entries: u64) -> Outcome<u64> {
    let values = entries * (VALUE_BYTES - 16)..=entries * VALUE_BYTES;
    if scanned.entries == entries && values.contains(&scanned.value_bytes) {
        return Ok(entries);
    }
    Err(format!(
        "a scan met {} entries with {} bytes of values; {entries} entries of {KEY_BYTES} + up to \
         {VALUE_BYTES} bytes were written",
        scanned.entries, scanned.value_bytes
    )
    .into())
}

pub(super) fn all_found(found: u64, wanted: usize) -> Outcome<u64> {
    if found == wanted as u64 {
        return Ok(found);
    }
    Err(format!("{found} of {wanted} look-ups found what was written").into())
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
