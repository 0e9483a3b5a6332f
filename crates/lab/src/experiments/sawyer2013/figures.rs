//! Figures 4 to 7 as plans.

use std::time::Duration;

use ostrakon_events::Calibration;

use super::super::plan::{Phase, Plan, RequestQuery, RequestStep, RowPlan, Sizes, Writers};
use super::super::unit::Unit;
use super::{paper, plots};
use crate::web_requests::{FIELDS, WebRequests};

/// Requests of eight hours at scale 1.
pub(super) const REQUESTS: u64 = 200_000;
/// How long each query is repeated at scale 1, at least once.
const SECONDS: f64 = 2.0;

/// The row that loads, before all others of an experiment.
pub(super) fn loading(sizes: Sizes) -> RowPlan {
    RowPlan {
        name: "load".to_owned(),
        phases: vec![Phase::Requests(RequestStep {
            requests: sizes.entries(REQUESTS),
            query: RequestQuery::Load,
        })],
        ..RowPlan::default()
    }
}

/// A row that asks what the row before has left.
pub(super) fn asking(
    sizes: Sizes,
    name: String,
    clients: usize,
    queries: Vec<RequestQuery>,
) -> RowPlan {
    let step = |query| {
        Phase::Requests(RequestStep {
            requests: sizes.entries(REQUESTS),
            query,
        })
    };
    RowPlan {
        name,
        clients,
        continues: true,
        phases: queries.into_iter().map(step).collect(),
        ..RowPlan::default()
    }
}

fn duration(sizes: Sizes) -> Duration {
    sizes.seconds(SECONDS)
}

/// Small runs take the first ones.
fn sweep(sizes: Sizes, all: &[usize]) -> Vec<usize> {
    let few = if sizes.0 < 0.01 { 2 } else { all.len() };
    all.iter().copied().take(few).collect()
}

pub(super) fn clients_named(count: usize) -> String {
    format!("{count} client{}", if count == 1 { "" } else { "s" })
}

pub(super) fn scaling(sizes: Sizes, what: &str) -> String {
    format!(
        "One machine: {} requests of eight hours with {} fields each, {} of them with an index, in 8 shards; {} domains \
         after Zipf's law. {what}",
        sizes.entries_shown(REQUESTS),
        FIELDS.len(),
        FIELDS.iter().filter(|field| field.indexed).count(),
        Unit::Exact.show(10_000.0),
    )
}

pub(super) const STATE: &str = "one load for all rows, flushed and compacted; each row asks once before the timer, so that the \
     caches hold what fits";
pub(super) const TIMED: &str = "from the start of the first client to the end of the last, the mean of all rounds of a \
     repetition; load: from the first request to the last commit, generating included; settled: until all tables are \
     compacted";
pub(super) const CLIENTS: &str = "clients";

/// Figure 4: entries of the whole time, to 1 to 32 clients.
pub(in super::super) fn figure_4(sizes: Sizes) -> Plan {
    let mut rows = vec![loading(sizes)];
    rows.extend(
        sweep(sizes, &[1, 2, 4, 8, 12, 16, 24, 32])
            .into_iter()
            .map(|clients| {
                let queries = vec![RequestQuery::Scan {
                    clients,
                    duration: duration(sizes),
                }];
                asking(sizes, clients_named(clients), clients, queries)
            }),
    );
    Plan {
        title: "Unfiltered scans by parallel clients",
        paper: paper::FIGURE_4,
        scaling: scaling(
            sizes,
            "The clients divide the eight hours; each counts the entries of its part.",
        ),
        timed: TIMED,
        state: STATE.to_owned(),
        columns: &[
            ("load.events_rate", "Events/s, load", Unit::PerSecond),
            ("load.rate", "Entries/s, load", Unit::PerSecond),
            ("scan.entries", "Entries received", Unit::Exact),
            ("scan.seconds", "Time", Unit::Seconds),
            ("scan.rate", "Entries/s", Unit::PerSecond),
            ("scan.byte_rate", "Bytes/s", Unit::Bytes),
            ("scan.speedup", "Speed-up", Unit::Count),
            (
                "scan.client_processors",
                "Processors, client threads",
                Unit::Count,
            ),
            (
                "scan.other_processors",
                "Processors, other threads",
                Unit::Count,
            ),
            ("scan.own_share", "Share of counting", Unit::Count),
        ],
        rows,
        clients: CLIENTS,
        writers: Writers::Events,
        plots: plots::figure_4,
    }
}

/// Figure 5: filters of known acceptance, 1, 4 and 8 clients; and the index for the same events.
pub(in super::super) fn figure_5(sizes: Sizes) -> Plan {
    let mut rows = vec![loading(sizes)];
    let shares = WebRequests::shares()
        .iter()
        .map(|share| (share.of_all, Some(share.name)));
    let shares: Vec<(f64, Option<&'static str>)> = match sizes.0 < 0.01 {
        true => shares.skip(3).step_by(2).chain([(1.0, None)]).collect(),
        false => shares.chain([(1.0, None)]).collect(),
    };
    let row = |of_all: f64, share, clients, index| {
        let path = if index { "index" } else { "filter" };
        let queries = vec![RequestQuery::Select {
            share,
            index,
            clients,
            duration: duration(sizes),
        }];
        let name = format!("{path}, acceptance {of_all}, {}", clients_named(clients));
        asking(sizes, name, clients, queries)
    };
    for clients in sweep(sizes, &[1, 4, 8]) {
        rows.extend(
            shares
                .iter()
                .map(|&(of_all, share)| row(of_all, share, clients, false)),
        );
    }
    let few = shares.iter().filter(|(of_all, _)| *of_all < 1.0);
    rows.extend(few.map(|&(of_all, share)| row(of_all, share, 1, true)));
    Plan {
        title: "Filters next to the data, by acceptance rate",
        paper: paper::FIGURE_5,
        scaling: scaling(
            sizes,
            "The filter tests one field, whose values have a known share; acceptance 1 tests that it exists.",
        ),
        timed: TIMED,
        state: STATE.to_owned(),
        columns: &[
            ("load.rate", "Entries/s, load", Unit::PerSecond),
            ("select.acceptance", "Accepted", Unit::Count),
            ("select.events", "Events", Unit::Exact),
            ("select.seconds", "Time", Unit::Seconds),
            ("select.sent_rate", "Entries sent/s", Unit::PerSecond),
            ("select.handled_rate", "Entries handled/s", Unit::PerSecond),
            ("select.byte_rate", "Bytes/s", Unit::Bytes),
            (
                "select.client_processors",
                "Processors, client threads",
                Unit::Count,
            ),
            (
                "select.other_processors",
                "Processors, other threads",
                Unit::Count,
            ),
            ("select.own_share", "Share of counting", Unit::Count),
            ("calibrate.threshold", "Threshold, calibrated", Unit::Count),
        ],
        rows: with_calibration(sizes, rows),
        clients: CLIENTS,
        writers: Writers::Events,
        plots: plots::figure_5,
    }
}

/// The threshold that the planner measures for itself, last. It needs a number of events.
fn with_calibration(sizes: Sizes, mut rows: Vec<RowPlan>) -> Vec<RowPlan> {
    if sizes.entries(REQUESTS) < Calibration::EVENTS_MIN {
        return rows;
    }
    let queries = vec![RequestQuery::Calibrate];
    rows.push(asking(sizes, "calibration".to_owned(), 0, queries));
    rows
}

/// Figure 6: histograms of one hour and of eight, 1 to 14 clients.
pub(in super::super) fn figure_6(sizes: Sizes) -> Plan {
    let mut rows = vec![loading(sizes)];
    rows.extend(
        sweep(sizes, &[1, 2, 3, 4, 5, 8, 11, 14])
            .into_iter()
            .map(|clients| {
                let histogram = |name, hour| RequestQuery::Histogram {
                    name,
                    hour,
                    clients,
                    duration: duration(sizes),
                };
                let queries = vec![histogram("hour", true), histogram("all", false)];
                asking(sizes, clients_named(clients), clients, queries)
            }),
    );
    Plan {
        title: "Histograms from the index by parallel clients",
        paper: paper::FIGURE_6,
        scaling: scaling(
            sizes,
            "Requests to the most frequent domain, in bins of a minute, of the last hour and of all eight.",
        ),
        timed: TIMED,
        state: STATE.to_owned(),
        columns: &[
            ("load.seconds", "Load", Unit::Seconds),
            ("hour.events", "Requests, 1 hour", Unit::Exact),
            ("hour.seconds", "Time, 1 hour", Unit::Seconds),
            ("hour.speedup", "Speed-up, 1 hour", Unit::Count),
            ("all.events", "Requests, 8 hours", Unit::Exact),
            ("all.seconds", "Time, 8 hours", Unit::Seconds),
            ("all.speedup", "Speed-up, 8 hours", Unit::Count),
        ],
        rows,
        clients: CLIENTS,
        writers: Writers::Events,
        plots: plots::figure_6,
    }
}

/// Figure 7: index, then rows, 1, 2 and 4 clients.
pub(in super::super) fn figure_7(sizes: Sizes) -> Plan {
    let mut rows = vec![loading(sizes)];
    rows.extend(sweep(sizes, &[1, 2, 4]).into_iter().map(|clients| {
        let duration = duration(sizes);
        let queries = vec![
            RequestQuery::Histogram {
                name: "index",
                hour: false,
                clients,
                duration,
            },
            RequestQuery::Lookup { clients, duration },
        ];
        asking(sizes, clients_named(clients), clients, queries)
    }));
    Plan {
        title: "Index, then events, by parallel clients",
        paper: paper::FIGURE_7,
        scaling: scaling(
            sizes,
            "The sources of the requests to the most frequent domain, about a tenth of all.",
        ),
        timed: TIMED,
        state: STATE.to_owned(),
        columns: &[
            ("load.seconds", "Load", Unit::Seconds),
            ("lookup.events", "Events fetched", Unit::Exact),
            ("lookup.seconds", "Time", Unit::Seconds),
            ("lookup.speedup", "Speed-up", Unit::Count),
            ("index.seconds", "Index step alone", Unit::Seconds),
            (
                "lookup.client_processors",
                "Processors, client threads",
                Unit::Count,
            ),
            (
                "lookup.other_processors",
                "Processors, other threads",
                Unit::Count,
            ),
            ("lookup.own_share", "Share of counting", Unit::Count),
        ],
        rows,
        clients: CLIENTS,
        writers: Writers::Events,
        plots: plots::figure_7,
    }
}
