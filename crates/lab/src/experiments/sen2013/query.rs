//! Tables III to VI.

use std::time::Duration;

use super::super::plan::{Phase, Plan, RowPlan, Sizes};
use super::super::unit::Unit;
use super::ingest::{SPLITS, THRESHOLD_HIGH, THRESHOLD_LOW, ingest};
use super::paper;
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
];

const TIMED: &str = "queries by the clock, pauses included where a row has them; neither ingest nor its \
     flush and compaction";
const SETTLED: &str = "steady state: the table is flushed and compacted, without writers";
const UNSETTLED: &str =
    "the table is flushed as splitting left it, several files per tablet; without writers";

const ENTRIES: u64 = 2_000_000;

/// Where the table lies and how it was made.
struct Kind {
    splits: usize,
    properties: &'static [(&'static str, &'static str)],
    settle: Settle,
}

const PRE_SPLIT: Kind = Kind {
    splits: SPLITS,
    properties: &[THRESHOLD_HIGH],
    settle: Settle::Compact,
};
const SPLITTING: Kind = Kind {
    splits: 0,
    properties: &[THRESHOLD_LOW],
    settle: Settle::Flush,
};

fn row(kind: &Kind, sizes: Sizes, name: &str, clients: usize, phase: Phase) -> RowPlan {
    let load = IngestOptions {
        settle: kind.settle,
        ..ingest(2, sizes.entries(ENTRIES))
    };
    RowPlan {
        name: name.to_owned(),
        clients,
        splits: kind.splits,
        properties: kind.properties,
        phases: vec![Phase::Load(load), phase],
    }
}

fn walkers(kind: &Kind, sizes: Sizes) -> Vec<RowPlan> {
    let seconds = sizes.seconds(SECONDS);
    let mut rows: Vec<RowPlan> = [(1, "1 walker"), (2, "2 walkers"), (4, "4 walkers")]
        .into_iter()
        .map(|(count, name)| row(kind, sizes, name, count, Phase::Walk(walk(count, seconds))))
        .collect();
    let pausing = WalkOptions {
        pause: Some(Duration::from_millis(10)),
        ..walk(2, seconds)
    };
    rows.push(row(
        kind,
        sizes,
        "2 walkers that pause 10 ms",
        0,
        Phase::Walk(pausing),
    ));
    rows
}

fn batch_walkers(kind: &Kind, sizes: Sizes) -> Vec<RowPlan> {
    let seconds = sizes.seconds(SECONDS);
    [
        (1, "1 batch walker"),
        (2, "2 batch walkers"),
        (4, "4 batch walkers"),
    ]
    .into_iter()
    .map(|(count, name)| {
        let phase = Phase::BatchWalk(batch_walk(count, seconds));
        row(kind, sizes, name, count, phase)
    })
    .collect()
}

/// The duration of walkers at scale 1.
const SECONDS: f64 = 3.0;

fn walkers_here(sizes: Sizes) -> String {
    format!(
        "One machine: a table of {} entries without checksums; 1, 2 and 4 walkers for {} without pause, and 2 that \
         pause as in the paper.",
        sizes.entries_shown(ENTRIES),
        sizes.seconds_shown(SECONDS)
    )
}

fn batch_walkers_here(sizes: Sizes) -> String {
    format!(
        "One machine: a table of {} entries without checksums; 1, 2 and 4 batch walkers for {} without pause, \
         10,000 rows a batch, 16 threads asked for.",
        sizes.entries_shown(ENTRIES),
        sizes.seconds_shown(SECONDS)
    )
}

/// Table III: walkers, pre-split.
pub(in super::super) fn table_3(sizes: Sizes) -> Plan {
    Plan {
        title: "Walkers on a pre-split table",
        paper: paper::TABLE_3,
        scaling: walkers_here(sizes),
        timed: TIMED,
        state: SETTLED.to_owned(),
        columns: COLUMNS,
        rows: walkers(&PRE_SPLIT, sizes),
        plots: |_| Vec::new(),
    }
}

/// Table IV: batch walkers, pre-split.
pub(in super::super) fn table_4(sizes: Sizes) -> Plan {
    Plan {
        title: "Batch walkers on a pre-split table",
        paper: paper::TABLE_4,
        scaling: batch_walkers_here(sizes),
        timed: TIMED,
        state: SETTLED.to_owned(),
        columns: BATCH_COLUMNS,
        rows: batch_walkers(&PRE_SPLIT, sizes),
        plots: |_| Vec::new(),
    }
}

/// Table V: walkers, not pre-split.
pub(in super::super) fn table_5(sizes: Sizes) -> Plan {
    Plan {
        title: "Walkers on a table that split while it grew",
        paper: paper::TABLE_5,
        scaling: walkers_here(sizes),
        timed: TIMED,
        state: UNSETTLED.to_owned(),
        columns: COLUMNS,
        rows: walkers(&SPLITTING, sizes),
        plots: |_| Vec::new(),
    }
}

/// Table VI: batch walkers, not pre-split.
pub(in super::super) fn table_6(sizes: Sizes) -> Plan {
    Plan {
        title: "Batch walkers on a table that split while it grew",
        paper: paper::TABLE_6,
        scaling: batch_walkers_here(sizes),
        timed: TIMED,
        state: UNSETTLED.to_owned(),
        columns: BATCH_COLUMNS,
        rows: batch_walkers(&SPLITTING, sizes),
        plots: |_| Vec::new(),
    }
}
