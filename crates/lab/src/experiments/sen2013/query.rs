//! Tables III to VI.

use std::time::Duration;

use super::super::plan::{PaperTable, Phase, Plan, RowPlan, Sizes, Writers};
use super::super::unit::Unit;
use super::paper;
use super::tables::{Made, ingest, memory_below, splits_here};
use crate::continuous::{BatchWalkOptions, IngestOptions, Settle, WalkOptions};

pub(super) fn walk(walkers: usize, duration: Duration) -> WalkOptions {
    WalkOptions {
        duration: Some(duration),
        walkers,
        ..WalkOptions::default()
    }
}

fn batch_walk(walkers: usize, duration: Duration) -> BatchWalkOptions {
    BatchWalkOptions {
        duration: Some(duration),
        walkers,
        ..BatchWalkOptions::default()
    }
}

const COLUMNS: &[(&str, &str, Unit)] = &[
    ("query.count", "Rows looked up", Unit::Count),
    ("query.max", "Max query/s", Unit::PerSecond),
    ("query.rate", "Average query/s", Unit::PerSecond),
    (
        "query.reciprocal_ms",
        "1 / average (the paper's \"latency\")",
        Unit::Millis,
    ),
    ("query.p50_us", "Median query", Unit::Micros),
    ("query.p99_us", "99 % of queries", Unit::Micros),
    ("query.missing", "Missing rows", Unit::Count),
    ("table.tablets", "Tablets", Unit::Count),
];

const BATCH_COLUMNS: &[(&str, &str, Unit)] = &[
    ("query.count", "Rows looked up", Unit::Count),
    ("query.max", "Max query/s", Unit::PerSecond),
    ("query.rate", "Average query/s", Unit::PerSecond),
    (
        "query.reciprocal_ms",
        "1 / average (the paper's \"latency\")",
        Unit::Millis,
    ),
    ("query.p50_us", "Median batch", Unit::Micros),
    ("query.p99_us", "99 % of batches", Unit::Micros),
    ("query.missing", "Missing rows", Unit::Count),
    ("table.tablets", "Tablets", Unit::Count),
];

const TIMED: &str = "queries by the clock, pauses included where a row has them; neither ingest nor its \
     flush and compaction nor the warm-up";
const SETTLED: &str = "the table is flushed and compacted, without writers; a walk of the same length \
     warms the caches before the timer";
const UNSETTLED: &str = "the table is flushed as splitting left it, several files per tablet, without writers; a \
     walk of the same length warms the caches before the timer";

const ENTRIES: u64 = 2_000_000;

/// The duration of walkers at scale 1.
const SECONDS: f64 = 3.0;

fn load(made: Made, sizes: Sizes) -> Phase {
    Phase::Load(IngestOptions {
        settle: match made {
            Made::PreSplit => Settle::Compact,
            Made::Splitting(_) => Settle::Flush,
        },
        ..ingest(2, sizes.entries(ENTRIES))
    })
}

fn row(made: Made, sizes: Sizes, name: &str, clients: usize, phase: Phase) -> RowPlan {
    RowPlan {
        phases: vec![load(made, sizes), phase],
        ..made.row(name, clients)
    }
}

/// The row whose table the caches cannot hold, at scale 1 and above.
fn uncached(made: Made, sizes: Sizes, name: &str, phase: Phase) -> RowPlan {
    RowPlan {
        memory: Some(memory_below(sizes.entries(ENTRIES))),
        ..row(made, sizes, name, 0, phase)
    }
}

fn walkers(made: Made, sizes: Sizes) -> Vec<RowPlan> {
    let seconds = sizes.seconds(SECONDS);
    let mut rows: Vec<RowPlan> = [(1, "1 walker"), (2, "2 walkers"), (4, "4 walkers")]
        .into_iter()
        .map(|(count, name)| row(made, sizes, name, count, Phase::Walk(walk(count, seconds))))
        .collect();
    let pausing = WalkOptions {
        pause: Some(Duration::from_millis(10)),
        ..walk(2, seconds)
    };
    let pausing = Phase::Walk(pausing);
    rows.push(row(made, sizes, "2 walkers that pause 10 ms", 0, pausing));
    let phase = Phase::Walk(walk(2, seconds));
    rows.push(uncached(made, sizes, "2 walkers, little memory", phase));
    rows
}

fn batch_walkers(made: Made, sizes: Sizes) -> Vec<RowPlan> {
    let seconds = sizes.seconds(SECONDS);
    let mut rows: Vec<RowPlan> = [
        (1, "1 batch walker"),
        (2, "2 batch walkers"),
        (4, "4 batch walkers"),
    ]
    .into_iter()
    .map(|(count, name)| {
        let phase = Phase::BatchWalk(batch_walk(count, seconds));
        row(made, sizes, name, count, phase)
    })
    .collect();
    let phase = Phase::BatchWalk(batch_walk(2, seconds));
    rows.push(uncached(
        made,
        sizes,
        "2 batch walkers, little memory",
        phase,
    ));
    let single = Phase::Walk(walk(1, seconds));
    rows.push(row(made, sizes, "1 walker, row by row", 0, single));
    rows
}

fn table_here(made: Made, sizes: Sizes) -> String {
    let entries = sizes.entries_shown(ENTRIES);
    match made {
        Made::PreSplit => format!("One machine: a table of {entries} entries without checksums"),
        Made::Splitting(_) => format!(
            "One machine: a table of {entries} entries without checksums, made with {}",
            splits_here(sizes, ENTRIES)
        ),
    }
}

/// What the experiments on walkers have in common.
fn plan(made: Made, title: &'static str, paper: PaperTable) -> Plan {
    Plan {
        title,
        paper,
        scaling: String::new(),
        timed: TIMED,
        state: match made {
            Made::PreSplit => SETTLED.to_owned(),
            Made::Splitting(_) => UNSETTLED.to_owned(),
        },
        columns: COLUMNS,
        rows: Vec::new(),
        clients: "walkers",
        writers: Writers::Suite,
        plots: |_| Vec::new(),
    }
}

fn walk_plan(made: Made, sizes: Sizes, title: &'static str, paper: PaperTable) -> Plan {
    Plan {
        scaling: format!(
            "{}; 1, 2 and 4 walkers for {} without pause, 2 that pause as in the paper, and 2 where the store \
             has {} MiB of memory.",
            table_here(made, sizes),
            sizes.seconds_shown(SECONDS),
            memory_below(sizes.entries(ENTRIES)) >> 20
        ),
        rows: walkers(made, sizes),
        ..plan(made, title, paper)
    }
}

fn batch_walk_plan(made: Made, sizes: Sizes, title: &'static str, paper: PaperTable) -> Plan {
    Plan {
        scaling: format!(
            "{}; 1, 2 and 4 batch walkers for {} without pause, 10,000 rows a batch, 16 threads asked for; 2 where \
             the store has {} MiB of memory; and one walker that looks up row by row.",
            table_here(made, sizes),
            sizes.seconds_shown(SECONDS),
            memory_below(sizes.entries(ENTRIES)) >> 20
        ),
        columns: BATCH_COLUMNS,
        rows: batch_walkers(made, sizes),
        clients: "batch walkers",
        ..plan(made, title, paper)
    }
}

fn splitting(sizes: Sizes) -> Made {
    Made::Splitting(sizes.entries(ENTRIES))
}

/// Table III: walkers, pre-split.
pub(in super::super) fn table_3(sizes: Sizes) -> Plan {
    let title = "Walkers on a pre-split table";
    walk_plan(Made::PreSplit, sizes, title, paper::TABLE_3)
}

/// Table IV: batch walkers, pre-split.
pub(in super::super) fn table_4(sizes: Sizes) -> Plan {
    let title = "Batch walkers on a pre-split table";
    batch_walk_plan(Made::PreSplit, sizes, title, paper::TABLE_4)
}

/// Table V: walkers, not pre-split.
pub(in super::super) fn table_5(sizes: Sizes) -> Plan {
    let title = "Walkers on a table that split while it grew";
    walk_plan(splitting(sizes), sizes, title, paper::TABLE_5)
}

/// Table VI: batch walkers, not pre-split.
pub(in super::super) fn table_6(sizes: Sizes) -> Plan {
    let title = "Batch walkers on a table that split while it grew";
    batch_walk_plan(splitting(sizes), sizes, title, paper::TABLE_6)
}
