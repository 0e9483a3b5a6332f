//! Tables 14 to 17 as plans.

use super::super::plan::{HiveStep, PaperTable, Phase, Plan, RowPlan, Sizes, Writers};
use super::super::record::{Plot, PlotSeries, Row};
use super::super::unit::Unit;
use super::paper;
use crate::hive::HiveQuery;

/// Visits at scale 1, in the paper's first size: a part in 11,000 of it. For 100 visits there are 12 pages.
const VISITS: u64 = 100_000;
/// The paper's sizes, and how many million visits each has.
const SIZES: [(&str, u64); 3] = [
    ("as 240 GB", 1100),
    ("as 340 GB", 1700),
    ("as 440 GB", 2200),
];

struct Rows {
    pages: u64,
    visits: u64,
}

impl Rows {
    fn of(sizes: Sizes, million: u64) -> Self {
        let visits = sizes.entries(VISITS) * million / 1100;
        Self {
            pages: visits * 12 / 100,
            visits,
        }
    }

    fn phase(&self, query: Option<HiveQuery>) -> Phase {
        Phase::Hive(HiveStep {
            pages: self.pages,
            visits: self.visits,
            query,
        })
    }
}

/// A row that loads a size and runs these queries.
fn row(sizes: Sizes, (name, million): (&str, u64), queries: &[HiveQuery]) -> RowPlan {
    let rows = Rows::of(sizes, million);
    let queries = queries.iter().copied().map(Some);
    RowPlan {
        name: name.to_owned(),
        clients: (million / 100) as usize,
        phases: std::iter::once(None)
            .chain(queries)
            .map(|query| rows.phase(query))
            .collect(),
        ..RowPlan::default()
    }
}

type Columns = &'static [(&'static str, &'static str, Unit)];

fn plan(
    sizes: Sizes,
    title: &'static str,
    paper: PaperTable,
    columns: Columns,
    rows: Vec<RowPlan>,
) -> Plan {
    let shown = |million| {
        let rows = Rows::of(sizes, million);
        format!(
            "{} visits and {} pages",
            Unit::Exact.show(rows.visits as f64),
            Unit::Exact.show(rows.pages as f64)
        )
    };
    let each: Vec<String> = SIZES
        .iter()
        .take(rows.len())
        .map(|(name, million)| format!("{name}: {}", shown(*million)))
        .collect();
    Plan {
        title,
        paper,
        scaling: format!(
            "One process. The paper's proportions of pages and visits, and of the sizes; {}. A scale of 11,000 is the \
             paper's size.",
            each.join("; ")
        ),
        timed: "queries: until the last row; load: the statements that insert the rows, until both tables are flushed and \
                compacted, without the generation",
        state: format!(
            "tables of {}, made anew for each repetition, flushed and compacted; the caches hold what the load left",
            shown(SIZES[0].1)
        ),
        columns,
        rows,
        clients: "hundred million visits in the paper",
        writers: Writers::Sql,
        plots: |_| Vec::new(),
    }
}

const BOTH: &[HiveQuery] = &[HiveQuery::Aggregation, HiveQuery::Join];

/// Table 14: both queries at one size.
pub(in super::super) fn table_14(sizes: Sizes) -> Plan {
    let columns: Columns = &[
        ("load.rankings", "Rows of rankings", Unit::Exact),
        ("load.visits", "Rows of uservisits", Unit::Exact),
        ("aggregation.rows", "Rows, aggregation", Unit::Exact),
        ("aggregation.seconds", "Time, aggregation", Unit::Seconds),
        ("aggregation.rate", "Visits/s, aggregation", Unit::PerSecond),
        ("join.rows", "Rows, join", Unit::Exact),
        ("join.seconds", "Time, join", Unit::Seconds),
        ("join.rate", "Visits/s, join", Unit::PerSecond),
    ];
    let rows = vec![row(sizes, SIZES[0], BOTH)];
    plan(
        sizes,
        "Aggregation and join of HiBench",
        paper::TABLE_14,
        columns,
        rows,
    )
}

/// Table 15: bytes of rows.
pub(in super::super) fn table_15(sizes: Sizes) -> Plan {
    let columns: Columns = &[
        ("load.pages", "Pages", Unit::Exact),
        ("load.rankings", "Rows of rankings", Unit::Exact),
        ("load.page_bytes", "Bytes of a page", Unit::Count),
        ("load.visits", "Rows of uservisits", Unit::Exact),
        ("load.visit_bytes", "Bytes of a visit", Unit::Count),
    ];
    let rows = vec![row(sizes, SIZES[0], &[])];
    plan(
        sizes,
        "Pages and visits of HiBench",
        paper::TABLE_15,
        columns,
        rows,
    )
}

/// Table 16: three sizes.
pub(in super::super) fn table_16(sizes: Sizes) -> Plan {
    let columns: Columns = &[
        ("load.pages", "Pages", Unit::Exact),
        ("load.visits", "Visits", Unit::Exact),
        ("load.visits_change", "Visits Δ (%)", Unit::Count),
        ("load.bytes", "Text", Unit::Bytes),
        ("load.bytes_change", "Text Δ (%)", Unit::Count),
        ("load.seconds", "Load", Unit::Seconds),
        ("load.rate", "Rows/s, load", Unit::PerSecond),
    ];
    let rows = SIZES.map(|size| row(sizes, size, &[]));
    plan(
        sizes,
        "Three sizes of HiBench's tables",
        paper::TABLE_16,
        columns,
        rows.into(),
    )
}

/// Table 17: both queries at three sizes.
pub(in super::super) fn table_17(sizes: Sizes) -> Plan {
    let columns: Columns = &[
        ("aggregation.bytes", "Processed, aggregation", Unit::Bytes),
        ("aggregation.seconds", "Time, aggregation", Unit::Seconds),
        (
            "aggregation.bytes_change",
            "Data Δ (%), aggregation",
            Unit::Count,
        ),
        (
            "aggregation.seconds_change",
            "Time Δ (%), aggregation",
            Unit::Count,
        ),
        ("aggregation.byte_rate", "Bytes/s, aggregation", Unit::Bytes),
        ("join.bytes", "Processed, join", Unit::Bytes),
        ("join.seconds", "Time, join", Unit::Seconds),
        ("join.bytes_change", "Data Δ (%), join", Unit::Count),
        ("join.seconds_change", "Time Δ (%), join", Unit::Count),
        ("join.byte_rate", "Bytes/s, join", Unit::Bytes),
    ];
    let rows = SIZES.map(|size| row(sizes, size, BOTH));
    let plan = plan(
        sizes,
        "Aggregation and join at three sizes",
        paper::TABLE_17,
        columns,
        rows.into(),
    );
    Plan {
        plots: growth,
        ..plan
    }
}

/// The paper's times of the aggregation and the join, at the three sizes.
const PAPER_SECONDS: [(&str, [f64; 3]); 2] = [
    ("aggregation", [1837.43, 2699.84, 3471.84]),
    ("join", [1486.23, 2106.86, 2646.29]),
];

/// Times as multiples of those at the first size.
fn growth(rows: &[Row]) -> Vec<Plot> {
    let visits = |at: usize| {
        SIZES
            .get(at)
            .map_or(0.0, |(_, million)| *million as f64 / 1100.0)
    };
    let mut series = Vec::new();
    for (query, paper) in PAPER_SECONDS {
        let key = format!("{query}.seconds");
        let times: Vec<f64> = rows
            .iter()
            .filter_map(|row| Some(row.metrics.get(&key)?.mean))
            .collect();
        let relative = |times: &[f64]| {
            let first = times.first().copied().unwrap_or(1.0);
            let points = times.iter().enumerate();
            points
                .map(|(at, time)| (visits(at), time / first))
                .collect()
        };
        for (name, times, hollow) in [
            ("here", times.as_slice(), false),
            ("the paper", &paper, true),
        ] {
            series.push(PlotSeries {
                name: format!("{query}, {name}"),
                points: relative(times),
                lines: true,
                hollow,
            });
        }
    }
    series.push(PlotSeries {
        name: "in proportion to the visits".to_owned(),
        points: (0..3).map(|at| (visits(at), visits(at))).collect(),
        lines: true,
        hollow: false,
    });
    vec![Plot {
        title: "Time against size".to_owned(),
        x: "visits, as a multiple of the first size".to_owned(),
        y: "time, as a multiple of that at the first size".to_owned(),
        series,
        ..Plot::default()
    }]
}
