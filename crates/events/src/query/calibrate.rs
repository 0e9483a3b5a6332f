//! Measures on this machine when an index pays.

use std::time::Instant;

use ostrakon_cell::{Error, Range, Result};

use super::{Query, order};
use crate::condition::{Condition, Operator};
use crate::layout::EventRow;
use crate::store::EventStore;

/// Rows that are fetched to measure.
const FETCHED: usize = 1000;
/// Events that are read to measure.
const SCANNED: u64 = 500_000;

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

impl EventStore {
    /// Measures how fast events are scanned and fetched, and keeps the threshold for the planner.
    ///
    /// # Errors
    /// Those of [`query`](Self::query); there are fewer than 1,000 events that the reader may see;
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
            limit: Some(usize::try_from(SCANNED).unwrap_or(usize::MAX)),
            ..query.clone()
        };
        self.query(&all, |event| {
            rows.push(event.row);
            Ok(true)
        })?;
        if rows.len() < FETCHED {
            return Err(Error::invalid(
                "there are too few events to measure: ingest at least 1,000, or give authorizations that see them",
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
        let started = Instant::now();
        self.query(&scan, |_| Ok(true))?;
        let scanned_per_second = rows.len() as f64 / started.elapsed().as_secs_f64().max(1e-9);

        let prepared = self.prepare(&all)?;
        let step = rows.len() / FETCHED;
        let mut fetched: Vec<EventRow> = rows.into_iter().step_by(step).take(FETCHED).collect();
        fetched.sort_unstable_by(|a, b| order(a).cmp(&order(b)));
        let started = Instant::now();
        let mut ranges: Vec<Range> = fetched
            .iter()
            .map(|row| Range::row(row.as_slice()))
            .collect();
        ranges.sort_by(Range::cmp_start);
        let found = prepared.fetch_count(&ranges)?;
        let fetched_per_second = found as f64 / started.elapsed().as_secs_f64().max(1e-9);
        let threshold = (fetched_per_second / scanned_per_second).clamp(1e-6, 1.0);
        self.set_threshold(&query.event_type, threshold)?;
        Ok(Calibration {
            scanned_per_second,
            fetched_per_second,
            threshold,
        })
    }
}
