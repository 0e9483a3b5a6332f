//! Tickets, with which writers wait for submitted batches.

use std::sync::Arc;
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

    /// Sets the outcome; the first one counts.
    pub(crate) fn settle(&self, outcome: Result<(), Error>) {
        let mut known = self.0.outcome.lock();
        if known.is_none() {
            *known = Some(outcome);
            self.0.settled.notify_all();
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
