//! Opens a store whose entries are in the log only, because its process was killed.

use ostrakon_store::StoreOptions;

use super::ingest::{SPLITS, ingest};
use super::measuring::timed;
use crate::Outcome;
use crate::children::Job;
use crate::figures::{Figure, Work};
use crate::rivals::{Ostrakon, Setting};
use crate::workload::{KEY_BYTES, VALUE_BYTES, Workload};

/// Memory that an entry takes in addition to its bytes; an upper estimate.
const OVERHEAD_BYTES: u64 = 64;
/// Maximum number of replayed entries, so that they fit in memory at once.
const ENTRIES_MAX: u64 = 10_000_000;

/// Writes, and ends like a killed process, because closing would flush.
pub(super) fn crash(job: &Job) -> Outcome<Vec<Figure>> {
    let (setting, workload) = prepare(job);
    let engine = Box::leak(Box::new(Ostrakon::open(&setting)?));
    ingest(engine, &workload)?;
    Ok(Vec::new())
}

/// Replayed entries per second, including the rest of opening.
pub(super) fn replay(job: &Job) -> Outcome<Vec<Figure>> {
    let (setting, workload) = prepare(job);
    let (seconds, engine) = timed(|| Ostrakon::open(&setting))?;
    let replayed = engine.store.metrics().wal_entries_recovered;
    if replayed != workload.entries {
        return Err(format!("{replayed} of {} entries were replayed", workload.entries).into());
    }
    Ok(vec![Figure {
        work: Work::Replay,
        value: replayed as f64 / seconds,
    }])
}

fn prepare(job: &Job) -> (Setting, Workload) {
    let mut workload = job.workload();
    workload.entries = workload.entries.min(ENTRIES_MAX);
    let raw = workload.entries * (KEY_BYTES + VALUE_BYTES + OVERHEAD_BYTES);
    let defaults = StoreOptions::default();
    let setting = Setting {
        dir: job.dir.clone(),
        store: StoreOptions {
            // Nothing is flushed, and the replayed entries fit in memory.
            background: false,
            memory_budget_bytes: defaults.memory_budget_bytes.max(raw * 6),
            ..defaults
        },
        splits: SPLITS,
        ..Setting::default()
    };
    (setting, workload)
}
