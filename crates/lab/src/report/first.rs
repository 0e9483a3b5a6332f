//! The first screen: what this is, where it was measured, what came out, and what it does not say.

use super::records::Records;
use super::runs;
use super::text::{escape, moment};
use crate::experiments::{RigConditions, Unit, verdicts};
use crate::measure::{Host, is_steady};

/// How many results the first screen has.
const RESULTS: usize = 3;

pub(super) fn first_screen(records: &Records) -> String {
    let list = |items: Vec<String>| -> String {
        items
            .iter()
            .map(|item| format!("<li>{}</li>", escape(item)))
            .collect()
    };
    format!(
        "<header><h1>Ostrakon, measured on this machine</h1>\
         <p>Ostrakon is a table store in one directory, with the data model of Apache Accumulo. This page has its rates \
         and what its tests found, next to what published papers measured on clusters that ran Accumulo.</p>\
         <p class=\"meta\">{}</p>\
         <div class=\"first\"><div><h3>Results</h3><ul>{}</ul></div>\
         <div><h3>Before you quote a number</h3><ul>{}</ul></div></div></header>",
        escape(&place(records)),
        list(results(records)),
        list(limits(records)),
    )
}

/// The machine and the times.
fn place(records: &Records) -> String {
    let experiments = records
        .experiments
        .iter()
        .map(|one| (one.started_ms, &one.conditions.host, &one.conditions.source));
    let runs = records
        .runs
        .iter()
        .map(|one| (one.ended_ms, &one.host, &one.source));
    let all: Vec<(u64, &Host, &RigConditions)> = experiments.chain(runs).collect();
    let Some((_, host, source)) = all.iter().max_by_key(|one| one.0) else {
        return String::new();
    };
    let (first, last) = (
        all.iter().map(|one| one.0).min().unwrap_or(0),
        all.iter().map(|one| one.0).max().unwrap_or(0),
    );
    let when = match (moment(first), moment(last)) {
        (first, last) if first == last => first,
        (first, last) => format!("{first} to {last}"),
    };
    let model = match host.processor_model.as_str() {
        "" => String::new(),
        model => format!(" ({model})"),
    };
    format!(
        "Measured {when} with {} {} on {} processors{model}, {} of memory, Linux {}, {}.",
        source.source,
        source.version,
        host.processors,
        Unit::Bytes.show(host.memory_bytes as f64),
        host.kernel,
        source.storage
    )
}

/// What the continuous test found, then the first sentence of experiments.
fn results(records: &Records) -> Vec<String> {
    let mut results = runs::headlines(&records.runs);
    results.truncate(RESULTS - 1);
    for record in &records.experiments {
        if results.len() == RESULTS {
            break;
        }
        if let Some(verdict) = verdicts(record, &records.experiments).into_iter().next() {
            results.push(format!("{}: {verdict}", record.title));
        }
    }
    results
}

fn limits(records: &Records) -> Vec<String> {
    let mut limits = vec![
        "One machine, and the store runs inside the measuring process. The papers had up to 1000 machines and a \
         network: compare how rates change, not how large they are."
            .to_owned(),
    ];
    let shares = records.experiments.iter().flat_map(|one| &one.rows);
    let share = shares
        .filter(|row| row.memory_bytes > 0)
        .map(|row| row.data_bytes as f64 / row.memory_bytes as f64)
        .fold(0.0, f64::max);
    if share > 0.0 {
        limits.push(format!(
            "The largest table of an experiment is {}. Reads of a table that fits come from \
             caches, and ingest that fits is a burst.",
            super::section::of_memory(share)
        ));
    }
    let repetitions = || {
        let rows = records.experiments.iter().flat_map(|one| &one.rows);
        rows.flat_map(|row| &row.repetitions)
            .filter(|one| !one.rates.is_empty())
    };
    let short = repetitions()
        .filter(|one| !one.rates.iter().any(|rates| is_steady(&rates.samples)))
        .count();
    limits.push(match (short, repetitions().count()) {
        (0, _) => "Every measurement lasted seconds; the papers' lasted hours.".to_owned(),
        (short, all) => format!(
            "{short} of {all} measurements lasted less than 2 s. They have no maximum, no average of samples and no chart \
             against time; the papers' lasted hours."
        ),
    });
    limits
}
