//! YCSB: a load by clients that batch, and workload C on what was loaded.

use std::time::Instant;

use ostrakon_cell::Result;
use ostrakon_lab::NoProgress;
use ostrakon_lab::ycsb::{
    CoreWorkload, Database, WorkloadProperties, YcsbOptions, YcsbPhase, YcsbReport, run_ycsb,
};
use ostrakon_store::StoreOptions;

use super::ingest::SPLITS;
use crate::Outcome;
use crate::children::Job;
use crate::figures::{Figure, Work};
use crate::rivals::{Setting, YcsbEngine, open_ycsb};

/// Reads of workload C, after as many that fill the caches.
pub(crate) const READS: u64 = 400_000;

/// Load, then reads by a new process.
pub(super) fn load(job: &Job) -> Outcome<Vec<Figure>> {
    let engine = open_ycsb(job.engine, &setting(job))?;
    let started = Instant::now();
    let report = run(&*engine, job, YcsbPhase::Load, 0)?;
    engine.settle()?;
    let settled = started.elapsed().as_secs_f64();
    engine.close()?;
    Ok(vec![
        Figure {
            work: Work::YcsbLoad,
            value: report.operations_per_second(),
        },
        Figure {
            work: Work::YcsbLoadSettled,
            value: job.entries as f64 / settled,
        },
    ])
}

/// Workload C: reads of all fields, zipfian.
pub(super) fn read(job: &Job) -> Outcome<Vec<Figure>> {
    let engine = open_ycsb(job.engine, &setting(job))?;
    run(&*engine, job, YcsbPhase::Run, READS)?;
    let report = run(&*engine, job, YcsbPhase::Run, READS)?;
    let figures = report.figures()?;
    engine.close()?;
    Ok(vec![
        Figure {
            work: Work::YcsbRead,
            value: report.operations_per_second(),
        },
        Figure {
            work: Work::YcsbReadP99,
            value: figures.latency.p99_us as f64 / 1e3,
        },
    ])
}

/// Room for the whole data of a run of the default size, in the block cache of every engine.
pub(crate) fn store_options() -> StoreOptions {
    StoreOptions {
        memory_budget_bytes: 4 << 30,
        ..StoreOptions::default()
    }
}

fn setting(job: &Job) -> Setting {
    Setting {
        dir: job.dir.clone(),
        store: store_options(),
        splits: SPLITS,
        ..Setting::default()
    }
}

fn run(
    engine: &dyn YcsbEngine,
    job: &Job,
    phase: YcsbPhase,
    operations: u64,
) -> Outcome<YcsbReport> {
    let mut properties = WorkloadProperties::default();
    properties.add_workload("workloadc".as_ref())?;
    for (name, value) in [
        ("recordcount", job.entries),
        ("operationcount", operations),
        ("threadcount", job.writers as u64),
    ] {
        properties.set(name, &value.to_string());
    }
    let options = YcsbOptions {
        phase,
        seed: Some(1),
        duration: None,
        status_clock: None,
    };
    let connect = |_: &CoreWorkload| -> Result<Box<dyn Database + '_>> { engine.client() };
    let report = run_ycsb(&properties, &options, &connect, &NoProgress)?;
    if let Some(error) = report.error {
        return Err(error.into());
    }
    let failed = report.figures()?.latencies.into_iter();
    let failed: Vec<String> = failed
        .map(|(name, _)| name)
        .filter(|name| name.ends_with("-FAILED"))
        .collect();
    if !failed.is_empty() {
        return Err(format!("operations failed or found nothing: {}", failed.join(", ")).into());
    }
    Ok(report)
}
