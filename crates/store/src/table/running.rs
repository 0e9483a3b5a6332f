//! Running flushes and compactions: how to stop them, and which of them are stalled.

use std::sync::Arc;

use ostrakon_cell::Activity;
use parking_lot::Mutex;

use super::core::TableCore;
use crate::catalog::{Fence, TableId};
use crate::compaction::Cancel;
use crate::error::{Error, ErrorKind};
use crate::metrics::Metrics;

/// Background work that runs iterators of tables.
#[derive(Default)]
pub(crate) struct Running(Mutex<Vec<Work>>);

/// A flush, or the compaction of a tablet.
#[derive(Clone)]
pub(crate) struct Work {
    /// The table.
    pub(crate) table: TableId,
    /// The table's name when it began.
    pub(crate) name: Arc<str>,
    /// The kind of work.
    pub(crate) activity: Activity,
    /// The tablet; `None` for the whole table.
    pub(crate) tablet: Option<Fence>,
    /// The classes of the table's iterators in it; empty if there are none, so that only the disk
    /// can be slow.
    pub(crate) classes: String,
    cancel: Cancel,
}

/// Detects stalled work. Each watcher has its own, with its own clock.
#[derive(Default)]
pub(crate) struct Watch {
    /// Per work: when it last made progress, and how far it was then.
    seen: Vec<(Cancel, u64, u64)>,
}

/// Running work, which ends when this is dropped.
pub(super) struct Begun<'a> {
    of: &'a Running,
    cancel: Cancel,
    /// Set if it counts as a flush.
    flush: Option<Arc<Metrics>>,
}

impl Running {
    pub(super) fn begin(
        &self,
        table: &TableCore,
        activity: Activity,
        tablet: Option<Fence>,
        classes: String,
        cancel: Cancel,
    ) -> Begun<'_> {
        let work = Work {
            table: table.id(),
            name: table.status().name,
            activity,
            tablet,
            classes,
            cancel: cancel.clone(),
        };
        self.0.lock().push(work);
        Begun {
            of: self,
            cancel,
            flush: None,
        }
    }

    /// Requests a table's work to stop.
    pub(crate) fn stop_table(&self, table: TableId) {
        let running = self.0.lock();
        for work in running.iter().filter(|work| work.table == table) {
            work.cancel.cancel();
        }
    }

    /// Requests a table's flushes that run its iterators to stop.
    pub(crate) fn stop_flushes_of(&self, table: TableId) {
        let running = self.0.lock();
        let is_meant = |work: &&Work| {
            work.table == table && work.activity == Activity::Flush && !work.classes.is_empty()
        };
        running.iter().filter(is_meant).for_each(Work::stop);
    }

    /// A table's work that runs its iterators, and how far it is.
    pub(super) fn progress_of(&self, table: TableId) -> Vec<(Work, u64)> {
        let running = self.0.lock();
        let own = running
            .iter()
            .filter(|work| work.table == table && !work.classes.is_empty());
        own.map(|work| (work.clone(), work.cancel.steps()))
            .collect()
    }

    /// Whether this work still runs and has read nothing since it was at `steps`.
    pub(super) fn is_at(&self, work: &Work, steps: u64) -> bool {
        let running = self.0.lock();
        let is_running = running.iter().any(|other| other.cancel.is(&work.cancel));
        is_running && work.cancel.steps() == steps
    }

    /// Requests all work that runs iterators of tables to stop; other work ends as soon as the disk
    /// does.
    pub(crate) fn stop_iterators(&self) {
        let running = self.0.lock();
        for work in running.iter().filter(|work| !work.classes.is_empty()) {
            work.cancel.cancel();
        }
    }

    /// Requests compactions to stop.
    pub(crate) fn stop_compactions(&self) {
        let running = self.0.lock();
        let compactions = running
            .iter()
            .filter(|work| work.activity == Activity::Compaction);
        compactions.for_each(Work::stop);
    }

    /// Returns an error for work that still runs iterators although it was asked to stop.
    pub(crate) fn left_behind(&self, of: Option<TableId>) -> Option<Error> {
        let running = self.0.lock();
        let work = running.iter().find(|work| {
            work.cancel.is_cancelled()
                && !work.classes.is_empty()
                && of.is_none_or(|table| table == work.table)
        })?;
        Some(
            Error::new(
                ErrorKind::Unavailable,
                "an iterator neither ends nor looks at its interrupt; its thread was left behind and changes nothing \
                 any more",
            )
            .with("table", &work.name)
            .with("work", work.activity.as_str())
            .with("class", &work.classes),
        )
    }
}

impl Work {
    /// Requests it to stop.
    pub(crate) fn stop(&self) {
        self.cancel.cancel();
    }

    /// The error that it is stalled.
    pub(crate) fn stall(&self) -> Error {
        Error::new(
            ErrorKind::Unavailable,
            "an iterator has read nothing for a while and does not end",
        )
        .with("class", &self.classes)
    }
}

impl Watch {
    /// Checks work that runs iterators, at time `now`: calls `stalled` for work whose iterators
    /// have read nothing for `patience`.
    pub(crate) fn look(
        &mut self,
        running: &Running,
        now: u64,
        patience: u64,
        mut stalled: impl FnMut(&Work),
    ) {
        let running = running.0.lock();
        self.seen
            .retain(|(cancel, _, _)| running.iter().any(|work| work.cancel.is(cancel)));
        for work in running.iter().filter(|work| !work.classes.is_empty()) {
            let steps = work.cancel.steps();
            match self.seen.iter_mut().find(|seen| seen.0.is(&work.cancel)) {
                None => self.seen.push((work.cancel.clone(), now, steps)),
                Some((_, moved, before)) if *before != steps => (*moved, *before) = (now, steps),
                Some((_, moved, _)) if now.saturating_sub(*moved) >= patience => stalled(work),
                Some(_) => {}
            }
        }
    }
}

impl Begun<'_> {
    /// The handle that cancels it.
    pub(super) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Counts it as a flush while it runs.
    pub(super) fn counted_as_flush(mut self, metrics: &Arc<Metrics>) -> Self {
        metrics.flushes_running.add(1);
        self.flush = Some(metrics.clone());
        self
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let mut running = self.of.0.lock();
        if let Some(at) = running.iter().position(|work| work.cancel.is(&self.cancel)) {
            running.swap_remove(at);
        }
        if let Some(metrics) = &self.flush {
            metrics.flushes_running.subtract(1);
        }
    }
}
