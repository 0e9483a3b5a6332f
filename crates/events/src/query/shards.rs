//! Reads the shards of a time by several threads.
//!
//! Each thread has a scan of its own, over shards that follow one another, and makes events of what that returns. What
//! is read does not depend on the number of threads: only shards are divided, which the type names.

use std::collections::BTreeMap;
use std::ops::Range as Shards;
use std::sync::atomic::{AtomicUsize, Ordering};

use ostrakon_cell::{Batch, Range, Result};

use super::counts::start_of;
use super::densities::Totals;
use super::prepare::Prepared;
use super::run::Found;
use crate::condition::check_length;
use crate::iterators::EventTable;
use crate::layout::{event_range, event_time};

/// Spans of time that are counted one by one. If there are more, the time between them is read, too.
const SPANS_MAX: usize = 256;

/// The memory that the events of a window take, whichever thread has them.
pub(super) struct Held {
    bytes: AtomicUsize,
    /// The most bytes that may be held.
    limit: usize,
}

impl Held {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            bytes: AtomicUsize::new(0),
            limit,
        }
    }

    /// Notes how a thread's share has changed; whether all of them are within the limit.
    pub(super) fn change(&self, before: usize, now: usize) -> bool {
        let others = match now >= before {
            true => self.bytes.fetch_add(now - before, Ordering::Relaxed) + (now - before),
            false => self.bytes.fetch_sub(before - now, Ordering::Relaxed) - (before - now),
        };
        others <= self.limit
    }
}

impl Prepared<'_> {
    /// Reads the events of a window, at least the newest `left` of them.
    pub(super) fn read_window(
        &self,
        (from, to): (i64, i64),
        left: usize,
        held: &Held,
    ) -> Result<Vec<Found>> {
        self.by_parts(|shards| {
            let ranges: Vec<Range> = shards.map(|shard| event_range(shard, from, to)).collect();
            self.read(&ranges, left, held)
        })
    }

    /// Adds the number of events in each span of time to `bins`, without reading more of them than the condition tests.
    /// `totals` tell where there are events.
    pub(super) fn count_events(
        &self,
        totals: &Totals,
        span: i64,
        bins: &mut BTreeMap<i64, u64>,
    ) -> Result<()> {
        check_length(&self.condition)?;
        let spans = self.spans(totals);
        if spans.is_empty() {
            return Ok(());
        }
        let parts = self.by_parts(|shards| {
            let ranges: Vec<Range> = shards
                .flat_map(|shard| {
                    // The newest come first in the table, too.
                    spans
                        .iter()
                        .map(move |&(from, to)| event_range(shard, from, to))
                })
                .collect();
            let mut scan =
                self.tables
                    .scan(EventTable::Event, &ranges, self.reading(Some(&[]), false)?)?;
            let (mut batch, mut counts) = (Batch::new(), BTreeMap::<i64, u64>::new());
            // Events of one span follow one another.
            let (mut last, mut count) = (None, 0);
            while scan.next_batch(&mut batch)? {
                for entry in batch.iter() {
                    let start = event_time(entry.key.row).map(|time| start_of(time, span));
                    if start != last {
                        if let Some(last) = last {
                            *counts.entry(last).or_default() += count;
                        }
                        (last, count) = (start, 0);
                    }
                    count += 1;
                }
            }
            if let Some(last) = last {
                *counts.entry(last).or_default() += count;
            }
            Ok(counts)
        })?;
        for (start, count) in parts.into_iter().flatten() {
            *bins.entry(start).or_default() += count;
        }
        Ok(())
    }

    /// Spans of time that have all events, newest first.
    fn spans(&self, totals: &Totals) -> Vec<(i64, i64)> {
        let mut spans: Vec<(i64, i64)> = Vec::new();
        for &(start, _) in totals.bins.iter().filter(|(_, count)| *count > 0) {
            let from = start.max(self.from);
            let to = start.saturating_add(self.bin).min(self.to);
            match spans.last_mut() {
                Some(newer) if newer.0 == to => newer.0 = from,
                _ if from < to => spans.push((from, to)),
                _ => {}
            }
        }
        match (spans.first(), spans.last()) {
            (Some(newest), Some(oldest)) if spans.len() > SPANS_MAX => vec![(oldest.0, newest.1)],
            _ => spans,
        }
    }

    /// Calls `work` for parts of the shards, each by a thread; returns the results in the order of the shards.
    fn by_parts<T: Send>(&self, work: impl Fn(Shards<u16>) -> Result<T> + Sync) -> Result<Vec<T>> {
        let shards = self.tables.definition.shard_count();
        let threads = self
            .query
            .settings
            .threads()
            .min(usize::from(shards))
            .max(1);
        let each = shards.div_ceil(threads as u16);
        let part = |number: u16| number * each..shards.min((number + 1) * each);
        let parts = shards.div_ceil(each.max(1));
        let work = &work;
        let results: Vec<Result<T>> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..parts)
                .map(|number| {
                    let thread = std::thread::Builder::new().name("ostrakon-shards".into());
                    let spawned = thread.spawn_scoped(scope, move || work(part(number)));
                    (number, spawned)
                })
                .collect();
            let first = work(part(0));
            let others = others.into_iter().map(|(number, thread)| match thread {
                Ok(thread) => thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                // Without another thread, this one reads it.
                Err(_) => work(part(number)),
            });
            std::iter::once(first).chain(others).collect()
        });
        results.into_iter().collect()
    }
}
