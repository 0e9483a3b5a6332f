//! Measures on this machine when an index pays.

use std::time::{Duration, Instant};

use ostrakon_cell::{Error, Range, Result};

use super::{Query, order};
use crate::condition::{Condition, Operator};
use crate::layout::EventRow;
use crate::store::EventStore;

/// Of so many events one is fetched. About as few are fetched by a query for which the choice matters: of neighbours, one
/// read of a block would bring several.
const APART: usize = 100;
/// Events that are fetched at most.
const FETCHED: usize = 1000;
/// Events that are read to measure, at most and at least. Of fewer, reading takes hardly longer than to begin a query, and
/// fewer than a hundred would be fetched.
const SCANNED: usize = 500_000;
const SCANNED_MIN: usize = 10_000;
/// Measurements, of which the fastest counts: others waited for the processor or the disk.
const ROUNDS: usize = 3;

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// Events that a scan handles per second.
    pub scanned_per_second: f64,
    /// Events that are fetched one by one per second.
    pub fetched_per_second: f64,
    /// The share of events below which fetching takes less time than scanning.
    pub threshold: f64,
}

impl Calibration {
    /// The fewest events that can be measured.
    pub const EVENTS_MIN: u64 = SCANNED_MIN as u64;
}

impl EventStore {
    /// Measures how fast events are scanned and fetched, and keeps the threshold for the planner.
    ///
    /// # Errors
    /// Those of [`query`](Self::query); there are fewer than [`Calibration::EVENTS_MIN`] events that the reader may see;
    /// `PermissionDenied` for a source that is restricted to a reader.
    pub fn calibrate(&self, query: &Query) -> Result<Calibration> {
        self.check_unrestricted(
            &query.event_type,
            "what is measured decides how queries of all readers are answered",
        )?;
        let definition = self.get(&query.event_type)?;
        // A condition on a field, so that fields are read; no event fulfils it.
        let field = definition
            .fields
            .iter()
            .find(|field| field.kind.is_text())
            .map_or("time", |field| &field.name);
        let never = Condition::And(vec![
            Condition::test(field, Operator::Exists),
            Condition::Not(Box::new(Condition::test(field, Operator::Exists))),
        ]);
        let mut rows: Vec<EventRow> = Vec::new();
        let all = Query {
            condition: Condition::All,
            fields: Some(Vec::new()),
            limit: Some(SCANNED),
            ..query.clone()
        };
        self.query(&all, |event| {
            rows.push(event.row);
            Ok(true)
        })?;
        if rows.len() < SCANNED_MIN {
            return Err(Error::invalid(
                "there are too few events to measure, so the threshold stays as it is: ingest at least 10,000, or give \
                 authorizations that see them",
            )
            .with("type", &query.event_type)
            .with("events", rows.len()));
        }
        let oldest = rows
            .iter()
            .filter_map(|row| crate::layout::event_time(row))
            .min();
        let scan = Query {
            condition: never,
            from: oldest,
            ..query.clone()
        };
        let scanned = fastest(|| self.query(&scan, |_| Ok(true)).map(drop))?;
        let scanned_per_second = rows.len() as f64 / scanned;

        let prepared = self.prepare(&all)?;
        let step = APART.max(rows.len() / FETCHED);
        let mut fetched: Vec<EventRow> = rows.into_iter().step_by(step).take(FETCHED).collect();
        fetched.sort_unstable_by(|a, b| order(a).cmp(&order(b)));
        let mut ranges: Vec<Range> = fetched
            .iter()
            .map(|row| Range::row(row.as_slice()))
            .collect();
        ranges.sort_by(Range::cmp_start);
        let mut found = 0;
        let fetching = fastest(|| {
            found = prepared.fetch_count(&ranges)?;
            Ok(())
        })?;
        let fetched_per_second = found as f64 / fetching;
        let threshold = (fetched_per_second / scanned_per_second).clamp(1e-6, 1.0);
        self.set_threshold(&query.event_type, threshold)?;
        Ok(Calibration {
            scanned_per_second,
            fetched_per_second,
            threshold,
        })
    }
}

/// The seconds of the fastest of several rounds.
fn fastest(mut round: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut least = Duration::MAX;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        round()?;
        least = least.min(started.elapsed());
    }
    Ok(least.as_secs_f64().max(1e-9))
}
