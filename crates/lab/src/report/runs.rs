//! Runs of the continuous test: a table of all, and charts of their rates.

use ostrakon_cell::Result;

use super::chart::Series;
use super::plots::{line_chart, rates_of};
use super::section::table;
use super::text::{escape, moment};
use crate::continuous::RunRecord;
use crate::experiments::{Unit, short};
use crate::measure::{RateSample, is_steady};

/// The section, or nothing if there is no run.
pub(super) fn section(runs: &[RunRecord]) -> Result<String> {
    let Some(last) = runs.last() else {
        return Ok(String::new());
    };
    let heads = ["Run", "Table", "Ended", "Time", "Rate", "Found"];
    let rows = runs.iter().map(|run| {
        [
            &run.continuous,
            &run.table,
            &moment(run.ended_ms),
            &Unit::Seconds.show(run.number("seconds")),
            &rate(run),
            &found(run),
        ]
        .map(|cell| escape(cell))
        .to_vec()
    });
    let lost = runs.iter().any(|run| run.faults() > 0.0);
    let headlines: String = headlines(runs)
        .iter()
        .map(|line| format!("<li>{}</li>", escape(line)))
        .collect();
    Ok(format!(
        "<section id=\"continuous\"><h2>The continuous test on this machine</h2>\
         <p>Ingest writes linked lists: each entry names the row of one that was acknowledged before it. A link to a row \
         that is not there is lost data. Walkers follow links, verify checks all of them, and agitate kills the writer \
         with <code>kill -9</code> again and again. Lists are joined by writing their first entries again, so fewer \
         entries are stored than were written.</p>\
         <div class=\"verdict{}\"><ul>{headlines}</ul></div>{}{}\
         <div class=\"charts\">{}</div>\
         <details open><summary>Conditions</summary><dl><dt>Memory budget</dt><dd>{}</dd>\
         <dt>Storage</dt><dd>{}</dd><dt>Reached</dt><dd>{}</dd></dl></details></section>\n",
        if lost { " lost" } else { "" },
        table("ours", heads.iter().map(|head| (*head).to_owned()), rows),
        walker_lines(runs),
        charts(runs)?,
        Unit::Bytes.show(last.source.memory_budget_bytes as f64),
        escape(&last.source.storage),
        escape(&last.source.reached),
    ))
}

/// What the runs say, the most important first.
pub(super) fn headlines(runs: &[RunRecord]) -> Vec<String> {
    let mut lines = Vec::new();
    let faulty: Vec<&RunRecord> = runs.iter().filter(|run| run.faults() > 0.0).collect();
    for run in &faulty {
        lines.push(format!(
            "DATA IS LOST OR DAMAGED: {} of table {} found {}.",
            run.continuous,
            run.table,
            found(run)
        ));
    }
    let of = |program: &str| {
        runs.iter()
            .filter(|run| run.continuous == program)
            .collect::<Vec<_>>()
    };
    let agitated = of("agitate");
    if faulty.is_empty() && !agitated.is_empty() {
        let sum = |name: &str| agitated.iter().map(|run| run.number(name)).sum::<f64>();
        lines.push(format!(
            "Nothing lost: {} kills, {} entries, undefined 0.",
            Unit::Exact.show(sum("kills")),
            Unit::Exact.show(sum("entries"))
        ));
    }
    if let Some(run) = of("ingest").last() {
        lines.push(format!(
            "Ingest: {} entries/s for {} at durability {}; {} entries/s with flush and compaction.",
            short(run.number("entries_per_second")),
            Unit::Seconds.show(run.number("seconds")),
            run.figures["durability"].as_str().unwrap_or("unknown"),
            short(run.number("settled_entries_per_second")),
        ));
    }
    if let Some(run) = of("walk").last() {
        lines.push(format!(
            "Point reads: {} a second, half of them within {}, 99 % within {}.",
            short(run.number("queries_per_second")),
            Unit::Micros.show(run.number("p50_us")),
            Unit::Micros.show(run.number("p99_us"))
        ));
    }
    if let Some(run) = of("verify").last().filter(|_| faulty.is_empty()) {
        lines.push(format!(
            "Verified: {} entries, undefined 0, corrupt 0.",
            Unit::Exact.show(run.number("entries"))
        ));
    }
    lines
}

fn rate(run: &RunRecord) -> String {
    let (value, unit) = match run.continuous.as_str() {
        "walk" | "batch-walk" => (run.number("queries_per_second"), "rows/s"),
        _ => (run.number("entries_per_second"), "entries/s"),
    };
    if value > 0.0 {
        format!("{} {unit}", short(value))
    } else {
        "–".to_owned()
    }
}

fn found(run: &RunRecord) -> String {
    let parts: &[(&str, &str)] = match run.continuous.as_str() {
        "ingest" => &[("entries", "entries written")],
        "walk" | "batch-walk" => &[
            ("queries", "rows looked up"),
            ("missing", "missing"),
            ("corrupt", "corrupt"),
        ],
        "verify" => &[
            ("entries", "entries"),
            ("undefined", "undefined"),
            ("corrupt", "corrupt"),
        ],
        "agitate" => &[
            ("kills", "kills"),
            ("entries", "entries"),
            ("lost", "lost"),
            ("undefined", "undefined"),
            ("corrupt", "corrupt"),
        ],
        _ => &[("entries", "entries"), ("corrupt", "corrupt")],
    };
    let parts = parts
        .iter()
        .map(|(name, what)| format!("{} {what}", Unit::Exact.show(run.number(name))));
    parts.collect::<Vec<_>>().join(", ")
}

/// What walkers counted, under the codes that the suite's walkers write to their logs.
fn walker_lines(runs: &[RunRecord]) -> String {
    let mut rows = Vec::new();
    for run in runs {
        let number = |name: &str| run.number(name);
        let lines = match run.continuous.as_str() {
            "walk" => [
                (
                    "SRQ",
                    "rows found by a link",
                    number("queries") - number("missing"),
                    "latency",
                ),
                (
                    "FSR",
                    "searches for a start row",
                    number("starts"),
                    "start_latency",
                ),
                ("MIS", "rows missing", number("missing"), ""),
            ],
            "batch-walk" => [
                ("BRQ", "batches of rows", number("batches"), "latency"),
                ("FSB", "searches for start rows", number("starts"), ""),
                ("DIF", "rows requested and not found", number("missing"), ""),
            ],
            _ => continue,
        };
        for (code, what, count, latency) in lines {
            let time = |name: &str| match run.figures[latency][name].as_f64() {
                Some(time) if count > 0.0 => Unit::Micros.show(time),
                _ => "–".to_owned(),
            };
            let cells = [
                format!("{} of {}", run.continuous, run.table),
                code.to_owned(),
                what.to_owned(),
                Unit::Exact.show(count),
                time("p50_us"),
                time("p99_us"),
            ];
            rows.push(cells.iter().map(|cell| escape(cell)).collect::<Vec<_>>());
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let heads = [
        "Walker",
        "Suite's code",
        "What it counts",
        "Count",
        "Median time",
        "99 % below",
    ];
    table(
        "ours",
        heads.iter().map(|head| (*head).to_owned()),
        rows.into_iter(),
    )
}

fn charts(runs: &[RunRecord]) -> Result<String> {
    let mut all = String::new();
    for (programs, title, unit) in [
        (&["ingest"][..], "Ingest against time", "entries a second"),
        (&["walk"][..], "Point reads against time", "rows a second"),
        (
            &["batch-walk"][..],
            "Batch reads against time",
            "rows a second",
        ),
    ] {
        let of = runs
            .iter()
            .filter(|run| programs.contains(&run.continuous.as_str()));
        let series = of
            .filter_map(|run| {
                let samples: Vec<RateSample> =
                    serde_json::from_value(run.figures["samples"].clone()).ok()?;
                is_steady(&samples).then(|| (run, rates_of(&samples)))
            })
            .enumerate()
            .map(|(group, (run, points))| Series {
                name: format!("{} of {}", run.continuous, run.table),
                points,
                group,
            })
            .collect();
        all += &line_chart(title, ("seconds", unit), series)?;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(program: &str, figures: serde_json::Value) -> RunRecord {
        RunRecord {
            continuous: program.to_owned(),
            table: "ci".to_owned(),
            figures,
            ..RunRecord::default()
        }
    }

    #[test]
    fn kills_that_lost_nothing_are_said_with_their_numbers() {
        let samples: Vec<_> = (0..=12)
            .map(|at| json!({"seconds": f64::from(at) / 4.0, "done": at * 1000}))
            .collect();
        let runs = [
            run(
                "ingest",
                json!({"entries": 12_000, "seconds": 3.0, "entries_per_second": 4000.0, "samples": samples}),
            ),
            run(
                "agitate",
                json!({"kills": 3, "entries": 1_234_567, "undefined": 0, "lost": 0}),
            ),
        ];
        let page = section(&runs).unwrap();
        assert!(
            page.contains("Nothing lost: 3 kills, 1,234,567 entries, undefined 0."),
            "{page}"
        );
        assert!(page.contains("Ingest against time") && !page.contains("verdict lost"));
        assert_eq!(section(&[]).unwrap(), "");
    }

    #[test]
    fn walkers_have_lines_under_the_codes_of_the_suite() {
        let times = json!({"p50_us": 12.0, "p99_us": 80.0});
        let runs = [
            run(
                "walk",
                json!({"queries": 1000, "missing": 1, "starts": 40, "latency": times}),
            ),
            run(
                "batch-walk",
                json!({"queries": 5000, "missing": 0, "batches": 7, "starts": 2, "latency": times}),
            ),
        ];
        let page = section(&runs).unwrap();
        let text = page.replace("</td>", " ").replace("</tr>", "\n");
        let text: String = text
            .split('<')
            .map(|part| part.split_once('>').map_or(part, |(_, after)| after))
            .collect();
        let line = |code: &str| {
            let found = text.lines().find(|line| line.contains(code));
            found.unwrap_or_default().to_owned()
        };
        assert!(line("SRQ").contains("999 "), "{}", line("SRQ"));
        assert!(line("FSR").contains("40 – –"), "{}", line("FSR"));
        assert!(line("MIS").contains("1 – –"), "{}", line("MIS"));
        assert!(line("BRQ").contains("7 "), "{}", line("BRQ"));
        assert!(line("DIF").contains("0 – –"), "{}", line("DIF"));
        // Other programs have none.
        let runs = [run("ingest", json!({"entries": 1}))];
        assert!(!section(&runs).unwrap().contains("Suite's code"));
    }

    #[test]
    fn a_loss_comes_first_and_nothing_is_called_whole() {
        let runs = [
            run("agitate", json!({"kills": 3, "entries": 10, "lost": 2})),
            run("verify", json!({"entries": 10, "undefined": 0})),
        ];
        let lines = headlines(&runs);
        assert!(
            lines[0].starts_with("DATA IS LOST OR DAMAGED: agitate"),
            "{lines:?}"
        );
        assert!(
            !lines.iter().any(|line| line.contains("undefined 0.")),
            "{lines:?}"
        );
        assert!(section(&runs).unwrap().contains("verdict lost"));
    }
}
