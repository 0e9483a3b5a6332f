//! Runs the phases that are workloads of YCSB.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ostrakon_cell::{CompactOptions, Error, ErrorKind, Result, Source, Table};

use super::phases::{Outcome, Setting, TABLE};
use super::plan::{YcsbMix, YcsbStep};
use crate::ycsb::{
    CoreWorkload, Database, TableAccess, TableClient, WorkloadProperties, Writes, YcsbFigures,
    YcsbOptions, YcsbPhase, run_ycsb,
};

/// Threads that load.
const LOADERS: usize = 2;

impl Outcome {
    pub(super) fn ycsb(
        &mut self,
        source: &Arc<dyn Source>,
        step: &YcsbStep,
        setting: Setting<'_>,
    ) -> Result<()> {
        let table = source.table(TABLE)?;
        match step {
            YcsbStep::Load { records, .. } => {
                let mut properties = properties(*records, LOADERS);
                properties.set("readproportion", "1");
                let figures = run(&table, &properties, YcsbPhase::Load, None, setting)?;
                table.compact(&CompactOptions::default())?;
                // Key, family and name of a field, and its value.
                self.entries += figures.operations * 10;
                self.entry_bytes += figures.operations * 10 * (23 + 4 + 6 + 100);
                Ok(())
            }
            YcsbStep::Storage(disk) => {
                match setting.storage {
                    Some(storage) => storage.emulate(*disk),
                    // Figures of slow storage must not be those of fast storage.
                    None if disk.is_some() => {
                        return Err(Error::new(
                            ErrorKind::Unsupported,
                            "the caller cannot emulate slow storage",
                        ));
                    }
                    None => {}
                }
                Ok(())
            }
            YcsbStep::Run {
                mix,
                records,
                threads,
                duration,
            } => {
                let mut properties = properties(*records, *threads);
                properties.set("readproportion", &mix.reads.to_string());
                properties.set("updateproportion", &(1.0 - mix.reads).to_string());
                let work = || {
                    let phase = YcsbPhase::Run;
                    run(&table, &properties, phase, Some(*duration), setting)
                };
                let figures = if mix.compaction {
                    let (figures, compactions) = while_compacting(&table, work)?;
                    self.set(mix.name, "compactions", compactions as f64);
                    figures
                } else {
                    work()?
                };
                self.ycsb_figures(mix, &figures);
                Ok(())
            }
        }
    }

    fn ycsb_figures(&mut self, mix: &YcsbMix, figures: &YcsbFigures) {
        self.set(mix.name, "operations", figures.operations as f64);
        self.set(mix.name, "rate", figures.operations_per_second);
        self.set(mix.name, "mean_us", figures.latency.mean_us);
        self.set(mix.name, "p50_us", figures.latency.p50_us as f64);
        self.set(mix.name, "p99_us", figures.latency.p99_us as f64);
        // The mean of the means of the workloads so far.
        let means: Vec<f64> = ["a", "b", "c"]
            .iter()
            .filter_map(|name| {
                self.repetition
                    .metrics
                    .get(&format!("{name}.mean_us"))
                    .copied()
            })
            .collect();
        self.set("all", "mean_us", crate::measure::spread(&means).mean);
    }
}

fn properties(records: u64, threads: usize) -> WorkloadProperties {
    let mut properties = WorkloadProperties::default();
    properties.set("recordcount", &records.to_string());
    properties.set("threadcount", &threads.to_string());
    properties
}

fn run(
    table: &Arc<dyn Table>,
    properties: &WorkloadProperties,
    phase: YcsbPhase,
    duration: Option<std::time::Duration>,
    setting: Setting<'_>,
) -> Result<YcsbFigures> {
    let options = YcsbOptions {
        phase,
        seed: None,
        duration,
        status_clock: None,
    };
    let connect = |_: &CoreWorkload| {
        let access = TableAccess {
            writes: Writes::Buffered,
            durability: Some(setting.durability),
            ..TableAccess::default()
        };
        Ok(Box::new(TableClient::new(Arc::clone(table), access)) as Box<dyn Database>)
    };
    let report = run_ycsb(properties, &options, &connect, setting.progress)?;
    let figures = report.figures()?;
    if let Some(error) = report.error {
        return Err(error);
    }
    if figures.latencies.contains_key("READ-FAILED") {
        return Err(Error::new(
            ErrorKind::Internal,
            "reads found no record, although all were loaded",
        ));
    }
    Ok(figures)
}

/// Compacts the whole table again and again while the work goes on. Returns how many compactions ended.
fn while_compacting<T>(
    table: &Arc<dyn Table>,
    work: impl FnOnce() -> Result<T>,
) -> Result<(T, u64)> {
    let (over, count) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let compaction = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                match table.compact(&CompactOptions::default()) {
                    Ok(()) => _ = count.fetch_add(1, Ordering::Relaxed),
                    Err(error) if error.kind() == ErrorKind::Cancelled => break,
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        let cancelled = table.cancel_compaction();
        let compacted = compaction.join().unwrap_or_else(|_| {
            Err(Error::new(
                ErrorKind::Internal,
                "the compaction beside the workload panicked",
            ))
        });
        let done = done?;
        cancelled?;
        compacted?;
        Ok((done, count.load(Ordering::Relaxed)))
    })
}
