//! Figures 5, 6 and 7 and the write-ahead log: ingest rates of graphs.

use ostrakon_cell::Durability;

use super::super::plan::{Phase, Plan, RowPlan, Sizes, Writers};
use super::super::record::{Plot, PlotSeries, Row};
use super::super::unit::Unit;
use super::paper;
use crate::graphs::GraphWorkload;

/// Tablets are not split automatically: the split points are the workload's.
const THRESHOLD_HIGH: (&str, &str) = ("table.split.threshold", "128G");

/// The paper's base graphs.
const PAPER_SCALE: u32 = 17;
/// Tablets a writer, as in the paper.
const TABLETS: usize = 32;

fn graph(sizes: Sizes, writers: usize, tablets: usize) -> GraphWorkload {
    GraphWorkload {
        scale: sizes.graph_scale(14),
        writers,
        tablets,
        ..GraphWorkload::default()
    }
}

fn row(name: String, clients: usize, phase: Phase) -> RowPlan {
    RowPlan {
        name,
        clients,
        properties: vec![(THRESHOLD_HIGH.0.to_owned(), THRESHOLD_HIGH.1.to_owned())],
        phases: vec![phase],
        ..RowPlan::default()
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn writers(sizes: Sizes, writers: usize, tablets: usize) -> RowPlan {
    let workload = graph(sizes, writers, tablets);
    let name = format!(
        "{} × {}",
        counted(writers, "writer"),
        counted(tablets, "tablet")
    );
    row(name, writers, Phase::Graph(workload, None))
}

fn ranks(sizes: Sizes, ranks: usize) -> RowPlan {
    let workload = graph(sizes, ranks, TABLETS);
    let name = format!("{} × {TABLETS} tablets", counted(ranks, "rank"));
    row(name, ranks, Phase::Ranks(workload))
}

const COLUMNS: &[(&str, &str, Unit)] = &[
    ("ingest.edges", "Edges generated", Unit::Count),
    ("ingest.entries", "Entries stored", Unit::Count),
    ("ingest.seconds", "Time", Unit::Seconds),
    ("ingest.rate", "Edges/s", Unit::PerSecond),
    ("ingest.stored_rate", "Stored/s", Unit::PerSecond),
    ("ingest.writer_rate", "Edges/s a writer", Unit::PerSecond),
    ("ingest.flushed_rate", "Edges/s, flushed", Unit::PerSecond),
    ("ingest.tablets", "Tablets", Unit::Count),
];

const TIMED: &str = "from the start of the writers or processes, generating and sorting of the base graphs included, to \
     the last acknowledgement, or to the end of the import; flushed: until everything is in files. Split points are \
     made before, as in the paper";
const BURST: &str = "an empty table, split as the paper splits it, filled from nothing; a burst, smaller than memory";

const CLIENTS: &str = "writers or ranks";

/// The sizes of a run, against the paper's.
fn scaled(sizes: Sizes) -> String {
    let graph = graph(sizes, 1, TABLETS);
    let against = match graph.scale {
        PAPER_SCALE => ", as in the paper",
        _ => " instead of 17",
    };
    format!(
        "One machine. A base graph of SCALE {} ({} vertices, {} edges){against}, stacked {TABLETS} times for each \
         writer, blocks of 500 kB: {} edges a writer. A factor of 8 is the paper's size. Rows are numbers of ten \
         digits, columns of five or six, in the qualifier; the value is how often the edge was generated.",
        graph.scale,
        Unit::Exact.show(graph.tablet_rows() as f64),
        Unit::Exact.show(graph.base_edges() as f64),
        Unit::Count.show((graph.base_edges() * TABLETS as u64) as f64)
    )
}

/// Figure 5: ingest against time.
pub(in super::super) fn figure_5(sizes: Sizes) -> Plan {
    let workload = GraphWorkload {
        scale: sizes.graph_scale(15),
        writers: 2,
        tablets: TABLETS,
        ..GraphWorkload::default()
    };
    Plan {
        title: "Ingest of graphs against time",
        paper: paper::FIGURE_5,
        scaling: format!(
            "One machine, 2 writers, base graphs of SCALE {} stacked {TABLETS} times for each: {} edges.",
            workload.scale,
            Unit::Count.show((workload.base_edges() * 2 * TABLETS as u64) as f64)
        ),
        timed: TIMED,
        state: BURST.to_owned(),
        columns: COLUMNS,
        rows: vec![row("2 writers".to_owned(), 2, Phase::Graph(workload, None))],
        clients: CLIENTS,
        writers: Writers::Graphs,
        plots: |_| Vec::new(),
    }
}

/// Figure 6: rate against writers and tablets, and by ranks.
pub(in super::super) fn figure_6(sizes: Sizes) -> Plan {
    let mut rows: Vec<RowPlan> = [1, 2, 3, 4]
        .map(|count| writers(sizes, count, TABLETS))
        .into();
    rows.extend([1, 8].map(|tablets| writers(sizes, 2, tablets)));
    rows.extend([1, 2, 3, 4].map(|count| ranks(sizes, count)));
    Plan {
        title: "Ingest of graphs against writers, tablets and ranks",
        paper: paper::FIGURE_6,
        scaling: scaled(sizes),
        timed: TIMED,
        state: BURST.to_owned(),
        columns: COLUMNS,
        rows,
        clients: CLIENTS,
        writers: Writers::Graphs,
        plots: rate_plot,
    }
}

/// Figure 7: published maxima and ours.
pub(in super::super) fn figure_7(sizes: Sizes) -> Plan {
    Plan {
        title: "Published maxima, and ours",
        paper: paper::FIGURE_7,
        scaling: scaled(sizes),
        timed: TIMED,
        state: BURST.to_owned(),
        columns: COLUMNS,
        rows: vec![writers(sizes, 2, TABLETS), ranks(sizes, 2)],
        clients: CLIENTS,
        writers: Writers::Graphs,
        plots: maxima_plot,
    }
}

/// The write-ahead log on and off.
pub(in super::super) fn write_ahead_log(sizes: Sizes) -> Plan {
    let level = |name: &str, durability| {
        let workload = graph(sizes, 2, TABLETS);
        row(name.to_owned(), 2, Phase::Graph(workload, Some(durability)))
    };
    Plan {
        title: "The write-ahead log, on and off",
        paper: paper::WRITE_AHEAD_LOG,
        scaling: scaled(sizes),
        timed: TIMED,
        state: BURST.to_owned(),
        columns: COLUMNS,
        rows: vec![
            level("sync: on the disk when acknowledged", Durability::Sync),
            level(
                "flush: with the system when acknowledged",
                Durability::Flush,
            ),
            level("none: no log", Durability::None),
        ],
        clients: CLIENTS,
        writers: Writers::Graphs,
        plots: |_| Vec::new(),
    }
}

fn rate_plot(rows: &[Row]) -> Vec<Plot> {
    let line = |name: &str, wanted: &str, metric: &str| PlotSeries {
        name: name.to_owned(),
        points: rows
            .iter()
            .filter(|row| row.name.ends_with("× 32 tablets") && row.name.contains(wanted))
            .filter_map(|row| Some((row.clients as f64, row.metrics.get(metric)?.mean)))
            .collect(),
        lines: true,
        hollow: false,
    };
    let mut tablets: Vec<(f64, f64)> = rows
        .iter()
        .filter(|row| row.name.starts_with("2 writers"))
        .filter_map(|row| {
            let of = |metric: &str| row.metrics.get(metric).map(|spread| spread.mean);
            Some((of("ingest.tablets")?, of("ingest.rate")?))
        })
        .collect();
    tablets.sort_by(|a, b| a.0.total_cmp(&b.0));
    vec![
        Plot {
            title: "Edges a second against writers".to_owned(),
            x: CLIENTS.to_owned(),
            y: "edges a second".to_owned(),
            series: vec![
                line("writers, durable", "writer", "ingest.rate"),
                line("ranks, one import", "rank", "ingest.rate"),
                PlotSeries {
                    name: "the paper, 100,000 a process".to_owned(),
                    points: vec![(1.0, 1e5), (4.0, 4e5)],
                    lines: true,
                    hollow: false,
                },
            ],
            ..Plot::default()
        },
        Plot {
            title: "Edges a second against tablets".to_owned(),
            x: "tablets of the table".to_owned(),
            y: "edges a second".to_owned(),
            series: vec![PlotSeries {
                name: "2 writers".to_owned(),
                points: tablets,
                lines: true,
                hollow: false,
            }],
            ..Plot::default()
        },
    ]
}

/// Where the flushed rate counts, a burst is drawn hollow: nothing of it need be in files yet.
fn maxima_plot(rows: &[Row]) -> Vec<Plot> {
    let mut series = vec![
        point("MIT 2014, 216 nodes, about 300 s, no log", 216.0, 115e6),
        point("MIT 2014, one server at most", 1.0, 5e5),
        point(
            "BAH 2013, 1000 nodes, average of 2.6 h, with log",
            1000.0,
            108e6,
        ),
        PlotSeries {
            hollow: true,
            ..point(
                "BAH 2013, 1000 nodes, highest sample of 26 h",
                1000.0,
                173e6,
            )
        },
    ];
    for row in rows {
        let of = |metric: &str| row.metrics.get(metric).map(|spread| spread.mean);
        let seconds = |metric| Unit::Seconds.show(of(metric).unwrap_or_default());
        if let Some(rate) = of("ingest.flushed_rate") {
            let name = format!(
                "here, {}, flushed, {}",
                row.name,
                seconds("ingest.flushed_seconds")
            );
            series.push(point(&name, 1.0, rate));
        }
        if let Some(rate) = of("ingest.rate") {
            let name = format!("here, {}, burst, {}", row.name, seconds("ingest.seconds"));
            series.push(PlotSeries {
                hollow: true,
                ..point(&name, 1.0, rate)
            });
        }
    }
    vec![Plot {
        title: "Inserts a second against nodes (hollow: a maximum or a burst)".to_owned(),
        x: "nodes".to_owned(),
        y: "inserts a second".to_owned(),
        log: true,
        series,
        ..Plot::default()
    }]
}

fn point(name: &str, nodes: f64, rate: f64) -> PlotSeries {
    PlotSeries {
        name: name.to_owned(),
        points: vec![(nodes, rate)],
        ..PlotSeries::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::spread;

    /// A burst of 0.19 s beside a run of 300 s would be taken for its equal.
    #[test]
    fn flushed_rates_are_solid_and_bursts_hollow() {
        let mut row = Row {
            name: "2 ranks".to_owned(),
            ..Row::default()
        };
        for (metric, value) in [
            ("ingest.rate", 5.52e6),
            ("ingest.seconds", 0.19),
            ("ingest.flushed_rate", 2.03e6),
            ("ingest.flushed_seconds", 0.52),
        ] {
            row.metrics.insert(metric.to_owned(), spread(&[value]));
        }
        let plots = maxima_plot(&[row]);
        let of = |wanted: &str| {
            let found = plots[0].series.iter().find(|one| one.name.contains(wanted));
            found.map(|one| (one.points[0].1, one.hollow)).unwrap()
        };
        assert_eq!(of("flushed, 0.52 s"), (2.03e6, false));
        assert_eq!(of("burst, 0.19 s"), (5.52e6, true));
        assert_eq!(of("average of 2.6 h"), (108e6, false));
        assert_eq!(of("highest sample of 26 h"), (173e6, true));
    }
}
