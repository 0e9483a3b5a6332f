//! Tables VII to X: ingest and walkers at the same time.

use super::super::plan::{PaperTable, Phase, Plan, RowPlan, Sizes, Writers};
use super::super::unit::Unit;
use super::paper;
use super::query::walk;
use super::tables::{Made, ingest, splits_here};
use crate::continuous::{IngestOptions, Settle};

const COLUMNS: &[(&str, &str, Unit)] = &[
    ("ingest.max", "Max ingest/s", Unit::PerSecond),
    ("ingest.rate", "Average ingest/s", Unit::PerSecond),
    ("query.max", "Max query/s", Unit::PerSecond),
    ("query.rate", "Average query/s", Unit::PerSecond),
    ("query.p50_us", "Median query", Unit::Micros),
    ("query.p99_us", "99 % of queries", Unit::Micros),
    ("query.missing", "Missing rows", Unit::Count),
    ("table.tablets", "Tablets", Unit::Count),
];

/// Entries at the start, and the duration of a mix, at scale 1.
const ENTRIES: u64 = 2_000_000;
const SECONDS: f64 = 5.0;

struct Mix {
    title: &'static str,
    paper: PaperTable,
    /// The text between the size at the start and the time.
    clients_here: &'static str,
    splits: bool,
    /// Ingest clients and walkers of each row.
    clients: &'static [(usize, usize)],
}

fn plan(mix: Mix, sizes: Sizes) -> Plan {
    let made = match mix.splits {
        true => Made::Splitting(sizes.entries(ENTRIES)),
        false => Made::PreSplit,
    };
    let duration = sizes.seconds(SECONDS);
    // The flush interval is one that a short run completes.
    let running = |writers| IngestOptions {
        entries: None,
        flush_interval: Some(sizes.entries(20_000)),
        settle: Settle::No,
        ..ingest(writers, 0)
    };
    let row = |name: String, clients, phase| {
        let load = IngestOptions {
            settle: Settle::Flush,
            ..ingest(2, sizes.entries(ENTRIES))
        };
        RowPlan {
            phases: vec![Phase::Load(load), phase],
            ..made.row(name, clients)
        }
    };
    // What each half does alone, to tell what the mix costs.
    let (writers, walkers) = mix.clients[mix.clients.len() / 2];
    let alone = IngestOptions {
        duration: Some(duration),
        ..running(writers)
    };
    let mut rows = vec![
        row(
            format!("{writers} ingest alone"),
            0,
            Phase::Ingest("ingest", alone),
        ),
        row(
            format!("{walkers} walk alone"),
            0,
            Phase::Walk(walk(walkers, duration)),
        ),
    ];
    // A mix ends with the walkers.
    rows.extend(mix.clients.iter().map(|&(writers, walkers)| {
        row(
            format!("{writers} ingest + {walkers} walk"),
            writers + walkers,
            Phase::Mix(running(writers), walk(walkers, duration)),
        )
    }));
    let splitting = match mix.splits {
        true => format!("{}; ", splits_here(sizes, ENTRIES)),
        false => String::new(),
    };
    Plan {
        title: mix.title,
        paper: mix.paper,
        scaling: format!(
            "One machine: {} entries at the start, {splitting}{} for {}, without pauses; and each half alone.",
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
        rows,
        clients: "ingest clients and walkers together",
        writers: Writers::Suite,
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
        splits: false,
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
        splits: false,
        clients: PARTIAL,
    };
    plan(mix, sizes)
}

/// Table IX: full mix, not pre-split.
pub(in super::super) fn table_9(sizes: Sizes) -> Plan {
    let mix = Mix {
        title: "As many ingest clients as walkers, on a table that splits",
        paper: paper::TABLE_9,
        clients_here: "then 1, 2 and 4 of each",
        splits: true,
        clients: FULL,
    };
    plan(mix, sizes)
}

/// Table X: partial mix, not pre-split.
pub(in super::super) fn table_10(sizes: Sizes) -> Plan {
    let mix = Mix {
        title: "A third as many ingest clients as walkers, on a table that splits",
        paper: paper::TABLE_10,
        clients_here: "then 1 ingest client with 3 walkers, and 2 with 6,",
        splits: true,
        clients: PARTIAL,
    };
    plan(mix, sizes)
}
