//! Runs the phases that are queries of web requests. Each answer is compared with the requests that were made: a query
//! that misses an event fails the run.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{Authorizations, Error, ErrorKind, Result, Source};
use ostrakon_events::{EventStore, Path, PlannerSettings, Query};

use super::phases::{Outcome, Setting};
use super::plan::{RequestQuery, RequestStep};
use crate::web_requests::{
    Answer, ClientFigures, FIELDS, WebRequests, count_entries, count_events, histogram, load,
    lookup, planned, run_clients,
};

impl Outcome {
    pub(super) fn requests(
        &mut self,
        source: &Arc<dyn Source>,
        step: &RequestStep,
        setting: Setting<'_>,
    ) -> Result<()> {
        let requests = WebRequests::new(step.requests, WebRequests::SEED);
        self.tables = EventStore::table_names(WebRequests::TYPE).into();
        let run = |clients: usize,
                   times: (i64, i64),
                   duration: Duration,
                   ask: &(dyn Fn((i64, i64)) -> Result<Answer> + Sync)| {
            run_clients(clients, times, duration, setting.progress, ask)
        };
        let all = requests.times();
        let to_domain = |rank, times: (i64, i64)| {
            count(&requests, |number| {
                let time = requests.time(number);
                time >= times.0 && time < times.1 && requests.domain_rank(number) == rank
            })
        };
        match step.query {
            RequestQuery::Load => self.load_requests(source, &requests, setting),
            RequestQuery::Scan { clients, duration } => {
                let figures = run(clients, all, duration, &|times| {
                    count_entries(source, times)
                })?;
                expect("events scanned", figures.answer.events, requests.count())?;
                // The fields of each, and its marker.
                let entries = requests.count() * (FIELDS.len() as u64 + 1);
                expect("entries scanned", figures.answer.entries, entries)?;
                self.client_figures("scan", &figures);
                self.set("scan", "rate", per_second(figures.answer.entries, &figures));
                Ok(())
            }
            RequestQuery::Select {
                share,
                index,
                clients,
                duration,
            } => {
                let path = if index { Path::Index } else { Path::Scan };
                let figures = run(clients, all, duration, &|times| {
                    count_events(source, ("share", share), times, path)
                })?;
                let made = count(&requests, |number| match share {
                    None => true,
                    Some(name) => requests.share(number).is_some_and(|one| one.name == name),
                });
                expect("events selected", figures.answer.events, made)?;
                let answer = figures.answer;
                self.client_figures("select", &figures);
                let share = answer.events as f64 / requests.count().max(1) as f64;
                self.set("select", "acceptance", share);
                self.set("select", "sent_rate", per_second(answer.entries, &figures));
                self.set(
                    "select",
                    "handled_rate",
                    per_second(answer.handled, &figures),
                );
                Ok(())
            }
            RequestQuery::Histogram {
                name,
                hour,
                clients,
                duration,
            } => {
                let times = if hour { requests.last_hour() } else { all };
                let domain = WebRequests::domain(0);
                let figures = run(clients, times, duration, &|times| {
                    histogram(source, &domain, times)
                })?;
                expect(
                    "requests counted",
                    figures.answer.events,
                    to_domain(0, times),
                )?;
                self.client_figures(name, &figures);
                self.set(name, "rate", per_second(figures.answer.entries, &figures));
                Ok(())
            }
            RequestQuery::Lookup { clients, duration } => {
                let domain = WebRequests::domain(0);
                let figures = run(clients, all, duration, &|times| {
                    lookup(source, &domain, times)
                })?;
                expect("events fetched", figures.answer.events, to_domain(0, all))?;
                self.client_figures("lookup", &figures);
                self.set(
                    "lookup",
                    "rate",
                    per_second(figures.answer.events, &figures),
                );
                Ok(())
            }
            RequestQuery::Planned {
                domain,
                index,
                windows,
            } => {
                let query = planned_query(&requests, domain, index, windows);
                planned(source, &query)?;
                let outcome = planned(source, &query)?;
                expect("events found", outcome.events, to_domain(domain, all))?;
                self.set("planned", "events", outcome.events as f64);
                self.set("planned", "windows", outcome.windows as f64);
                self.set("planned", "seconds", outcome.seconds);
                let first = outcome.first_seconds.unwrap_or(outcome.seconds);
                self.set("planned", "first_seconds", first);
                Ok(())
            }
            RequestQuery::Calibrate => {
                let query = Query {
                    event_type: WebRequests::TYPE.to_owned(),
                    authorizations: Authorizations::default(),
                    ..Query::default()
                };
                let measured = EventStore::new(Arc::clone(source)).calibrate(&query)?;
                self.set("calibrate", "threshold", measured.threshold);
                Ok(())
            }
        }
    }

    fn load_requests(
        &mut self,
        source: &Arc<dyn Source>,
        requests: &WebRequests,
        setting: Setting<'_>,
    ) -> Result<()> {
        let loaded = load(source, requests, setting.durability, setting.progress)?;
        expect("events loaded", loaded.events, requests.count())?;
        self.entries += loaded.entries;
        self.entry_bytes += loaded.bytes;
        self.set("load", "events", loaded.events as f64);
        self.set("load", "entries", loaded.entries as f64);
        self.set("load", "seconds", loaded.seconds);
        self.set("load", "settled_seconds", loaded.settled_seconds);
        let seconds = loaded.seconds.max(1e-9);
        self.set("load", "events_rate", loaded.events as f64 / seconds);
        self.set("load", "rate", loaded.entries as f64 / seconds);
        Ok(())
    }

    fn client_figures(&mut self, name: &str, figures: &ClientFigures) {
        self.set(name, "events", figures.answer.events as f64);
        self.set(name, "entries", figures.answer.entries as f64);
        self.set(name, "seconds", figures.seconds);
        self.set(name, "rounds", figures.rounds as f64);
        self.set(name, "byte_rate", per_second(figures.answer.bytes, figures));
        self.set(name, "client_processors", figures.client_processors);
        self.set(name, "other_processors", figures.other_processors);
        self.set(name, "own_share", figures.own_share);
    }
}

fn per_second(count: u64, figures: &ClientFigures) -> f64 {
    count as f64 / figures.seconds.max(1e-9)
}

/// How many requests fulfil the condition.
fn count(requests: &WebRequests, wanted: impl Fn(u64) -> bool) -> u64 {
    (0..requests.count())
        .filter(|&number| wanted(number))
        .count() as u64
}

fn expect(what: &'static str, found: u64, made: u64) -> Result<()> {
    if found == made {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Internal,
        "the answer is wrong: it does not have what was made",
    )
    .with("counted", what)
    .with("found", found)
    .with("made", made))
}

/// A query for requests to a domain, in windows of time or in one.
fn planned_query(requests: &WebRequests, rank: usize, index: bool, windows: bool) -> Query {
    let (from, to) = requests.times();
    let settings = match windows {
        true => PlannerSettings::default(),
        false => PlannerSettings {
            first_events: u64::MAX,
            memory_bytes: usize::MAX,
            ..PlannerSettings::default()
        },
    };
    Query {
        event_type: WebRequests::TYPE.to_owned(),
        condition: ostrakon_events::Condition::equal("domain_name", WebRequests::domain(rank)),
        from: Some(from),
        to: Some(to),
        path: if index { Path::Index } else { Path::Scan },
        settings,
        ..Query::default()
    }
}
