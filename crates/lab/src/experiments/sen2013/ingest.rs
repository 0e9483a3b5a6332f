//! Tables I and II, Figure 5.

use super::super::plan::{Phase, Plan, RowPlan, Sizes, Writers};
use super::super::unit::Unit;
use super::paper;
use super::query::walk;
use super::tables::{Made, THRESHOLD_HIGH, ingest, memory_while_splitting, splits_here};
use crate::continuous::{IngestOptions, Settle};

const INGEST_COLUMNS: &[(&str, &str, Unit)] = &[
    ("ingest.entries", "Entries", Unit::Count),
    ("ingest.seconds", "Acknowledged", Unit::Seconds),
    ("ingest.max", "Max ingest/s", Unit::PerSecond),
    (
        "ingest.sampled_mean",
        "Average of samples/s",
        Unit::PerSecond,
    ),
    ("ingest.rate", "Entries / time", Unit::PerSecond),
    (
        "ingest.settled_seconds",
        "Flushed and compacted",
        Unit::Seconds,
    ),
    (
        "ingest.settled_rate",
        "Entries / that time",
        Unit::PerSecond,
    ),
    ("table.tablets", "Tablets", Unit::Count),
];

const TIMED: &str = "from the first put to the last acknowledgement; the second time adds a flush and a \
     compaction of every tablet into one file. An average of samples weighs each by its length";
const BURST: &str = "an empty table, filled from nothing";

/// Entries of a client of Table I, and of its longer run, at scale 1.
const EACH: u64 = 4_000_000;
const LONGER: u64 = 24_000_000;

/// Table I: pre-split ingest.
pub(in super::super) fn table_1(sizes: Sizes) -> Plan {
    let row = |name: &str, writers, entries| RowPlan {
        phases: vec![Phase::Ingest(
            "ingest",
            ingest(writers, sizes.entries(entries)),
        )],
        ..Made::PreSplit.row(name, writers)
    };
    Plan {
        title: "Ingest into a pre-split table",
        paper: paper::TABLE_1,
        scaling: format!(
            "One machine: 32 tablets, 1, 2 and 4 clients with {} entries each, and a longer run of {} entries \
             with 2. Values without checksum, as in the paper.",
            sizes.entries_shown(EACH),
            sizes.entries_shown(LONGER)
        ),
        timed: TIMED,
        state: BURST.to_owned(),
        columns: INGEST_COLUMNS,
        rows: vec![
            row("1 client", 1, EACH),
            row("2 clients", 2, 2 * EACH),
            row("4 clients", 4, 4 * EACH),
            row("2 clients, longer", 2, LONGER),
        ],
        clients: "ingest clients",
        writers: Writers::Suite,
        plots: |_| Vec::new(),
    }
}

/// Entries of a row of Table II at scale 1.
const SPLITTING: u64 = 8_000_000;

/// Table II: ingest while tablets split.
pub(in super::super) fn table_2(sizes: Sizes) -> Plan {
    let entries = sizes.entries(SPLITTING);
    let splitting = |name: &str, phases| RowPlan {
        phases,
        ..Made::Splitting(entries).row(name, 2)
    };
    Plan {
        title: "Ingest into a table that splits",
        paper: paper::TABLE_2,
        scaling: format!(
            "One machine: {} entries from 2 clients into one tablet with {}; the same again into \
             that table with a threshold of 128G; and, for comparison, into 32 tablets with as much memory.",
            sizes.entries_shown(SPLITTING),
            splits_here(sizes, SPLITTING)
        ),
        timed: TIMED,
        state: "the first and third row begin with an empty table, the second with the first's"
            .to_owned(),
        columns: INGEST_COLUMNS,
        rows: vec![
            splitting(
                "1 tablet that splits",
                vec![Phase::Ingest("ingest", ingest(2, entries))],
            ),
            splitting(
                "then threshold 128G, again",
                vec![
                    Phase::Load(IngestOptions {
                        settle: Settle::Compact,
                        ..ingest(2, entries)
                    }),
                    Phase::Set(THRESHOLD_HIGH.0, THRESHOLD_HIGH.1),
                    Phase::Ingest("ingest", ingest(2, entries)),
                ],
            ),
            RowPlan {
                memory: Some(memory_while_splitting(entries)),
                phases: vec![Phase::Ingest("ingest", ingest(2, entries))],
                ..Made::PreSplit.row("pre-split into 32", 2)
            },
        ],
        clients: "ingest clients",
        writers: Writers::Suite,
        plots: |_| Vec::new(),
    }
}

/// Entries of a client of Figure 5 at scale 1, and seconds of its walkers.
const FIGURE_EACH: u64 = 3_000_000;
const FIGURE_SECONDS: f64 = 2.0;

/// Figure 5: rates against clients.
pub(in super::super) fn figure_5(sizes: Sizes) -> Plan {
    let row = |clients: usize| RowPlan {
        phases: vec![
            Phase::Ingest(
                "ingest",
                ingest(clients, sizes.entries(FIGURE_EACH) * clients as u64),
            ),
            Phase::Walk(walk(clients, sizes.seconds(FIGURE_SECONDS))),
        ],
        ..Made::PreSplit.row(
            format!("{clients} client{}", if clients == 1 { "" } else { "s" }),
            clients,
        )
    };
    Plan {
        title: "Rates against clients, pre-split",
        paper: paper::FIGURE_5,
        scaling: format!(
            "One machine: 1, 2, 3 and 4 clients with {} entries each, then as many walkers for {} on the table \
             they wrote.",
            sizes.entries_shown(FIGURE_EACH),
            sizes.seconds_shown(FIGURE_SECONDS)
        ),
        timed: "ingest to the last acknowledgement (and settled, as in Table I); walkers by the clock, \
                without pauses",
        state: "ingest from nothing; walkers on the flushed and compacted table, after a walk of the same length \
                that warms the caches"
            .to_owned(),
        columns: &[
            ("ingest.entries", "Entries", Unit::Count),
            ("ingest.rate", "Ingest/s", Unit::PerSecond),
            ("ingest.settled_rate", "Ingest/s, settled", Unit::PerSecond),
            ("query.rate", "Query/s", Unit::PerSecond),
            ("query.p50_us", "Median query", Unit::Micros),
            ("query.p99_us", "99 % of queries", Unit::Micros),
        ],
        rows: [1, 2, 3, 4].map(row).into(),
        clients: "ingest clients, then as many walkers",
        writers: Writers::Suite,
        plots: |_| Vec::new(),
    }
}
