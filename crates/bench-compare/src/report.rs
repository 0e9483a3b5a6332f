//! Turns numbers into a table: medians, ratios of medians, promises, and the conditions of the run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ostrakon_cell::BatchWriterConfig;
use ostrakon_lab::measure::Host;
use ostrakon_store::StoreOptions;
use serde::Serialize;

use crate::figures::{Description, Unit, WORKS, Work};
use crate::options::Options;
use crate::plan::Figures;
use crate::rivals::{BATCH_ENTRIES, BATCH_RECORDS, EngineKind};
use crate::workload::{KEY_BYTES, VALUE_BYTES};
use crate::works::{READS, SPLITS, median, store_options, touched_bytes};

/// A whole run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    conditions: Vec<String>,
    engines: Vec<EngineKind>,
    works: Vec<Line>,
}

/// One workload.
#[derive(Debug, Serialize)]
struct Line {
    work: Work,
    title: &'static str,
    /// By engine.
    figures: BTreeMap<&'static str, Spread>,
    /// How many times better Ostrakon is than each rival: ratios of medians.
    times: BTreeMap<&'static str, f64>,
    promises: Vec<Promise>,
    #[serde(skip)]
    unit: Unit,
}

/// Repetitions of one workload on one engine, in entries per second, milliseconds, bytes or fractions.
#[derive(Debug, Serialize)]
struct Spread {
    median: f64,
    min: f64,
    max: f64,
    repetitions: usize,
}

/// A promise, and whether it was kept.
#[derive(Debug, Serialize, PartialEq)]
struct Promise {
    text: String,
    kept: bool,
}

impl Report {
    /// Evaluates a run.
    pub(crate) fn new(options: &Options, figures: &Figures) -> Self {
        let engines = options.engines();
        let works = WORKS.iter().filter_map(|work| line(work, figures));
        Self {
            conditions: conditions(options, &engines),
            works: works.collect(),
            engines,
        }
    }

    /// As a page of Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut page = "# Ostrakon and its rivals\n\n".to_owned();
        for condition in &self.conditions {
            let _ = writeln!(page, "* {condition}");
        }
        let _ = write!(page, "\n| workload |");
        for engine in &self.engines {
            let _ = write!(page, " {} |", engine.title());
        }
        let _ = write!(page, " promised |\n|---|");
        for _ in &self.engines {
            let _ = write!(page, "---|");
        }
        let _ = writeln!(page, "---|");
        for line in &self.works {
            let _ = write!(page, "| {} |", line.title);
            for engine in &self.engines {
                let _ = write!(page, " {} |", line.cell(*engine));
            }
            let promises: Vec<String> = line.promises.iter().map(Promise::show).collect();
            let _ = writeln!(page, " {} |", promises.join("; "));
        }
        page.push_str(
            "\nA cell is the median of the repetitions [lowest to highest]; in brackets how many \
             times better Ostrakon is.\n",
        );
        page
    }
}

impl Line {
    fn cell(&self, engine: EngineKind) -> String {
        let Some(spread) = self.figures.get(engine.title()) else {
            return String::new();
        };
        let mut cell = self.unit.show(spread.median);
        if spread.repetitions > 1 {
            let (min, max) = (self.unit.show(spread.min), self.unit.show(spread.max));
            let _ = write!(cell, " [{min} to {max}]");
        }
        if let Some(times) = self.times.get(engine.title()) {
            let _ = write!(cell, " (**{times:.1} ×**)");
        }
        cell
    }
}

impl Promise {
    fn show(&self) -> String {
        let verdict = if self.kept { "kept" } else { "**missed**" };
        format!("{}: {verdict}", self.text)
    }
}

fn line(description: &Description, figures: &Figures) -> Option<Line> {
    let Description {
        work, title, unit, ..
    } = *description;
    let values = |kind: EngineKind| figures.get(&(work, kind)).filter(|all| !all.is_empty());
    let ours = median(values(EngineKind::Ostrakon)?);
    let mut line = Line {
        work,
        title,
        figures: BTreeMap::new(),
        times: BTreeMap::new(),
        promises: Vec::new(),
        unit,
    };
    for kind in EngineKind::compiled() {
        let Some(values) = values(kind) else {
            continue;
        };
        line.figures.insert(kind.title(), spread(values));
        if kind != EngineKind::Ostrakon {
            line.times
                .insert(kind.title(), times_better(unit, ours, median(values)));
        }
    }
    line.promises = promises(description, ours, &line.times, figures);
    Some(line)
}

fn promises(
    description: &Description,
    ours: f64,
    times: &BTreeMap<&'static str, f64>,
    figures: &Figures,
) -> Vec<Promise> {
    let Description { unit, target, .. } = *description;
    let mut promises = Vec::new();
    if let Some(bound) = target.bound {
        let (sign, kept) = if unit.higher_is_better() {
            ("≥", ours >= bound)
        } else {
            ("≤", ours <= bound)
        };
        promises.push(Promise {
            text: format!("{sign} {}", unit.show(bound)),
            kept,
        });
    }
    for (kind, factor) in target.factors {
        if let Some(times) = times.get(kind.title()) {
            promises.push(Promise {
                text: format!("≥ {factor} × {}", kind.title()),
                kept: times >= factor,
            });
        }
    }
    if let Some((whole, share)) = target.share_of
        && let Some(values) = figures.get(&(whole, EngineKind::Ostrakon))
    {
        let got = ours / median(values);
        promises.push(Promise {
            text: format!("≥ {share} of pre-split, {got:.2}"),
            kept: got >= share,
        });
    }
    promises
}

fn times_better(unit: Unit, ours: f64, theirs: f64) -> f64 {
    if unit.higher_is_better() {
        ours / theirs
    } else {
        theirs / ours
    }
}

fn spread(values: &[f64]) -> Spread {
    Spread {
        median: median(values),
        min: values.iter().copied().fold(f64::INFINITY, f64::min),
        max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        repetitions: values.len(),
    }
}

fn ycsb_conditions(options: &Options) -> [String; 3] {
    [
        format!(
            "Data: {} records of 10 fields of 100 bytes, with YCSB's keys and values, the same on all engines. \
             Ostrakon keeps each field as an entry of its own, with timestamp and label; the others \
             one value for each record. The data fits into the caches.",
            options.entries(),
        ),
        format!(
            "Load: {} clients that batch; durability sync: {BATCH_RECORDS} records for one sync on rivals, batches of \
             {} KiB on Ostrakon.",
            options.writers.max(1),
            BatchWriterConfig::default().batch_bytes >> 10,
        ),
        format!(
            "Workload C: {READS} zipfian reads of all fields by {} clients, after as many that fill the caches; every \
             field is copied, and every record must be found. The client draws keys and measures each read inside \
             the timer of the rate, on all engines alike.",
            options.writers.max(1),
        ),
    ]
}

fn conditions(options: &Options, engines: &[EngineKind]) -> Vec<String> {
    let host = Host::here();
    let store = if options.ycsb {
        store_options()
    } else {
        StoreOptions::default()
    };
    let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
    let raw = options.entries() * (KEY_BYTES + VALUE_BYTES);
    let place = options.dir.as_ref().map_or_else(
        || "beside the program".to_owned(),
        |dir| dir.display().to_string(),
    );
    let mut conditions = vec![
        format!(
            "Machine: {} processors ({}), {} of memory, Linux {}. In process, no socket. Files: \
             {place}.",
            host.processors,
            host.processor_model,
            mib(host.memory_bytes),
            host.kernel
        ),
        format!(
            "Data: {} entries of {KEY_BYTES} + {} to {VALUE_BYTES} bytes (no checksum), at most {} \
             raw; rows at random, the same on all engines. It fits into the machine's memory: disks \
             are paid for by syncs, not by reads. Rates of a short run are those of a burst.",
            options.entries(),
            VALUE_BYTES - 16,
            mib(raw)
        ),
        format!(
            "Writing: {} threads; durability sync: {BATCH_ENTRIES} entries for one sync on rivals, \
             batches of {} KiB (about as many entries) on Ostrakon, which may sync several at once. \
             `until flushed and compacted` has both inside the timer.",
            options.writers.max(1),
            BatchWriterConfig::default().batch_bytes >> 10,
        ),
        format!(
            "Memory: Ostrakon's budget is {}, of which {} is block cache; without writers, the cache may use \
             more of the budget. Rivals have a block cache of that size, their own write buffers, and the \
             system's page cache, which Ostrakon uses for what its cache lacks. Programs in Rust, fjall among them, have jemalloc \
             with Ostrakon's settings (Linux on x86-64); RocksDB has the system's allocator.",
            mib(store.memory_budget_bytes),
            mib(store.cache_bytes())
        ),
        format!(
            "Reading: after one pass that fills the cache; the median of three passes. Scans read \
             {} tablets of one file each. A point read is of a row on Ostrakon, of a whole key on \
             rivals. Rivals' keys are row, family and qualifier joined by zero bytes, without label \
             and timestamp.",
            SPLITS + 1
        ),
        format!(
            "Repetitions: {}, engines in turn, each work in a process of its own after the disks \
             were synced and {} of memory were touched and freed, so that no engine waits for a \
             host that took it back.",
            options.repetitions(),
            mib(touched_bytes(options.entries(), options.ycsb))
        ),
    ];
    if options.ycsb {
        // Data, writing and reading of YCSB instead of the others.
        conditions.splice(1..3, ycsb_conditions(options));
        conditions.retain(|condition| !condition.starts_with("Reading: "));
    }
    for engine in engines {
        conditions.push(format!("{}: {}.", engine.title(), engine.configuration()));
    }
    let is_asked_for = !options.full && options.engines.is_empty();
    if is_asked_for && !engines.contains(&EngineKind::Rocksdb) {
        conditions.push(
            "RocksDB is not in this build. `make bench-compare` puts it in; it needs a C++ compiler \
             and libclang."
                .to_owned(),
        );
    }
    if is_asked_for && options.ycsb && !engines.contains(&EngineKind::Sqlite) {
        conditions.push("SQLite is not in this build. `make bench-compare` puts it in.".to_owned());
    }
    conditions
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn figures() -> Figures {
        use EngineKind::{Fjall, Ostrakon};
        Figures::from([
            ((Work::IngestSettled, Ostrakon), vec![3e6, 1e6, 2.4e6]),
            ((Work::IngestSettled, Fjall), vec![0.2e6, 0.3e6, 0.9e6]),
            ((Work::IngestUnsplitSettled, Ostrakon), vec![1.2e6]),
            ((Work::BytesPerEntry, Ostrakon), vec![50.0]),
            ((Work::BytesPerEntry, Fjall), vec![75.0]),
        ])
    }

    #[test]
    fn ratios_are_of_medians_and_turn_where_less_is_better() {
        let options = Options::parse_from(["bench-compare"]);
        let report = Report::new(&options, &figures());
        let titles: Vec<Work> = report.works.iter().map(|line| line.work).collect();
        assert_eq!(
            titles,
            [
                Work::IngestSettled,
                Work::IngestUnsplitSettled,
                Work::BytesPerEntry
            ]
        );
        let line = &report.works[0];
        assert!((line.times["fjall"] - 8.0).abs() < 1e-9);
        let kept: Vec<bool> = line.promises.iter().map(|promise| promise.kept).collect();
        assert_eq!(kept, [true, true], "{:?}", line.promises);
        let unsplit = &report.works[1].promises[0];
        assert_eq!(unsplit.text, "≥ 0.8 of pre-split, 0.50");
        assert!(!unsplit.kept);
        assert!((report.works[2].times["fjall"] - 1.5).abs() < 1e-9);
        assert!(report.works[2].promises[0].kept);
    }

    #[test]
    fn the_table_has_as_many_columns_as_its_head() {
        let options = Options::parse_from(["bench-compare", "--engines", "fjall"]);
        let page = Report::new(&options, &figures()).markdown();
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(rows.len(), 5);
        assert!(
            rows.iter().all(|row| row.matches('|').count() == 5),
            "{page}"
        );
        assert!(rows[2].contains("2.40 M/s [1.00 M/s to 3.00 M/s]"));
        assert!(rows[2].contains("(**8.0 ×**)"));
        assert!(rows[3].contains("**missed**"));
    }
}
