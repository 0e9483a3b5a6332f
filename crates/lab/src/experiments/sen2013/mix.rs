//! Tables VII to X: ingest and walkers at the same time.

use super::super::plan::{PaperTable, Phase, Plan, RowPlan, Sizes};
use super::super::record::Unit;
use super::ingest::{SPLITS, THRESHOLD_HIGH, THRESHOLD_LOW, ingest};
use super::paper;
use super::query::walk;
use crate::continuous::{IngestOptions, Settle};

const COLUMNS: &[(&str, &str, Unit)] = &[
    ("ingest.max", "Max ingest/s", Unit::PerSecond),
    ("ingest.rate", "Average ingest/s", Unit::PerSecond),
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

struct Mix {
    title: &'static str,
    paper: PaperTable,
    scaling: &'static str,
    splits: usize,
    properties: &'static [(&'static str, &'static str)],
    /// Ingest clients and walkers of each row.
    clients: &'static [(usize, usize)],
}

fn plan(mix: Mix, sizes: Sizes) -> Plan {
    let rows = mix.clients.iter().map(|&(writers, walkers)| {
        let load = IngestOptions {
            settle: Settle::Flush,
            ..ingest(2, sizes.entries(2_000_000))
        };
        // It ends with the walkers; the flush interval is one a short run completes.
        let running = IngestOptions {
            entries: None,
            flush_interval: Some(sizes.entries(20_000)),
            settle: Settle::No,
            ..ingest(writers, 0)
        };
        RowPlan {
            name: format!("{writers} ingest + {walkers} walk"),
            clients: writers + walkers,
            splits: mix.splits,
            properties: mix.properties,
            phases: vec![
                Phase::Load(load),
                Phase::Mix(running, walk(walkers, sizes.seconds(5.0))),
            ],
        }
    });
    Plan {
        title: mix.title,
        paper: mix.paper,
        scaling: mix.scaling,
        timed: "both by the clock while both run; flushes and compactions that the store does on its \
                own fall inside",
        state: "a table of 2 M entries, flushed, that goes on growing",
        columns: COLUMNS,
        rows: rows.collect(),
        plots: |_| Vec::new(),
    }
}

const FULL: &[(usize, usize)] = &[(1, 1), (2, 2), (4, 4)];
const PARTIAL: &[(usize, usize)] = &[(1, 3), (2, 6)];

/// Table VII: full mix, pre-split.
pub(in super::super) fn table_7(sizes: Sizes) -> Plan {
    let mix = Mix {
        title: "As many ingest clients as walkers, pre-split",
        paper: paper::TABLE_7,
        scaling: "One machine: 2 M entries at the start, then 1, 2 and 4 of each for 5 s, without pauses.",
        splits: SPLITS,
        properties: &[THRESHOLD_HIGH],
        clients: FULL,
    };
    plan(mix, sizes)
}

/// Table VIII: partial mix, pre-split.
pub(in super::super) fn table_8(sizes: Sizes) -> Plan {
    let mix = Mix {
        title: "A third as many ingest clients as walkers, pre-split",
        paper: paper::TABLE_8,
        scaling: "One machine: 2 M entries at the start, then 1 ingest client with 3 walkers, and 2 with 6, for 5 s, \
                  without pauses.",
        splits: SPLITS,
        properties: &[THRESHOLD_HIGH],
        clients: PARTIAL,
    };
    plan(mix, sizes)
}

/// Table IX: full mix, not pre-split.
pub(in super::super) fn table_9(sizes: Sizes) -> Plan {
    let mix = Mix {
        title: "As many ingest clients as walkers, on a table that splits",
        paper: paper::TABLE_9,
        scaling: "One machine: 2 M entries at the start, threshold 16M, then 1, 2 and 4 of each for 5 s, without \
                  pauses.",
        splits: 0,
        properties: &[THRESHOLD_LOW],
        clients: FULL,
    };
    plan(mix, sizes)
}

/// Table X: partial mix, not pre-split.
pub(in super::super) fn table_10(sizes: Sizes) -> Plan {
    let mix = Mix {
        title: "A third as many ingest clients as walkers, on a table that splits",
        paper: paper::TABLE_10,
        scaling: "One machine: 2 M entries at the start, threshold 16M, then 1 ingest client with 3 walkers, and 2 \
                  with 6, for 5 s, without pauses.",
        splits: 0,
        properties: &[THRESHOLD_LOW],
        clients: PARTIAL,
    };
    plan(mix, sizes)
}
