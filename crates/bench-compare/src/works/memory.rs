//! Ingest with a memory budget that the data exceeds by far: does the process stay within it?

use ostrakon_store::StoreOptions;

use super::ingest::{SPLITS, ingest};
use super::machine::peak_resident_bytes;
use crate::Outcome;
use crate::children::Job;
use crate::figures::{Figure, Work};
use crate::rivals::{Engine, Ostrakon, Setting};
use crate::workload::{KEY_BYTES, VALUE_BYTES};

/// The smallest budget: with less, the process itself and its writers use more memory than the store.
const BUDGET_MIN: u64 = 128 << 20;
/// The data is this many times as large as the budget, in a run that is large enough.
const TIMES_BUDGET: u64 = 4;

/// Peak resident memory of the whole process as a fraction of the store's budget.
pub(super) fn run(job: &Job) -> Outcome<Vec<Figure>> {
    let raw = job.entries * (KEY_BYTES + VALUE_BYTES);
    let budget = (raw / TIMES_BUDGET).max(BUDGET_MIN);
    let setting = Setting {
        dir: job.dir.clone(),
        store: StoreOptions {
            memory_budget_bytes: budget,
            ..StoreOptions::default()
        },
        splits: SPLITS,
        // Writers' buffers are the caller's memory; with the default size they would outweigh a small store.
        writer_bytes: Some(usize::try_from(budget / 32)?),
        ..Setting::default()
    };
    let engine = Ostrakon::open(&setting)?;
    ingest(&engine, &job.workload())?;
    engine.settle()?;
    Ok(vec![Figure {
        work: Work::MemoryOfBudget,
        value: peak_resident_bytes() as f64 / budget as f64,
    }])
}
