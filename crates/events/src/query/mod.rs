//! Queries: which way they are answered, and the answers.

mod access;
mod calibrate;
mod counts;
mod densities;
mod event;
mod follow_up;
mod plan;
mod prepare;
mod run;
mod shards;
mod top;
mod values;
mod windows;

use std::time::Duration;

use ostrakon_cell::{Authorizations, Error, Interrupt, Result};

use crate::condition::Condition;
use crate::layout::EventRow;
use crate::time::show_time;

pub use calibrate::Calibration;
pub use counts::CountPath;
pub use event::Event;
pub use follow_up::FollowUp;
pub use plan::{Explanation, TestDensity};
pub use run::Outcome;
pub use top::TopValues;
pub use values::ValueCount;

/// The most threads of a query that does not say how many.
const THREADS_MAX: usize = 16;

/// Which way a query is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Path {
    /// The way that the planner chooses.
    #[default]
    Auto,
    /// By the index, or not at all.
    Index,
    /// By reading all events of the time.
    Scan,
}

/// What to look for. The times are microseconds since 1970; the condition may restrict them further.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// The event type.
    pub event_type: String,
    /// The condition.
    pub condition: Condition,
    /// The first time.
    pub from: Option<i64>,
    /// The first time that is not wanted any more.
    pub to: Option<i64>,
    /// The fields to return; `None` for all.
    pub fields: Option<Vec<String>>,
    /// The most events to return.
    pub limit: Option<usize>,
    /// What the reader holds.
    pub authorizations: Authorizations,
    /// Which way it is answered.
    pub path: Path,
    /// Where an earlier query ended: [`Outcome::token`].
    pub resume: Option<String>,
    /// Stops the query.
    pub interrupt: Option<Interrupt>,
    /// Whether to count what is handled next to the data.
    pub analyze: bool,
    /// The planner's settings.
    pub settings: PlannerSettings,
}

impl Query {
    /// Checks that the times that a person gave are in order. Queries do not check it: in a span that a program has
    /// intersected, times in the other order find no event.
    ///
    /// # Errors
    /// `from` is after `to`.
    pub fn check_times(&self) -> Result<()> {
        match (self.from, self.to) {
            (Some(from), Some(to)) if from > to => Err(Error::invalid(
                "the span of time begins after its end: swap the two",
            )
            .with("from", show_time(from))
            .with("to", show_time(to))),
            _ => Ok(()),
        }
    }
}

/// Settings of the planner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannerSettings {
    /// The share of events below which the index is used; `None` for the one that was measured.
    pub threshold: Option<f64>,
    /// Of the tests that must all hold, those are looked up whose density is at most this many times the least.
    pub factor: f64,
    /// How many events the first window of time should hold.
    pub first_events: u64,
    /// By how much windows grow and shrink.
    pub growth: i64,
    /// Windows that took less time are followed by longer ones,
    pub short: Duration,
    /// and windows that took more time by shorter ones, unless they held few events.
    pub long: Duration,
    /// Windows that returned more events are followed by shorter ones, and none is followed by one that would return more.
    pub window_events: u64,
    /// The most bytes of events that are held at once.
    pub memory_bytes: usize,
    /// The threads that read the shards of a window of time; 0 for one per core, at most 16. There are no more than shards.
    pub threads: usize,
}

impl Default for PlannerSettings {
    fn default() -> Self {
        Self {
            threshold: None,
            factor: 10.0,
            first_events: 10_000,
            growth: 4,
            short: Duration::from_millis(50),
            long: Duration::from_millis(500),
            window_events: 50_000,
            memory_bytes: 64 << 20,
            threads: 0,
        }
    }
}

impl PlannerSettings {
    /// The threads that read shards.
    fn threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism()
                .map_or(1, std::num::NonZero::get)
                .min(THREADS_MAX),
            threads => threads,
        }
    }

    /// Rejects numbers with which nothing can be compared, and those with which windows would only shrink.
    fn check(&self) -> Result<()> {
        if self.short > self.long {
            return Err(Error::invalid(
                "window-short must not be longer than window-long: raise window-long, or lower window-short",
            )
            .with("window-short", format!("{:?}", self.short))
            .with("window-long", format!("{:?}", self.long)));
        }
        if self.growth < 2 || self.window_events == 0 {
            return Err(Error::invalid(
                "window-growth must be at least 2, and window-events at least 1",
            )
            .with("window-growth", self.growth)
            .with("window-events", self.window_events));
        }
        if let Some(threshold) = self.threshold
            && !(0.0..=1.0).contains(&threshold)
        {
            return Err(
                Error::invalid("the threshold is a share of the events, from 0 to 1")
                    .with("given", threshold),
            );
        }
        if self.factor >= 1.0 {
            return Ok(());
        }
        Err(
            Error::invalid("the factor of the planner is a number of at least 1")
                .with("given", self.factor),
        )
    }
}

/// The order of answers: newest first, then by shard and hash.
pub(crate) fn order(row: &EventRow) -> (&[u8], &[u8]) {
    (row.get(2..10).unwrap_or_default(), row)
}
