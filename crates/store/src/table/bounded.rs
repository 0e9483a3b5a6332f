//! Bounded waits for work that runs iterators: an iterator is application code, and may never end.

use std::sync::{Arc, Weak};
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, after, bounded};
use ostrakon_cell::Activity;
use parking_lot::Mutex;

use super::caller::Deadline;
use super::core::TableCore;
use super::running::Watch;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::threads;

/// Polling interval of a waiting thread.
pub(crate) const LOOK: Duration = Duration::from_millis(10);

/// Iterators that read nothing for this time are asked to stop when a caller waits for their work.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Work whose iterators read nothing for this time is stopped when a user cancels compactions.
const CANCEL_PATIENCE: Duration = Duration::from_secs(1);

/// All work that runs iterators is asked to stop after this time when the store closes.
pub(crate) const LONGEST: Duration = Duration::from_secs(60);

/// Work that was asked to stop and did not end within this time is left behind.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// Number of polls in this time.
pub(crate) const fn looks(time: Duration) -> u64 {
    (time.as_millis() / LOOK.as_millis()) as u64
}

/// Work that goes on after the deadlines of its callers: its name, and what lives as long as it.
#[derive(Default)]
pub(super) struct Unattended(Mutex<Vec<(String, Weak<()>)>>);

impl Unattended {
    fn add(&self, name: &str, alive: Weak<()>) {
        self.0.lock().push((name.to_owned(), alive));
    }

    fn has(&self, name: &str) -> bool {
        let mut all = self.0.lock();
        all.retain(|(_, alive)| alive.strong_count() > 0);
        all.iter().any(|(known, _)| known == name)
    }
}

/// Runs `work` on a new thread and waits for it. Once `is_stopped`, called with the number of the
/// poll, returns `true` and work goes on for [`GRACE`], the thread is left behind: it may then only
/// return to code that checks whether it is stopped. After `deadline` only the caller stops
/// waiting: the work goes on, and closing the store ends it.
pub(in crate::table) fn run<T: Send + 'static>(
    table: &Arc<TableCore>,
    name: &str,
    deadline: Option<&Deadline>,
    work: impl FnOnce(&Arc<TableCore>) -> StoreResult<T> + Send + 'static,
    mut is_stopped: impl FnMut(u64) -> bool,
) -> StoreResult<T> {
    let timed_out = |message: &'static str| {
        Error::new(ErrorKind::TimedOut, message).with("table", table.status().name)
    };
    while let Some(deadline) = deadline
        && table.unattended.has(name)
    {
        if deadline.left().is_zero() {
            return Err(timed_out(
                "the time that the caller has for its calls is over; the same work goes on for an earlier caller, and \
                 this call started none",
            ));
        }
        let _ = after(LOOK).recv();
    }
    let (done, is_done) = bounded(1);
    let own = table.clone();
    let alive = Arc::new(());
    let still_alive = Arc::downgrade(&alive);
    let thread = threads::spawn(name, move || {
        let _alive = alive;
        // Work that was left behind has no receiver any more.
        let _ = done.send(work(&own));
    })?;
    let mut stopped = 0;
    for look in 0.. {
        match is_done.recv_timeout(LOOK) {
            Ok(outcome) => return outcome,
            Err(RecvTimeoutError::Disconnected) => {
                // It panicked, which was printed.
                let _ = thread.join();
                break;
            }
            Err(RecvTimeoutError::Timeout) if is_stopped(look) => stopped += 1,
            Err(RecvTimeoutError::Timeout) => stopped = 0,
        }
        if stopped > looks(GRACE)
            && let Some(error) = table.context.running.left_behind(Some(table.id()))
        {
            table.context.metrics.threads_left_behind.increment();
            return Err(error);
        }
        if deadline.is_some_and(|deadline| deadline.left().is_zero()) {
            table.context.add_request(thread);
            table.unattended.add(name, still_alive);
            return Err(timed_out(
                "the time that the caller has for its calls is over; what it asked for goes on",
            ));
        }
    }
    Err(Error::new(
        ErrorKind::Internal,
        "work on a table panicked; an iterator of your own may be at fault",
    )
    .with("table", table.status().name))
}

impl TableCore {
    /// Writes the content of memory to files. Iterators that read nothing for [`PATIENCE`] are
    /// stopped and left out, like failing ones.
    pub(crate) fn flush_bounded(self: &Arc<Self>) -> StoreResult<()> {
        if !self.has_memory() {
            return Ok(());
        }
        run(
            self,
            "flush-request",
            None,
            |table| match table.flush_for_room() {
                Err(error) if error.kind() == ErrorKind::Cancelled => table.flush_as_is(),
                outcome => outcome,
            },
            self.stop_stalled(),
        )
    }

    /// Writes the content of memory to files before the store closes, as
    /// [`flush_to_close`](Self::flush_to_close) says, in bounded time.
    pub(crate) fn flush_to_close_bounded(self: &Arc<Self>) -> StoreResult<()> {
        if !self.has_flush_iterators() {
            return self.flush_to_close();
        }
        let stop_stalled = self.stop_stalled();
        run(
            self,
            "close",
            None,
            |table| table.flush_to_close(),
            stop_stalled,
        )
    }

    /// As [`flush_memtables`](Self::flush_memtables), and returns soon after `deadline` even if the flush goes on.
    pub(in crate::table) fn flush_until(
        self: &Arc<Self>,
        deadline: Option<&Deadline>,
    ) -> StoreResult<()> {
        if deadline.is_none() {
            return self.flush_memtables();
        }
        // Nothing stops this flush, so no work of the table that was stopped is its own.
        run(
            self,
            "flush-request",
            deadline,
            |table| table.flush_memtables(),
            |_| false,
        )
    }

    /// Stops flushes and background compactions of this table whose iterators read nothing for
    /// [`CANCEL_PATIENCE`]. Work that reads goes on.
    pub(in crate::table) fn cancel_stalled(&self) {
        let running = &self.context.running;
        let mut still = running.progress_of(self.id());
        for _ in 0..looks(CANCEL_PATIENCE) {
            if still.is_empty() {
                return;
            }
            let _ = after(LOOK).recv();
            still.retain(|(work, steps)| running.is_at(work, *steps));
        }
        for (work, _) in &still {
            work.stop();
        }
    }

    /// Stops work of this table that stalls or takes very long; returns whether there is such work.
    fn stop_stalled(self: &Arc<Self>) -> impl FnMut(u64) -> bool + use<> {
        let (table, mut watch) = (self.clone(), Watch::default());
        move |look| {
            let running = &table.context.running;
            watch.look(running, look, looks(PATIENCE), |work| {
                if work.table == table.id() && work.activity == Activity::Flush {
                    work.stop();
                }
            });
            if look > looks(LONGEST) {
                running.stop_table(table.id());
            }
            running.left_behind(Some(table.id())).is_some()
        }
    }
}
