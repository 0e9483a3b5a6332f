//! One experiment on the page: what the paper did, its rows next to ours, charts, conditions.

use ostrakon_cell::Result;

use super::conditions::{conditions, others};
use super::page::paper_name;
use super::plots::plots;
use super::text::{escape, moment, spread};
use crate::experiments::{Column, Conditions, Record, Row, Unit, short, verdicts};

/// `all` are the records of the page; `before` is the record of this experiment in the baseline.
pub(super) fn section(record: &Record, all: &[Record], before: Option<&Record>) -> Result<String> {
    let paper = &record.paper;
    let caveats: String = paper
        .caveats
        .iter()
        .map(|caveat| format!("<li>{}</li>", escape(caveat)))
        .collect();
    Ok(format!(
        "<section id=\"{id}\"><h2>{paper_name}, {label}: {title}</h2>\
         <p class=\"meta\"><code>{id}</code> · run {when}, {seconds:.0} s in all{scale}</p>\
         {verdict}\
         <h3>The paper</h3><p>{what}</p>{theirs}\
         <h3>Here</h3><p>{scaling}</p><p class=\"banner\">{banner}</p>{ours}\
         <div class=\"caveats\"><h3>Before comparing</h3><ul>{caveats}</ul></div>\
         <div class=\"charts\">{plots}</div>\
         <details open><summary>Conditions</summary>{conditions}</details></section>\n",
        id = escape(&record.experiment),
        paper_name = escape(&paper_name(&record.experiment)),
        label = escape(&paper.label),
        title = escape(&record.title),
        when = moment(record.started_ms),
        seconds = record.seconds,
        scale = scale(&record.conditions),
        what = escape(&paper.what),
        verdict = verdict(record, all),
        theirs = paper_table(record),
        banner = escape(&banner(record)),
        scaling = escape(&record.scaling),
        ours = our_table(record, before),
        plots = plots(record)?,
        conditions = conditions(record),
    ))
}

/// The text of an experiment names the sizes it ran with; the page says when they are not the usual ones.
fn scale(conditions: &Conditions) -> String {
    if conditions.scale == 1.0 {
        return String::new();
    }
    format!(" · at scale {}", short(conditions.scale))
}

fn verdict(record: &Record, all: &[Record]) -> String {
    let sentences = verdicts(record, all);
    if sentences.is_empty() {
        return String::new();
    }
    let lost = sentences.iter().any(|one| one.starts_with("DATA IS LOST"));
    let items: String = sentences
        .iter()
        .map(|one| format!("<li>{}</li>", escape(one)))
        .collect();
    let class = if lost { " lost" } else { "" };
    format!("<div class=\"verdict{class}\"><ul>{items}</ul></div>")
}

/// How long rows were measured, and how large their tables were against the memory.
fn banner(record: &Record) -> String {
    let seconds = |row: &Row| -> Option<f64> {
        let of = |name: &str| row.metrics.get(name).map(|spread| spread.mean);
        ["ingest.seconds", "query.seconds", "verify.seconds"]
            .iter()
            .filter_map(|name| of(name))
            .reduce(f64::max)
    };
    let measured: Vec<f64> = record.rows.iter().filter_map(seconds).collect();
    let mut parts = Vec::new();
    if let (Some(least), Some(most)) = (
        measured.iter().copied().reduce(f64::min),
        measured.iter().copied().reduce(f64::max),
    ) {
        let (least, most) = (Unit::Seconds.show(least), Unit::Seconds.show(most));
        parts.push(match least == most {
            true => format!("Measured for {most} each."),
            false => format!("Measured for {least} to {most} each."),
        });
    }
    let largest = largest_share(record);
    if largest > 0.0 {
        let what = if largest < 1.0 {
            "it fits, so ingest is a burst and reads come from caches"
        } else {
            "reads of it come from the disk too"
        };
        parts.push(format!(
            "Largest table against the memory: {}; {what}.",
            share(largest)
        ));
    }
    let busy = others(record);
    if busy > 0.2 {
        parts.push(format!(
            "Other processes kept {} of {} processors busy meanwhile.",
            short((busy * 10.0).round() / 10.0),
            record.conditions.host.processors
        ));
    }
    parts.join(" ")
}

/// The largest table of a row as a multiple of the row's memory; 0 if there is no table.
pub(super) fn largest_share(record: &Record) -> f64 {
    let rows = record.rows.iter().filter(|row| row.memory_bytes > 0);
    let largest = rows
        .map(|row| row.data_bytes as f64 / row.memory_bytes as f64)
        .fold(0.0, f64::max);
    if largest > 0.0 {
        largest
    } else {
        record.conditions.data_to_memory
    }
}

/// A part of the memory: in percent below it, as a multiple above.
pub(super) fn share(of: f64) -> String {
    if of < 1.0 {
        format!("{} %", short(of * 100.0))
    } else {
        format!("{} times", short(of))
    }
}

/// The same in a sentence.
pub(super) fn of_memory(of: f64) -> String {
    if of < 1.0 {
        format!("{} of the memory budget", share(of))
    } else {
        format!("{} the memory budget", share(of))
    }
}

/// A table in a box that scrolls where the screen is too narrow.
pub(super) fn table(
    class: &str,
    heads: impl Iterator<Item = String>,
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    let heads: String = heads
        .map(|head| format!("<th scope=\"col\">{head}</th>"))
        .collect();
    let rows: String = rows
        .map(|cells| {
            let mut cells = cells.into_iter();
            let first = cells.next().unwrap_or_default();
            let rest: String = cells.map(|cell| format!("<td>{cell}</td>")).collect();
            format!("<tr><th scope=\"row\">{first}</th>{rest}</tr>")
        })
        .collect();
    format!(
        "<div class=\"scroll {class}\" tabindex=\"0\"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
}

fn paper_table(record: &Record) -> String {
    let rows = record.paper.rows.iter();
    table(
        "theirs",
        record.paper.columns.iter().map(|head| escape(head)),
        rows.map(|row| row.iter().map(|cell| escape(cell)).collect()),
    )
}

fn our_table(record: &Record, before: Option<&Record>) -> String {
    // Nothing of a short run has a maximum or an average of samples.
    let columns: Vec<&Column> = record
        .columns
        .iter()
        .filter(|column| {
            let has = |row: &Row| row.metrics.contains_key(&column.key);
            record.rows.iter().any(has)
        })
        .collect();
    let with_size = record
        .rows
        .iter()
        .any(|row| row.memory_bytes > 0 && row.data_bytes > 0);
    let mut heads = vec![String::new()];
    heads.extend(columns.iter().map(|column| escape(&column.label)));
    if with_size {
        heads.push("Table / memory".to_owned());
    }
    let rows = record.rows.iter().map(|row| {
        let mut cells = vec![escape(&row.name)];
        let old = before.and_then(|record| record.rows.iter().find(|one| one.name == row.name));
        cells.extend(columns.iter().map(|column| cell(row, old, column)));
        if with_size {
            let of = row.data_bytes as f64 / row.memory_bytes.max(1) as f64;
            cells.push(share(of));
        }
        cells
    });
    table("ours", heads.into_iter(), rows)
}

/// Mean and deviation; for a rate, its change against the baseline too.
fn cell(row: &Row, before: Option<&Row>, column: &Column) -> String {
    let Some(value) = row.metrics.get(&column.key) else {
        return "–".to_owned();
    };
    let is_rate = matches!(column.unit, Unit::PerSecond | Unit::PerMinute);
    let old = before
        .and_then(|row| row.metrics.get(&column.key))
        .filter(|old| is_rate && old.mean > 0.0);
    let change = old.map_or_else(String::new, |old| {
        format!(
            " <small title=\"the baseline has {}\">{:+.0} %</small>",
            column.unit.show(old.mean),
            (value.mean / old.mean - 1.0) * 100.0
        )
    });
    spread(value, column.unit) + &change
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Repetition;
    use crate::measure::{HostSample, spread as spread_of};

    fn record(rate: f64) -> Record {
        let row = Row {
            name: "1 client".to_owned(),
            memory_bytes: 1000,
            data_bytes: 2,
            metrics: [
                ("ingest.rate".to_owned(), spread_of(&[rate])),
                ("ingest.seconds".to_owned(), spread_of(&[0.15])),
            ]
            .into(),
            ..Row::default()
        };
        Record {
            experiment: "sen2013-table-1".to_owned(),
            columns: vec![
                Column {
                    key: "ingest.rate".to_owned(),
                    label: "Rate".to_owned(),
                    unit: Unit::PerSecond,
                },
                Column {
                    key: "ingest.max".to_owned(),
                    label: "Max ingest/s".to_owned(),
                    unit: Unit::PerSecond,
                },
            ],
            rows: vec![row],
            ..Record::default()
        }
    }

    #[test]
    fn a_short_run_in_memory_says_so_and_has_no_maximum() {
        let page = section(&record(100.0), &[], None).unwrap();
        assert!(
            page.contains(
                "Measured for 0.15 s each. Largest table against the memory: 0.2 %; it fits"
            ),
            "{page}"
        );
        assert!(!page.contains("Max ingest/s"), "{page}");
        assert!(page.contains("<details open>") && page.contains("nothing is written"));
        assert!(!page.contains("0.0 bytes"), "{page}");
    }

    #[test]
    fn a_busy_machine_is_named() {
        let mut record = record(100.0);
        record.conditions.host.processors = 2;
        let sample = HostSample {
            processors: 0.2,
            machine_processors: 1.9,
            ..HostSample::default()
        };
        record.rows[0].repetitions = vec![Repetition {
            host: vec![sample],
            ..Repetition::default()
        }];
        let page = section(&record, &[], None).unwrap();
        assert!(
            page.contains("Other processes kept 1.7 of 2 processors busy meanwhile."),
            "{page}"
        );
        assert!(page.contains("<h2>Sen 2013, "), "{page}");
    }

    #[test]
    fn rates_stand_beside_those_of_a_baseline() {
        let page = section(&record(120.0), &[], Some(&record(100.0))).unwrap();
        assert!(page.contains("+20 %</small>"), "{page}");
        assert!(
            !section(&record(120.0), &[], None)
                .unwrap()
                .contains("+20 %")
        );
    }
}
