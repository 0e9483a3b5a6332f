//! Continuous ingest: several threads, one synced batch after another, then flush and compaction.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ostrakon_store::StoreOptions;

use super::machine::peak_resident_bytes;
use crate::Outcome;
use crate::children::Job;
use crate::figures::{Figure, Work};
use crate::rivals::{Engine, EngineKind, Ostrakon, Setting, open};
use crate::workload::Workload;

/// Split points of the pre-split table: eight tablets.
pub(crate) const SPLITS: usize = 7;
/// Number of entries of the first part of the run, whose rate is promised.
const FIRST: u64 = 20_000_000;
/// Entries that a writer counts before it updates the shared counter.
const STRIDE: u64 = 1024;
/// Bytes per entry in files, to choose a split threshold; about the measured value.
const FILE_BYTES: u64 = 60;
/// Maximum of the threshold that splits a table of any size into a few tablets.
const SPLIT_THRESHOLD_MAX: u64 = 1 << 30;

/// How long to wait for a split, and how often to check for it.
const SPLIT_WAIT: Duration = Duration::from_secs(10);
const SPLIT_POLL: Duration = Duration::from_millis(2);

/// How long an ingest took.
pub(super) struct Ingested {
    /// Seconds until the last entry was acknowledged.
    pub(super) seconds: f64,
    /// Seconds until the first [`FIRST`] entries were submitted, if there were that many.
    first_seconds: Option<f64>,
}

/// Writes the workload with one thread per writer.
pub(super) fn ingest(engine: &dyn Engine, workload: &Workload) -> Outcome<Ingested> {
    let started = Instant::now();
    let (done, first) = (AtomicU64::new(0), OnceLock::new());
    let count = |entries: u64| {
        let before = done.fetch_add(entries, Ordering::Relaxed);
        if before < FIRST && before + entries >= FIRST {
            // Only one thread crosses this, once.
            let _ = first.set(started.elapsed().as_secs_f64());
        }
    };
    let write = |number: usize| -> Outcome<()> {
        let mut writer = engine.writer()?;
        let mut uncounted = 0;
        workload.make(number, |row, update| {
            writer.put(row, update)?;
            uncounted += 1;
            if uncounted == STRIDE {
                count(std::mem::take(&mut uncounted));
            }
            Ok(())
        })?;
        writer.finish()?;
        count(uncounted);
        Ok(())
    };
    std::thread::scope(|scope| {
        let write = &write;
        let writers: Vec<_> = (0..workload.writers)
            .map(|number| scope.spawn(move || write(number)))
            .collect();
        writers.into_iter().try_for_each(|writer| {
            let outcome = writer.join();
            outcome.unwrap_or_else(|_| Err("a writer panicked; see above".into()))
        })
    })?;
    Ok(Ingested {
        seconds: started.elapsed().as_secs_f64(),
        first_seconds: first.into_inner(),
    })
}

/// Ingest into a pre-split table, and the size of its files.
pub(super) fn pre_split(job: &Job) -> Outcome<Vec<Figure>> {
    let setting = Setting {
        dir: job.dir.clone(),
        store: StoreOptions::default(),
        splits: SPLITS,
        ..Setting::default()
    };
    let entries = job.entries as f64;
    let mut figures = Vec::new();
    let mut add = |work, value| figures.push(Figure { work, value });
    let mut run = |engine: &dyn Engine| -> Outcome<()> {
        let (ingested, settled_seconds) = settled(engine, &job.workload())?;
        if let Some(seconds) = ingested.first_seconds {
            add(Work::IngestFirst, FIRST as f64 / seconds);
        }
        add(Work::Ingest, entries / ingested.seconds);
        add(Work::IngestSettled, entries / settled_seconds);
        add(Work::BytesPerEntry, engine.file_bytes()? as f64 / entries);
        Ok(())
    };
    if job.engine == EngineKind::Ostrakon {
        let engine = Ostrakon::open(&setting)?;
        run(&engine)?;
        let syncs = engine.store.metrics().wal_syncs;
        add(Work::Syncs, syncs as f64 / entries * 1e6);
        engine.store.close()?;
    } else {
        run(&*open(job.engine, &setting)?)?;
    }
    let peak = peak_resident_bytes() as f64;
    add(Work::PeakMemory, peak / f64::from(1 << 20));
    if job.full {
        let budget = setting.store.memory_budget_bytes;
        add(Work::MemoryOfBudget, peak / budget as f64);
    }
    Ok(figures)
}

/// Ingest into one tablet. The threshold makes it split a few times at any size of the run.
pub(super) fn unsplit(job: &Job) -> Outcome<Vec<Figure>> {
    let threshold = (job.entries * FILE_BYTES / 6).min(SPLIT_THRESHOLD_MAX);
    let setting = Setting {
        dir: job.dir.clone(),
        properties: vec![("table.split.threshold".to_owned(), threshold.to_string())],
        ..Setting::default()
    };
    let engine = Ostrakon::open(&setting)?;
    let started = Instant::now();
    let ingested = ingest(&engine, &job.workload())?;
    engine.settle()?;
    // Data that fits in memory is in files, and can be split, only now; the timer includes that.
    let settled_at = Instant::now();
    let mut tablets = engine.store.metrics().tablets;
    while tablets < 2 && settled_at.elapsed() < SPLIT_WAIT {
        std::thread::sleep(SPLIT_POLL);
        tablets = engine.store.metrics().tablets;
    }
    let settled_seconds = started.elapsed().as_secs_f64();
    if tablets < 2 {
        return Err(format!(
            "no tablet was split, although the threshold was {threshold} bytes; this measured the \
             wrong thing"
        )
        .into());
    }
    eprintln!("       {tablets} tablets in the end");
    let entries = job.entries as f64;
    Ok(vec![
        Figure {
            work: Work::IngestUnsplit,
            value: entries / ingested.seconds,
        },
        Figure {
            work: Work::IngestUnsplitSettled,
            value: entries / settled_seconds,
        },
    ])
}

fn settled(engine: &dyn Engine, workload: &Workload) -> Outcome<(Ingested, f64)> {
    let started = Instant::now();
    let ingested = ingest(engine, workload)?;
    engine.settle()?;
    Ok((ingested, started.elapsed().as_secs_f64()))
}
