//! Runs a query window by window.

use std::collections::BTreeSet;
use std::time::Instant;

use ostrakon_cell::{Batch, BatchLimit, ErrorKind, Range, Result};

use super::access::form_ranges;
use super::event::Shown;
use super::plan::{Explanation, Lookup, Plan};
use super::prepare::Prepared;
use super::shards::Held;
use super::windows::Windows;
use super::{Event, Query, order};
use crate::condition::check_length;
use crate::iterators::{EVENT_REPORT, EventScan, EventTable, event_scan};
use crate::layout::EventRow;
use crate::store::{EventStore, Reading};

/// Rows that are fetched at once: as many as are wanted, within these bounds.
const FETCHED: usize = 4096;
const FETCHED_MIN: usize = 64;
/// Memory for a row that the index has named: itself twice, and its place in a set.
const HELD_ROW_BYTES: usize = 128;

/// How a query ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How it was answered: `index` or `scan`.
    pub path: &'static str,
    /// Where another query goes on, if this one ended early.
    pub token: Option<String>,
    /// Events that were returned.
    pub events: u64,
    /// Windows of time that were read.
    pub windows: u64,
    /// Events that the index named.
    pub looked_up: u64,
    /// Entries of the event table that were handled next to the data, if that was asked for.
    pub handled: Option<u64>,
    /// Events that were sent from there.
    pub sent: u64,
    /// How long it took.
    pub seconds: f64,
    /// How long it took until the first event was there.
    pub first_seconds: Option<f64>,
}

/// The first window.
#[derive(Debug, Clone, Copy)]
enum First {
    /// All of the time.
    Whole,
    /// It should hold this many events.
    Events(u64),
}

/// What a window had.
#[derive(Default)]
pub(super) struct Found {
    pub(super) events: Vec<Event>,
    /// The window holds more than may be held.
    pub(super) too_many: bool,
    /// Entries that were handled next to the data, if they are counted, and events that were sent.
    handled: u64,
    sent: u64,
}

impl EventStore {
    /// Runs a query. `visit` gets the events newest first, and ends the query by returning `false`.
    ///
    /// # Errors
    /// Those of [`explain`](Self::explain), of `visit` and of the tables;
    /// [`Cancelled`](ostrakon_cell::ErrorKind::Cancelled): its context has a `token` with which another query goes on, if
    /// events were returned.
    pub fn query(
        &self,
        query: &Query,
        visit: impl FnMut(&Event) -> Result<bool>,
    ) -> Result<Outcome> {
        self.prepare(query)?.run(visit)
    }

    /// Explains a query, and runs it as [`query`](Self::query) does, of one snapshot. The outcome has the entries that were
    /// handled, and its times do not include the explanation.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn analyze(
        &self,
        query: &Query,
        visit: impl FnMut(&Event) -> Result<bool>,
    ) -> Result<(Explanation, Outcome)> {
        let query = Query {
            analyze: true,
            ..query.clone()
        };
        let prepared = self.prepare(&query)?;
        let explanation = prepared.explanation()?;
        Ok((explanation, prepared.run(visit)?))
    }

    /// All events of a query; for results that fit in memory.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn events(&self, query: &Query) -> Result<Vec<Event>> {
        let mut events = Vec::new();
        self.query(query, |event| {
            events.push(event.clone());
            Ok(true)
        })?;
        Ok(events)
    }
}

impl Prepared<'_> {
    /// Runs the query as of its snapshot.
    pub(super) fn run(&self, mut visit: impl FnMut(&Event) -> Result<bool>) -> Result<Outcome> {
        let started = Instant::now();
        check_length(&self.condition)?;
        let query = self.query;
        let mut plan = self.plan()?;
        let mut outcome = Outcome {
            path: plan.path(),
            token: None,
            events: 0,
            windows: 0,
            looked_up: 0,
            handled: query.analyze.then_some(0),
            sent: 0,
            seconds: 0.0,
            first_seconds: None,
        };
        let first_events = query.settings.first_events;
        let first = match plan.estimate {
            // If few events are wanted, the first window need not hold many.
            _ if plan.lookup.is_none() => {
                let few = query.limit.map_or(u64::MAX, |limit| limit as u64);
                First::Events(first_events.min(few.saturating_mul(8).max(256)))
            }
            // The index names so few events that one window can hold all of the time.
            estimate if estimate <= first_events => First::Whole,
            // So many events should be read that the index names this many of them.
            estimate => {
                self.read_rest(&mut plan.totals)?;
                let share = plan.totals.sum().max(1) as f64 / estimate as f64;
                First::Events((first_events as f64 * share.max(1.0)) as u64)
            }
        };
        let mut last = self.after;
        let windows = self.windows(plan, (started, first), &mut outcome, |event| {
            let goes_on = visit(event)?;
            last = Some(event.row);
            Ok(goes_on)
        });
        outcome.seconds = started.elapsed().as_secs_f64();
        match windows {
            Ok(true) => outcome.token = last.map(|row| self.token(&row)),
            Ok(false) => {}
            Err(error) => {
                return Err(match last {
                    Some(row) if error.kind() == ErrorKind::Cancelled => {
                        error.with("token", self.token(&row))
                    }
                    _ => error,
                });
            }
        }
        Ok(outcome)
    }

    /// Reads one window of time after the other; whether there may be more events.
    fn windows(
        &self,
        plan: Plan,
        (started, first): (Instant, First),
        outcome: &mut Outcome,
        mut visit: impl FnMut(&Event) -> Result<bool>,
    ) -> Result<bool> {
        let query = self.query;
        let bounds = (self.from, self.to);
        let Plan {
            lookup, mut totals, ..
        } = plan;
        let mut windows = match first {
            First::Whole => Windows::whole(totals, self.bin, bounds, query.settings),
            First::Events(events) => {
                while totals.unread.is_some() && totals.sum() <= events {
                    self.read_older(&mut totals)?;
                }
                Windows::new(totals, self.bin, bounds, events, query.settings)
            }
        };
        let limit = query.limit.map_or(u64::MAX, |limit| limit as u64);
        while outcome.events < limit {
            while let Some(totals) = windows.incomplete() {
                self.read_older(totals)?;
            }
            let Some(window) = windows.next() else {
                break;
            };
            if let Some(interrupt) = &query.interrupt {
                interrupt.check()?;
            }
            let window_started = Instant::now();
            let left = usize::try_from(limit - outcome.events).unwrap_or(usize::MAX);
            let found = self.window(lookup.as_ref(), window, left, outcome)?;
            if found.too_many && windows.shorten(window) {
                continue;
            }
            outcome.windows += 1;
            for event in &found.events {
                if let Some(interrupt) = &query.interrupt {
                    interrupt.check()?;
                }
                outcome.events += 1;
                outcome
                    .first_seconds
                    .get_or_insert_with(|| started.elapsed().as_secs_f64());
                let goes_on = visit(event)?;
                if !goes_on || outcome.events == limit {
                    return Ok(true);
                }
            }
            windows.took(window_started.elapsed(), found.events.len() as u64);
        }
        Ok(false)
    }

    /// The events of a window, newest first, at most `left`.
    fn window(
        &self,
        lookup: Option<&Lookup>,
        (from, to): (i64, i64),
        left: usize,
        outcome: &mut Outcome,
    ) -> Result<Found> {
        // The events of one microsecond cannot be read in parts.
        let limit = match to.saturating_sub(from) {
            ..=1 => usize::MAX,
            _ => self.query.settings.memory_bytes,
        };
        let held = Held::new(limit);
        let mut found = Found::default();
        let rows = match lookup {
            None => None,
            Some(lookup) => {
                let most = self.query.settings.memory_bytes / HELD_ROW_BYTES;
                let rows = self.rows(lookup, from, to, most.max(1))?;
                if rows.is_none() && limit < usize::MAX {
                    found.too_many = true;
                    return Ok(found);
                }
                // The rows of one microsecond that the index cannot name in so little memory are scanned.
                rows
            }
        };
        match rows {
            None => {
                for part in self.read_window((from, to), left, &held)? {
                    found.add(part);
                }
            }
            Some(rows) => {
                outcome.looked_up += rows.len() as u64;
                let mut rows: Vec<EventRow> =
                    rows.into_iter().filter(|row| self.is_wanted(row)).collect();
                rows.sort_unstable_by(|a, b| order(a).cmp(&order(b)));
                // If few are wanted, the newest may be enough.
                for part in rows.chunks(left.clamp(FETCHED_MIN, FETCHED)) {
                    let mut ranges: Vec<Range> =
                        part.iter().map(|row| Range::row(row.as_slice())).collect();
                    ranges.sort_by(Range::cmp_start);
                    found.add(self.read(&ranges, left, &held)?);
                    if found.too_many || found.events.len() >= left {
                        break;
                    }
                }
            }
        }
        outcome.handled = outcome.handled.map(|so_far| so_far + found.handled);
        outcome.sent += found.sent;
        found.keep_newest(left);
        Ok(found)
    }

    /// Whether an event comes after those of an earlier query.
    fn is_wanted(&self, row: &EventRow) -> bool {
        self.after
            .as_ref()
            .is_none_or(|after| order(row) > order(after))
    }

    /// How events are read: their fields, or with `Some(&[])` only what the condition tests.
    pub(super) fn reading(&self, fields: Option<&[String]>, report: bool) -> Result<Reading<'_>> {
        Ok(Reading {
            authorizations: &self.query.authorizations,
            iterator: event_scan(&EventScan {
                snapshot: &self.snapshot,
                condition: &self.condition,
                types: self.types()?,
                fields: fields.map(<[String]>::to_vec),
                from: self.from,
                to: self.to,
                report,
            }),
            columns: self.columns(fields),
            ordered: true,
            batch: BatchLimit::default(),
            interrupt: self.query.interrupt.as_ref(),
        })
    }

    /// Reads the events of some ranges, at least the newest `left` of them.
    pub(super) fn read(&self, ranges: &[Range], left: usize, held: &Held) -> Result<Found> {
        let reading = self.reading(self.query.fields.as_deref(), self.query.analyze)?;
        let shown = Shown::new(&self.tables.definition);
        let (mut found, mut bytes) = (Found::default(), 0);
        let mut scan = self.tables.scan(EventTable::Event, ranges, reading)?;
        let mut batch = Batch::new();
        while scan.next_batch(&mut batch)? {
            let before = bytes;
            for entry in batch.iter() {
                if entry.key.family == EVENT_REPORT {
                    let handled = entry.value.try_into().map(u64::from_be_bytes);
                    found.handled += handled.unwrap_or_default();
                    continue;
                }
                let Ok(row) = EventRow::try_from(entry.key.row) else {
                    continue;
                };
                found.sent += 1;
                if !self.is_wanted(&row) {
                    continue;
                }
                let event = Event::new(shown, row, entry.key.visibility, entry.value);
                bytes += event.memory();
                found.events.push(event);
            }
            if left < usize::MAX / 4 && found.events.len() > 2 * left + 1024 {
                found.keep_newest(left);
                bytes = found.events.iter().map(Event::memory).sum();
            }
            // Also if another thread has most of it.
            if !held.change(before, bytes) {
                found.too_many = true;
                break;
            }
        }
        Ok(found)
    }

    /// The events that the index names; `None` if there are more than `most`.
    fn rows(
        &self,
        lookup: &Lookup,
        from: i64,
        to: i64,
        most: usize,
    ) -> Result<Option<BTreeSet<EventRow>>> {
        let mut rows = BTreeSet::new();
        let complete = self.each_row(lookup, (from, to), most, &mut |row| {
            rows.insert(row);
            rows.len() <= most
        })?;
        Ok(complete.then_some(rows))
    }

    /// Calls `visit` with the events that the index names, until it returns `false`; an event may come twice. Returns
    /// whether all of them came. Of tests that must all hold, the events of the first are held, at most `most`.
    fn each_row(
        &self,
        lookup: &Lookup,
        times: (i64, i64),
        most: usize,
        visit: &mut dyn FnMut(EventRow) -> bool,
    ) -> Result<bool> {
        match lookup {
            Lookup::Values(field, forms) => {
                let ranges = form_ranges(*field, forms, times.0, times.1);
                self.index(&ranges, times.0, times.1, visit)
            }
            Lookup::Any(parts) => {
                for part in parts {
                    if !self.each_row(part, times, most, visit)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Lookup::All(parts) => {
                let Some((first, others)) = parts.split_first() else {
                    return Ok(true);
                };
                let Some(mut rows) = self.rows(first, times.0, times.1, most)? else {
                    return Ok(false);
                };
                for part in others {
                    if rows.is_empty() {
                        break;
                    }
                    let mut both = BTreeSet::new();
                    let complete = self.each_row(part, times, most, &mut |row| {
                        if rows.contains(&row) {
                            both.insert(row);
                        }
                        true
                    })?;
                    if !complete {
                        return Ok(false);
                    }
                    rows = both;
                }
                Ok(rows.into_iter().all(visit))
            }
        }
    }
}

impl Found {
    /// Adds what another part of the window had.
    fn add(&mut self, other: Self) {
        match self.events.is_empty() {
            true => self.events = other.events,
            false => self.events.extend(other.events),
        }
        self.too_many |= other.too_many;
        self.handled += other.handled;
        self.sent += other.sent;
    }

    /// Sorts, and keeps the newest. The events of a shard are in order already.
    fn keep_newest(&mut self, left: usize) {
        self.events
            .sort_by(|a, b| order(&a.row).cmp(&order(&b.row)));
        self.events.truncate(left);
    }
}

impl Prepared<'_> {
    /// Fetches rows with all their fields; returns how many events there were.
    pub(super) fn fetch_count(&self, ranges: &[Range]) -> Result<u64> {
        let reading = Reading {
            authorizations: &self.query.authorizations,
            iterator: event_scan(&EventScan {
                snapshot: &self.snapshot,
                condition: &crate::condition::Condition::All,
                types: Vec::new(),
                fields: None,
                from: i64::MIN,
                to: i64::MAX,
                report: false,
            }),
            columns: ostrakon_cell::ColumnSelection::all(),
            ordered: true,
            batch: BatchLimit::default(),
            interrupt: self.query.interrupt.as_ref(),
        };
        let mut scan = self.tables.scan(EventTable::Event, ranges, reading)?;
        let (mut batch, mut found) = (Batch::new(), 0);
        while scan.next_batch(&mut batch)? {
            found += batch.len() as u64;
        }
        Ok(found)
    }
}
