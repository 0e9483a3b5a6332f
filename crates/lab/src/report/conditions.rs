//! The conditions of an experiment: what its numbers are worth nothing without.

use super::section::{largest_share, of_memory};
use super::text::escape;
use crate::experiments::{Record, Unit, short};

pub(super) fn conditions(record: &Record) -> String {
    let conditions = &record.conditions;
    let (source, host) = (&conditions.source, &conditions.host);
    let or_unknown = |text: &str| {
        if text.is_empty() {
            "not stated".to_owned()
        } else {
            escape(text)
        }
    };
    let stored = if conditions.stored_bytes_per_entry > 0.0 {
        format!("{:.1} bytes per entry", conditions.stored_bytes_per_entry)
    } else {
        "not known".to_owned()
    };
    let items = [
        (
            "Source",
            format!("{} {}", escape(&source.source), escape(&source.version)),
        ),
        ("Reached", or_unknown(&source.reached)),
        ("Storage", or_unknown(&source.storage)),
        ("Durability", escape(&conditions.durability)),
        (
            "Entry",
            match conditions.entry_bytes {
                0.0 => "nothing is written".to_owned(),
                bytes => format!("{bytes:.1} bytes of key and value"),
            },
        ),
        ("On disk at the end", stored),
        ("Block compression", or_unknown(&conditions.codec)),
        ("Memory budget", memory(record)),
        (
            "Largest table",
            match conditions.data_bytes {
                0 => "no table".to_owned(),
                bytes => format!(
                    "{}, {}",
                    Unit::Bytes.show(bytes as f64),
                    of_memory(largest_share(record))
                ),
            },
        ),
        (
            "Writers",
            match conditions.batch_bytes {
                0 => "none".to_owned(),
                bytes => format!(
                    "batches of {}, at most {} in flight each",
                    Unit::Bytes.show(bytes as f64),
                    Unit::Bytes.show(conditions.buffer_bytes as f64)
                ),
            },
        ),
        ("Inside the timer", escape(&conditions.timed)),
        ("State", escape(&conditions.state)),
        (
            "Machine",
            format!(
                "{} processors ({}, {}), {} of memory, Linux {}",
                host.processors,
                or_unknown(&host.processor_model),
                escape(&host.architecture),
                Unit::Bytes.show(host.memory_bytes as f64),
                or_unknown(&host.kernel)
            ),
        ),
        (
            "Busy with others meanwhile",
            format!(
                "{} processors on average, of {}",
                short(others(record)),
                host.processors
            ),
        ),
        (
            "Run",
            format!(
                "scale {}, {} repetitions of each row, data deleted and made anew for each; lab {}",
                short(conditions.scale),
                conditions.repetitions,
                escape(&conditions.lab_version)
            ),
        ),
    ];
    let items: String = items
        .iter()
        .map(|(name, value)| format!("<dt>{name}</dt><dd>{value}</dd>"))
        .collect();
    format!("<dl>{items}</dl>")
}

/// Processors that others kept busy meanwhile, on average: what a reader needs to believe the numbers.
pub(super) fn others(record: &Record) -> f64 {
    let repetitions = record.rows.iter().flat_map(|row| &row.repetitions);
    let busy: Vec<f64> = repetitions
        .flat_map(|repetition| &repetition.host)
        .map(|sample| (sample.machine_processors - sample.processors).max(0.0))
        .collect();
    crate::measure::spread(&busy).mean
}

/// The budget of all rows, or the range where rows differ.
fn memory(record: &Record) -> String {
    let budgets = || {
        let rows = record.rows.iter().map(|row| row.memory_bytes);
        rows.filter(|bytes| *bytes > 0)
    };
    let usual = record.conditions.source.memory_budget_bytes;
    let least = budgets().min().unwrap_or(usual);
    let most = budgets().max().unwrap_or(usual);
    let shown = |bytes: u64| Unit::Bytes.show(bytes as f64);
    if least == most {
        shown(most)
    } else {
        format!("{} to {}, by row", shown(least), shown(most))
    }
}
