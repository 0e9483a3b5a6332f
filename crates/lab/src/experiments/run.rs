//! Runs one experiment and writes its record.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ostrakon_cell::{Durability, Error, ErrorKind, Result, Source};

use super::catalogue::find;
use super::phases::{Outcome, Quiet, Setting, run_row};
use super::plan::{Phase, Plan, RowPlan, Sizes, Writers};
use super::record::{Column, Conditions, Paper, Plot, RECORD_VERSION, Record, Row};
use super::rig::{Rig, RigSettings};
use crate::Progress;
use crate::measure::{Host, spread};

/// Settings of [`run_experiment`].
#[derive(Debug, Clone)]
pub struct ExperimentOptions {
    /// Factor on the numbers of entries and seconds. Default 1: a minute or two on two
    /// processors.
    pub scale: f64,
    /// Times each row is measured, on newly made data. Default 3.
    pub repetitions: usize,
    /// Directory for the record, created if it is not there. Default `lab-results`.
    pub out: PathBuf,
    /// Durability of the writes. Default `sync`.
    pub durability: Durability,
}

impl Default for ExperimentOptions {
    fn default() -> Self {
        Self {
            scale: 1.0,
            repetitions: 3,
            out: PathBuf::from("lab-results"),
            durability: Durability::Sync,
        }
    }
}

/// Runs an experiment by name and writes its record as JSON, `NAME-<milliseconds since 1970>.json`.
///
/// # Errors
/// No such experiment (with a suggestion), the source fails, the record cannot be written, or the
/// run was cancelled; then there is no record.
pub fn run_experiment(
    rig: &dyn Rig,
    name: &str,
    options: &ExperimentOptions,
    progress: &dyn Progress,
) -> Result<(Record, PathBuf)> {
    let chosen = find(name)?;
    if !(options.scale > 0.0 && options.scale.is_finite()) || options.repetitions == 0 {
        return Err(
            Error::invalid("the scale is above 0, and each row is measured once or more")
                .with("scale", options.scale)
                .with("repetitions", options.repetitions),
        );
    }
    // Found out now rather than after minutes of measuring.
    create_directory(&options.out)?;
    let plan = (chosen.plan)(Sizes(options.scale));
    let settings = plan.settings();
    let began = Instant::now();
    let started_ms = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_millis() as u64);
    let setting = Setting {
        durability: options.durability,
        scratch: rig.scratch(),
        ranks: rig.ranks(),
        storage: rig.storage(),
        progress: &Quiet(progress),
    };
    let runs = (plan.rows.len() * options.repetitions) as u64;
    progress.phase(&format!("{name}: {}", plan.title), Some(runs));
    let (mut rows, mut all, mut done) = (Vec::new(), Vec::new(), 0);
    let mut plots: Vec<Plot> = Vec::new();
    // What the last repetition has left, for rows that continue with it.
    let mut left: Option<Arc<dyn Source>> = None;
    for row in &plan.rows {
        let mut outcomes = Vec::with_capacity(options.repetitions);
        for _ in 0..options.repetitions {
            let source = match left.take().filter(|_| row.continues) {
                Some(source) => source,
                None => rig.fresh(&RigSettings {
                    memory_budget_bytes: row.memory,
                })?,
            };
            match run_row(&source, row, setting) {
                Err(error) if error.kind() != ErrorKind::Cancelled => return Err(error),
                _ if progress.cancelled() => {
                    return Err(Error::new(
                        ErrorKind::Cancelled,
                        "the experiment was stopped; no record was written",
                    ));
                }
                outcome => outcomes.push(outcome?),
            }
            left = Some(source);
            done += 1;
            progress.done(done);
        }
        // Repetitions differ in time, not in what they show.
        if let Some(first) = outcomes.first_mut() {
            add_plots(&mut plots, std::mem::take(&mut first.plots));
        }
        rows.push(summary(rig, row, &mut outcomes));
        if let Some(row) = rows.last() {
            progress.line(&line(&plan, row));
        }
        all.append(&mut outcomes);
    }
    drop(left);
    add_derived(&plan, &mut rows);
    plots.extend((plan.plots)(&rows));
    let record = Record {
        record_version: RECORD_VERSION,
        experiment: name.to_owned(),
        title: plan.title.to_owned(),
        paper: paper(&plan, chosen.citation),
        scaling: plan.scaling.clone(),
        conditions: conditions(rig, &settings, options, &plan, &all),
        started_ms,
        seconds: began.elapsed().as_secs_f64(),
        columns: plan
            .columns
            .iter()
            .map(|&(key, label, unit)| Column {
                key: key.to_owned(),
                label: label.to_owned(),
                unit,
            })
            .collect(),
        clients: plan.clients.to_owned(),
        plots,
        rows,
    };
    let file = options.out.join(format!("{name}-{started_ms}.json"));
    write_record(&record, &file)?;
    Ok((record, file))
}

/// Computes columns from others: `NAME.speedup`, the mean `NAME.seconds` of the first row with one client over those of each
/// row; and `….NAME_change`, by how many percent `….NAME` is more than the mean of the first row that has it.
fn add_derived(plan: &Plan, rows: &mut [Row]) {
    for (key, _, _) in plan.columns {
        let (metric, is_speedup) = match (key.strip_suffix(".speedup"), key.strip_suffix("_change"))
        {
            (Some(name), _) => (format!("{name}.seconds"), true),
            (_, Some(metric)) => (metric.to_owned(), false),
            _ => continue,
        };
        let mut bases = rows.iter().filter(|row| !is_speedup || row.clients == 1);
        let base = bases.find_map(|row| row.metrics.get(&metric));
        let Some(base) = base.map(|spread| spread.mean).filter(|mean| *mean > 0.0) else {
            continue;
        };
        let derived = |value: f64| match is_speedup {
            true => base / value,
            false => (value / base - 1.0) * 100.0,
        };
        for row in &mut *rows {
            let mut values = Vec::new();
            for repetition in &mut row.repetitions {
                if let Some(value) = repetition
                    .metrics
                    .get(&metric)
                    .filter(|value| **value > 0.0)
                {
                    let value = derived(*value);
                    repetition.metrics.insert((*key).to_owned(), value);
                    values.push(value);
                }
            }
            if !values.is_empty() {
                row.metrics.insert((*key).to_owned(), spread(&values));
            }
        }
    }
}

/// Adds charts; those of one title become one.
fn add_plots(all: &mut Vec<Plot>, plots: Vec<Plot>) {
    for plot in plots {
        match all.iter_mut().find(|known| known.title == plot.title) {
            Some(known) => known.series.extend(plot.series),
            None => all.push(plot),
        }
    }
}

fn summary(rig: &dyn Rig, plan: &RowPlan, outcomes: &mut [Outcome]) -> Row {
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for outcome in &*outcomes {
        for (name, value) in &outcome.repetition.metrics {
            values.entry(name.clone()).or_default().push(*value);
        }
    }
    Row {
        name: plan.name.clone(),
        clients: plan.clients,
        memory_bytes: rig
            .conditions(&RigSettings {
                memory_budget_bytes: plan.memory,
            })
            .memory_budget_bytes,
        data_bytes: outcomes
            .iter()
            .map(|outcome| outcome.table_bytes)
            .max()
            .unwrap_or(0),
        metrics: values
            .into_iter()
            .map(|(name, values)| (name, spread(&values)))
            .collect(),
        repetitions: outcomes
            .iter_mut()
            .map(|outcome| std::mem::take(&mut outcome.repetition))
            .collect(),
    }
}

/// The rates of a row, for progress messages.
fn line(plan: &Plan, row: &Row) -> String {
    let numbers = plan.columns.iter().filter_map(|(key, label, unit)| {
        let of = row.metrics.get(*key).filter(|_| key.ends_with("rate"))?;
        Some(format!("{label} {}", unit.show_spread(of)))
    });
    let numbers = numbers.collect::<Vec<_>>();
    match numbers.is_empty() {
        true => row.name.clone(),
        false => format!("{}: {}", row.name, numbers.join(", ")),
    }
}

fn paper(plan: &Plan, citation: &str) -> Paper {
    let text = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect();
    Paper {
        citation: citation.to_owned(),
        label: plan.paper.label.to_owned(),
        what: plan.paper.what.to_owned(),
        columns: text(plan.paper.columns),
        rows: plan.paper.rows.iter().map(|row| text(row)).collect(),
        caveats: text(plan.paper.caveats),
    }
}

fn conditions(
    rig: &dyn Rig,
    settings: &RigSettings,
    options: &ExperimentOptions,
    plan: &Plan,
    outcomes: &[Outcome],
) -> Conditions {
    let source = rig.conditions(settings);
    let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum::<u64>();
    let stored: Vec<f64> = outcomes
        .iter()
        .filter_map(|outcome| outcome.stored_bytes_per_entry)
        .collect();
    let data_bytes = outcomes
        .iter()
        .map(|outcome| outcome.table_bytes)
        .max()
        .unwrap_or(0);
    Conditions {
        durability: durability(options, plan),
        entry_bytes: sum(|one| one.entry_bytes) as f64 / sum(|one| one.entries).max(1) as f64,
        stored_bytes_per_entry: spread(&stored).mean,
        codec: outcomes
            .first()
            .map_or_else(String::new, |outcome| outcome.codec.clone()),
        data_bytes,
        data_to_memory: data_bytes as f64 / source.memory_budget_bytes.max(1) as f64,
        batch_bytes: plan.writers.bytes().0 as u64,
        buffer_bytes: plan.writers.bytes().1 as u64,
        timed: plan.timed.to_owned(),
        state: plan.state.clone(),
        scale: options.scale,
        repetitions: options.repetitions,
        lab_version: env!("CARGO_PKG_VERSION").to_owned(),
        host: Host::here(),
        source,
    }
}

/// The durability of the writes, or that of each row where rows differ in it.
fn durability(options: &ExperimentOptions, plan: &Plan) -> String {
    if plan.writers == Writers::None {
        return "nothing is written".to_owned();
    }
    let mut levels: Vec<String> = Vec::new();
    for phase in plan.rows.iter().flat_map(|row| &row.phases) {
        let level = match phase {
            Phase::Graph(_, Some(own)) => own.to_string(),
            _ => options.durability.to_string(),
        };
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    levels.join(", ")
}

fn create_directory(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).map_err(|error| {
        Error::new(ErrorKind::Io, "the directory for records cannot be made")
            .with("directory", directory.display())
            .with_source(error)
    })
}

fn write_record(record: &Record, file: &Path) -> Result<()> {
    let json = serde_json::to_vec_pretty(record).map_err(|error| {
        Error::new(ErrorKind::Internal, "the record cannot be written as JSON").with_source(error)
    })?;
    std::fs::write(file, json).map_err(|error| {
        Error::new(ErrorKind::Io, "the record cannot be written")
            .with("file", file.display())
            .with_source(error)
    })
}
