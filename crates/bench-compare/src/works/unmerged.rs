//! Eight files that were never merged: what a scan pays for merging, and what filters save per point read.

use ostrakon_store::StoreOptions;

use super::measuring::{all_found, complete, rate};
use crate::Outcome;
use crate::children::Job;
use crate::figures::{Figure, Work};
use crate::rivals::{Engine, Ostrakon, Setting};
use crate::workload::{KeyParts, Workload};

const FILES: usize = 8;
/// The data is this many times as large as the cache.
const TIMES_CACHE: u64 = 4;
const LOOK_UPS: u64 = 50_000;

/// Writes the files, scans them, and does point reads with a cache that is too small.
pub(super) fn run(job: &Job) -> Outcome<Vec<Figure>> {
    let mut setting = Setting {
        dir: job.dir.clone(),
        store: StoreOptions {
            // Nothing may be flushed or merged in the background.
            background: false,
            ..StoreOptions::default()
        },
        properties: vec![("table.bloom.enabled".to_owned(), "true".to_owned())],
        ..Setting::default()
    };
    // The parts of the table are the shares of several writers, written one after another.
    let parts = Workload {
        writers: FILES,
        ..job.workload()
    };
    let engine = Ostrakon::open(&setting)?;
    for part in 0..FILES {
        let mut writer = engine.writer()?;
        parts.make(part, |row, update| writer.put(row, update))?;
        writer.finish()?;
        engine.table.flush(true)?;
    }
    // A flush of one tablet may be cut by rows among threads; a row still lies in eight files.
    let files = engine.store.metrics().files;
    if files == 0 || files % FILES as u64 != 0 {
        return Err(format!("{files} files were written instead of {FILES} per row").into());
    }
    let bytes = engine.store.metrics().file_bytes;
    let scan = rate(|| complete(engine.scan()?, job.entries))?;
    engine.store.close()?;
    drop(engine);

    // A quarter of the budget is cache.
    setting.store.memory_budget_bytes = bytes / TIMES_CACHE * 4;
    let reads = block_reads(&setting, &parts.sample(LOOK_UPS)?)?;
    Ok(vec![
        Figure {
            work: Work::ScanUnmerged,
            value: scan,
        },
        Figure {
            work: Work::BlockReads,
            value: reads,
        },
    ])
}

/// Data blocks read from files per point read, once the cache is full.
fn block_reads(setting: &Setting, keys: &[KeyParts]) -> Outcome<f64> {
    let engine = Ostrakon::open(setting)?;
    let (warm, counted) = keys.split_at(keys.len() / 2);
    all_found(engine.look_up(warm)?, warm.len())?;
    let before = engine.store.metrics();
    all_found(engine.look_up(counted)?, counted.len())?;
    let read = engine.store.metrics().since(&before).blocks_read;
    Ok(read as f64 / counted.len().max(1) as f64)
}
