//! Questions about events as Python passes them: dictionaries that `ostrakon.events` makes.

use std::time::Duration;

use ostrakon_cell::{Error, Interrupt, Result};
use ostrakon_events::{
    CountPath, FollowUp, Path, PlannerSettings, Query, parse_condition, parse_moment, parse_span,
};
use pyo3::prelude::*;

use crate::errors::IntoPython;
use crate::logs::now;
use crate::tables::{NativeStore, Text};

/// What is asked of an event type.
#[derive(FromPyObject)]
pub(super) struct Question {
    #[pyo3(item)]
    name: String,
    #[pyo3(item)]
    condition: String,
    #[pyo3(item)]
    from_time: Option<String>,
    #[pyo3(item)]
    to_time: Option<String>,
    #[pyo3(item)]
    last: Option<String>,
    #[pyo3(item)]
    now: Option<String>,
    #[pyo3(item)]
    fields: Option<Vec<String>>,
    #[pyo3(item)]
    limit: Option<usize>,
    #[pyo3(item)]
    auths: Option<Vec<Text>>,
    #[pyo3(item)]
    path: String,
    #[pyo3(item)]
    then: Vec<String>,
    #[pyo3(item)]
    resume: Option<String>,
    #[pyo3(item)]
    planner: PlannerArgument,
}

/// Settings of the planner; those that are `None` have their usual values.
#[derive(FromPyObject)]
struct PlannerArgument {
    #[pyo3(item)]
    threshold: Option<f64>,
    #[pyo3(item)]
    factor: Option<f64>,
    #[pyo3(item)]
    first_events: Option<u64>,
    #[pyo3(item)]
    window_events: Option<u64>,
    #[pyo3(item)]
    window_short: Option<String>,
    #[pyo3(item)]
    window_long: Option<String>,
    #[pyo3(item)]
    window_growth: Option<u32>,
    #[pyo3(item)]
    memory_bytes: Option<usize>,
    #[pyo3(item)]
    threads: Option<usize>,
}

/// The span that an argument names, or the usual one.
fn span(name: &'static str, given: Option<&str>, usual: Duration) -> Result<Duration> {
    let Some(given) = given else {
        return Ok(usual);
    };
    let micros = parse_span(given).map_err(|error| error.with("argument", name))?;
    Ok(Duration::from_micros(micros.unsigned_abs()))
}

impl PlannerArgument {
    fn settings(&self) -> Result<PlannerSettings> {
        let usual = PlannerSettings::default();
        Ok(PlannerSettings {
            threshold: self.threshold,
            factor: self.factor.unwrap_or(usual.factor),
            first_events: self.first_events.unwrap_or(usual.first_events),
            window_events: self.window_events.unwrap_or(usual.window_events),
            short: span("window_short", self.window_short.as_deref(), usual.short)?,
            long: span("window_long", self.window_long.as_deref(), usual.long)?,
            growth: self.window_growth.map_or(usual.growth, i64::from),
            memory_bytes: self.memory_bytes.unwrap_or(usual.memory_bytes),
            threads: self.threads.unwrap_or(usual.threads),
        })
    }
}

/// A query, what follows up on it, and what ends it.
pub(super) struct Asked {
    pub(super) query: Query,
    pub(super) then: Vec<FollowUp>,
    pub(super) interrupt: Interrupt,
}

impl Question {
    pub(super) fn into_asked(mut self, store: &NativeStore) -> PyResult<Asked> {
        let authorizations = store.authorizations(self.auths.take())?;
        let asked = self.times().and_then(|(from, to, now)| {
            let interrupt = Interrupt::default();
            let then = self.then.iter().map(|text| FollowUp::parse(text));
            let then = then.collect::<Result<_>>()?;
            let query = Query {
                event_type: self.name,
                condition: parse_condition(&self.condition, now)?,
                from,
                to,
                fields: self.fields,
                limit: self.limit,
                authorizations,
                path: path_named(&self.path)?,
                resume: self.resume,
                interrupt: Some(interrupt.clone()),
                analyze: false,
                settings: self.planner.settings()?,
            };
            query.check_times()?;
            Ok(Asked {
                query,
                then,
                interrupt,
            })
        });
        asked.into_python()
    }

    /// The first time, the first one that is not wanted any more, and the present.
    fn times(&self) -> Result<(Option<i64>, Option<i64>, i64)> {
        let given = self.now.as_deref().map(|text| moment("now", text));
        let given = given.transpose()?;
        let present = given.unwrap_or_else(now);
        let from = match (&self.from_time, &self.last) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid(
                    "`from_time` and `last` both say when to begin: pass one of them",
                )
                .with("argument", "last"));
            }
            (Some(from), None) => Some(moment("from_time", from)?),
            (None, Some(last)) => {
                let span = parse_span(last).map_err(|error| error.with("argument", "last"))?;
                Some(present.saturating_sub(span))
            }
            (None, None) => None,
        };
        let to = match (&self.to_time, &self.last) {
            (Some(to), _) => Some(moment("to_time", to)?),
            // With a present of its own, what comes after it is the future.
            (None, Some(_)) => given,
            (None, None) => None,
        };
        Ok((from, to, present))
    }
}

pub(super) fn moment(argument: &'static str, text: &str) -> Result<i64> {
    parse_moment(text).map_err(|error| error.with("argument", argument))
}

fn path_named(name: &str) -> Result<Path> {
    match name {
        "auto" => Ok(Path::Auto),
        "index" => Ok(Path::Index),
        "scan" => Ok(Path::Scan),
        _ => Err(Error::invalid("`path` is auto, index or scan").with("given", name)),
    }
}

/// How events are counted.
pub(super) fn count_path(name: &str) -> Result<CountPath> {
    match name {
        "auto" => Ok(CountPath::Auto),
        "aggregates" => Ok(CountPath::Aggregates),
        "index" => Ok(CountPath::Index),
        "scan" => Ok(CountPath::Scan),
        _ => {
            Err(Error::invalid("`count_by` is auto, aggregates, index or scan").with("given", name))
        }
    }
}
