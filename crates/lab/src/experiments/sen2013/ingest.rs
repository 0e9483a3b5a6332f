//! Tables I and II, Figure 5.

use super::super::plan::{Phase, Plan, RowPlan, Sizes};
use super::super::unit::Unit;
use super::paper;
use super::query::walk;
use crate::continuous::{IngestOptions, Settle};

/// Tablets a server had.
pub(super) const SPLITS: usize = 31;
/// No tablet splits any more.
pub(super) const THRESHOLD_HIGH: (&str, &str) = ("table.split.threshold", "128G");
/// As small against our tables as 1G against the paper's.
pub(super) const THRESHOLD_LOW: (&str, &str) = ("table.split.threshold", "16M");

/// An ingest of the paper: no checksum.
pub(super) fn ingest(writers: usize, entries: u64) -> IngestOptions {
    IngestOptions {
        entries: Some(entries),
        writers,
        checksum: false,
        sample_seconds: 0.25,
        ..IngestOptions::default()
    }
}

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
    ("ingest.tablets", "Tablets", Unit::Count),
];

const TIMED: &str = "from the first put to the last acknowledgement; the second time adds a flush and a \
     compaction of every tablet into one file";
const BURST: &str = "an empty table, filled from nothing";

/// Table I: pre-split ingest.
pub(in super::super) fn table_1(sizes: Sizes) -> Plan {
    let row = |name: &str, writers, entries| RowPlan {
        name: name.to_owned(),
        clients: writers,
        splits: SPLITS,
        properties: &[THRESHOLD_HIGH],
        phases: vec![Phase::Ingest(
            "ingest",
            ingest(writers, sizes.entries(entries)),
        )],
    };
    Plan {
        title: "Ingest into a pre-split table",
        paper: paper::TABLE_1,
        scaling: format!(
            "One machine: 32 tablets, 1, 2 and 4 clients with {} entries each, and a longer run of {} entries \
             with 2. Values without checksum, as in the paper.",
            sizes.entries_shown(2_000_000),
            sizes.entries_shown(16_000_000)
        ),
        timed: TIMED,
        state: BURST.to_owned(),
        columns: INGEST_COLUMNS,
        rows: vec![
            row("1 client", 1, 2_000_000),
            row("2 clients", 2, 4_000_000),
            row("4 clients", 4, 8_000_000),
            row("2 clients, longer", 2, 16_000_000),
        ],
        plots: |_| Vec::new(),
    }
}

/// Table II: ingest while tablets split.
pub(in super::super) fn table_2(sizes: Sizes) -> Plan {
    let entries = sizes.entries(5_000_000);
    Plan {
        title: "Ingest into a table that splits",
        paper: paper::TABLE_2,
        scaling: format!(
            "One machine: {} entries from 2 clients into one tablet with a threshold of 16M; the same again into \
             that table with a threshold of 128G; and, for comparison, into 32 tablets.",
            sizes.entries_shown(5_000_000)
        ),
        timed: TIMED,
        state: "the first and third row begin with an empty table, the second with the first's"
            .to_owned(),
        columns: INGEST_COLUMNS,
        rows: vec![
            RowPlan {
                name: "1 tablet, threshold 16M".to_owned(),
                clients: 2,
                splits: 0,
                properties: &[THRESHOLD_LOW],
                phases: vec![Phase::Ingest("ingest", ingest(2, entries))],
            },
            RowPlan {
                name: "then threshold 128G, again".to_owned(),
                clients: 2,
                splits: 0,
                properties: &[THRESHOLD_LOW],
                phases: vec![
                    Phase::Load(IngestOptions {
                        settle: Settle::Compact,
                        ..ingest(2, entries)
                    }),
                    Phase::Set(THRESHOLD_HIGH.0, THRESHOLD_HIGH.1),
                    Phase::Ingest("ingest", ingest(2, entries)),
                ],
            },
            RowPlan {
                name: "pre-split into 32".to_owned(),
                clients: 2,
                splits: SPLITS,
                properties: &[THRESHOLD_HIGH],
                phases: vec![Phase::Ingest("ingest", ingest(2, entries))],
            },
        ],
        plots: |_| Vec::new(),
    }
}

/// Figure 5: rates against clients.
pub(in super::super) fn figure_5(sizes: Sizes) -> Plan {
    let row = |clients: usize| RowPlan {
        name: format!("{clients} clients"),
        clients,
        splits: SPLITS,
        properties: &[THRESHOLD_HIGH],
        phases: vec![
            Phase::Ingest(
                "ingest",
                ingest(clients, sizes.entries(1_500_000) * clients as u64),
            ),
            Phase::Walk(walk(clients, sizes.seconds(2.0))),
        ],
    };
    Plan {
        title: "Rates against clients, pre-split",
        paper: paper::FIGURE_5,
        scaling: format!(
            "One machine: 1, 2, 3 and 4 clients with {} entries each, then as many walkers for {} on the table \
             they wrote.",
            sizes.entries_shown(1_500_000),
            sizes.seconds_shown(2.0)
        ),
        timed: "ingest to the last acknowledgement (and settled, as in Table I); walkers by the clock, \
                without pauses",
        state: "ingest from nothing; walkers on the flushed and compacted table".to_owned(),
        columns: &[
            ("ingest.entries", "Entries", Unit::Count),
            ("ingest.rate", "Ingest/s", Unit::PerSecond),
            ("ingest.settled_rate", "Ingest/s, settled", Unit::PerSecond),
            ("query.rate", "Query/s", Unit::PerSecond),
            ("query.p50_us", "Median query", Unit::Micros),
            ("query.p99_us", "99 % of queries", Unit::Micros),
        ],
        rows: [1, 2, 3, 4].map(row).into(),
        plots: |_| Vec::new(),
    }
}
