//! Tickets, with which writers wait for submitted batches.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::error::{Error, ErrorKind, StoreResult};

/// The outcome of one submitted batch: the writer waits for it, the log thread sets it.
#[derive(Clone, Default)]
pub(crate) struct Ticket(Arc<TicketState>);

#[derive(Default)]
struct TicketState {
    outcome: Mutex<Option<Result<(), Error>>>,
    settled: Condvar,
    /// Locked only while `outcome` is, so that no wake-up is lost.
    waker: Mutex<Option<Waker>>,
}

impl Ticket {
    /// Waits until the batch is applied or has failed.
    pub(crate) fn wait(&self) -> StoreResult<()> {
        let mut outcome = self.0.outcome.lock();
        loop {
            match &*outcome {
                Some(Ok(())) => return Ok(()),
                Some(Err(error)) => return Err(error.duplicate()),
                None => self.0.settled.wait(&mut outcome),
            }
        }
    }

    /// As [`wait`](Self::wait), but not for longer than `timeout`.
    pub(crate) fn wait_at_most(&self, timeout: Duration) -> StoreResult<()> {
        let mut outcome = self.0.outcome.lock();
        self.0
            .settled
            .wait_while_for(&mut outcome, |outcome| outcome.is_none(), timeout);
        match &*outcome {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(error.duplicate()),
            None => Err(Error::new(
                ErrorKind::Unavailable,
                "the write was not acknowledged in time; it may still be applied",
            )
            .with("timeout", format!("{timeout:?}"))),
        }
    }

    /// Whether the outcome is known.
    #[must_use]
    pub(crate) fn is_settled(&self) -> bool {
        self.0.outcome.lock().is_some()
    }

    /// Wakes `waker` once the outcome is known, also if it is already.
    ///
    /// Cloning, waking and dropping a waker is code of the caller, which may use the ticket: no lock is held meanwhile.
    pub(crate) fn wake_when_settled(&self, waker: &Waker) {
        let waker = waker.clone();
        let outcome = self.0.outcome.lock();
        if outcome.is_none() {
            let earlier = self.0.waker.lock().replace(waker);
            drop(outcome);
            drop(earlier);
            return;
        }
        drop(outcome);
        waker.wake();
    }

    /// Sets the outcome; the first one counts.
    pub(crate) fn settle(&self, outcome: Result<(), Error>) {
        let mut known = self.0.outcome.lock();
        if known.is_some() {
            return;
        }
        *known = Some(outcome);
        let waker = self.0.waker.lock().take();
        self.0.settled.notify_all();
        drop(known);
        if let Some(waker) = waker {
            // The thread of the log goes on when the caller's code panics. The panic was reported by its hook.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }

    /// Sets an error as the outcome if there is none yet.
    pub(crate) fn abandon(&self) {
        if !self.is_settled() {
            self.settle(Err(Error::new(
                ErrorKind::Internal,
                "the log stopped before the write was acknowledged; it may be there when the store \
                 is opened again",
            )));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_ticket_wakes_its_last_waker_once() {
        let (first, last) = (Arc::new(Count::default()), Arc::new(Count::default()));
        let count = |count: &Count| count.0.load(Ordering::SeqCst);
        let ticket = Ticket::default();
        ticket.wake_when_settled(&Waker::from(first.clone()));
        ticket.wake_when_settled(&Waker::from(last.clone()));
        assert_eq!((count(&first), count(&last)), (0, 0));
        ticket.settle(Ok(()));
        ticket.settle(Ok(()));
        assert_eq!((count(&first), count(&last)), (0, 1));
        ticket.wake_when_settled(&Waker::from(first.clone()));
        assert_eq!((count(&first), count(&last)), (1, 1), "settled already");
    }
}
