//! The charts of the figures.

use super::super::record::{Plot, PlotSeries, Row};
use super::figures::CLIENTS;

fn mean(row: &Row, metric: &str) -> Option<f64> {
    row.metrics.get(metric).map(|spread| spread.mean)
}

fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> PlotSeries {
    PlotSeries {
        name: name.into(),
        points,
        lines: true,
        hollow: false,
    }
}

fn hollow(name: &str, points: Vec<(f64, f64)>) -> PlotSeries {
    PlotSeries {
        name: name.to_owned(),
        points,
        lines: false,
        hollow: true,
    }
}

/// A number against clients.
fn against_clients(rows: &[Row], metric: &str) -> Vec<(f64, f64)> {
    let points = rows.iter().filter(|row| row.clients > 0);
    points
        .filter_map(|row| Some((row.clients as f64, mean(row, metric)?)))
        .collect()
}

fn plot(title: &str, x: &str, y: &str, series: Vec<PlotSeries>) -> Plot {
    Plot {
        title: title.to_owned(),
        x: x.to_owned(),
        y: y.to_owned(),
        series,
        ..Plot::default()
    }
}

pub(super) fn figure_4(rows: &[Row]) -> Vec<Plot> {
    let of = |metric| against_clients(rows, metric);
    vec![
        plot(
            "Scanning with parallel clients",
            CLIENTS,
            "entries a second",
            vec![
                line("here, one process", of("scan.rate")),
                hollow("the paper's limit, 8 servers", vec![(35.0, 5e5)]),
            ],
        ),
        plot(
            "Processors in use",
            CLIENTS,
            "processors",
            vec![
                line("other threads", of("scan.other_processors")),
                line("client threads", of("scan.client_processors")),
                hollow("the paper's client machine, limit", vec![(12.0, 2.0)]),
            ],
        ),
    ]
}

/// A number against the acceptance rate, of rows whose name begins and ends with these.
fn against_acceptance(rows: &[Row], path: &str, clients: usize, metric: &str) -> Vec<(f64, f64)> {
    let rows = rows.iter().filter(|row| row.name.starts_with(path));
    rows.filter(|row| row.clients == clients)
        .filter_map(|row| Some((mean(row, "select.acceptance")?, mean(row, metric)?)))
        .collect()
}

pub(super) fn figure_5(rows: &[Row]) -> Vec<Plot> {
    let each = |metric: &str| -> Vec<PlotSeries> {
        let of = |clients: usize| {
            let points = against_acceptance(rows, "filter", clients, metric);
            (!points.is_empty()).then(|| line(format!("n = {clients}"), points))
        };
        [1, 4, 8].into_iter().filter_map(of).collect()
    };
    let one = |path, metric| against_acceptance(rows, path, 1, metric);
    let log = |title: &str, y: &str, series| Plot {
        log: true,
        ..plot(title, "acceptance rate", y, series)
    };
    vec![
        log(
            "Filtered scan rate",
            "entries sent a second",
            each("select.sent_rate"),
        ),
        log(
            "Entries handled per second",
            "entries handled a second",
            each("select.handled_rate"),
        ),
        log(
            "Processors in use, n = 1",
            "processors, or share of time",
            vec![
                line("other threads", one("filter", "select.other_processors")),
                line("client thread", one("filter", "select.client_processors")),
                line("share of counting", one("filter", "select.own_share")),
            ],
        ),
        log(
            "Index against scan, n = 1",
            "seconds",
            vec![
                line("scan and filter", one("filter", "select.seconds")),
                line("index", one("index", "select.seconds")),
            ],
        ),
    ]
}

pub(super) fn figure_6(rows: &[Row]) -> Vec<Plot> {
    vec![plot(
        "Histogram creation speed-up",
        CLIENTS,
        "times as fast as one client",
        vec![
            line("1 hour", against_clients(rows, "hour.speedup")),
            line("8 hours", against_clients(rows, "all.speedup")),
        ],
    )]
}

pub(super) fn figure_7(rows: &[Row]) -> Vec<Plot> {
    vec![plot(
        "Indexed query speed-up",
        CLIENTS,
        "times as fast as one client",
        vec![line("here", against_clients(rows, "lookup.speedup"))],
    )]
}

/// Where the index stops being faster than a scan: the share between two measured ones where the times would be equal.
pub(in super::super) fn crossover(rows: &[Row]) -> Option<Crossover> {
    let (scan, index) = (
        against_acceptance(rows, "filter", 1, "select.seconds"),
        against_acceptance(rows, "index", 1, "select.seconds"),
    );
    let mut faster: Option<(f64, f64)> = None;
    for (share, by_index) in index {
        let (_, by_scan) = scan.iter().find(|(other, _)| *other == share)?;
        let advantage = (by_scan / by_index).ln();
        if advantage < 0.0 {
            return Some(match faster {
                None => Crossover::Below(share),
                Some((last, before)) => {
                    let part = before / (before - advantage);
                    Crossover::At((last.ln() + part * (share.ln() - last.ln())).exp())
                }
            });
        }
        faster = Some((share, advantage));
    }
    faster.map(|(share, _)| Crossover::Above(share))
}

/// A share of events.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) enum Crossover {
    /// The index was slower at the least share measured.
    Below(f64),
    At(f64),
    /// The index was faster at the largest share measured.
    Above(f64),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::spread;

    fn row(path: &str, share: f64, seconds: f64) -> Row {
        let metrics = [("select.acceptance", share), ("select.seconds", seconds)];
        Row {
            name: format!("{path}, acceptance {share}, 1 client"),
            clients: 1,
            metrics: metrics
                .map(|(name, value)| (name.to_owned(), spread(&[value])))
                .into(),
            ..Row::default()
        }
    }

    #[test]
    fn the_crossover_lies_where_both_take_as_long() {
        let rows = |times: [f64; 3]| {
            let index = [0.001, 0.01, 0.1].into_iter().zip(times);
            let index = index.map(|(share, seconds)| row("index", share, seconds));
            let scan = [0.001, 0.01, 0.1].map(|share| row("filter", share, 1.0));
            scan.into_iter().chain(index).collect::<Vec<Row>>()
        };
        let Some(Crossover::At(share)) = crossover(&rows([0.01, 0.1, 10.0])) else {
            panic!("there is a crossover");
        };
        assert!((share - 10_f64.powf(-1.5)).abs() < 1e-9, "{share}");
        assert_eq!(
            crossover(&rows([2.0, 3.0, 4.0])),
            Some(Crossover::Below(0.001))
        );
        assert_eq!(
            crossover(&rows([0.1, 0.2, 0.3])),
            Some(Crossover::Above(0.1))
        );
        assert_eq!(crossover(&[]), None);
    }
}
