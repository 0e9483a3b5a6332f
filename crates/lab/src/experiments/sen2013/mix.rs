//! Tables VII to X: ingest and walkers at the same time.

use super::super::plan::{PaperTable, Phase, Plan, RowPlan, Sizes};
use super::super::unit::Unit;
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

/// Entries at the start, and the duration of a mix, at scale 1.
const ENTRIES: u64 = 2_000_000;
const SECONDS: f64 = 5.0;

struct Mix {
    title: &'static str,
    paper: PaperTable,
    /// The text between the size at the start and the time.
    clients_here: &'static str,
    splits: usize,
    properties: &'static [(&'static str, &'static str)],
    /// Ingest clients and walkers of each row.
    clients: &'static [(usize, usize)],
}

fn plan(mix: Mix, sizes: Sizes) -> Plan {
    let rows = mix.clients.iter().map(|&(writers, walkers)| {
        let load = IngestOptions {
            settle: Settle::Flush,
            ..ingest(2, sizes.entries(ENTRIES))
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
                Phase::Mix(running, walk(walkers, sizes.seconds(SECONDS))),
            ],
        }
    });
    Plan {
        title: mix.title,
        paper: mix.paper,
        scaling: format!(
            "One machine: {} entries at the start, {} for {}, without pauses.",
            sizes.entries_shown(ENTRIES),
            mix.clients_here,
            sizes.seconds_shown(SECONDS)
        ),
        timed: "both by the clock while both run; flushes and compactions that the store does on its \
                own fall inside",
        state: format!(
            "a table of {} entries, flushed, that goes on growing",
            sizes.entries_shown(ENTRIES)
        ),
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
        clients_here: "then 1, 2 and 4 of each",
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
        clients_here: "then 1 ingest client with 3 walkers, and 2 with 6,",
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
        clients_here: "threshold 16M, then 1, 2 and 4 of each",
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
        clients_here: "threshold 16M, then 1 ingest client with 3 walkers, and 2 with 6,",
        splits: 0,
        properties: &[THRESHOLD_LOW],
        clients: PARTIAL,
    };
    plan(mix, sizes)
}
