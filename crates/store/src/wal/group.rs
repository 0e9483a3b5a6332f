//! Group commit: many writers, one log thread, one sync for all that wait.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::error::{Error, ErrorKind, StoreResult};

/// What becomes of one submitted batch: the writer waits on it, the log thread settles it.
#[derive(Clone, Default)]
pub struct Ticket(Arc<TicketState>);

#[derive(Default)]
struct TicketState {
    outcome: Mutex<Option<Result<(), Error>>>,
    settled: Condvar,
}

impl Ticket {
    /// Waits until the batch is applied or has failed.
    pub fn wait(&self) -> StoreResult<()> {
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
    pub fn wait_at_most(&self, timeout: Duration) -> StoreResult<()> {
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
    pub fn is_settled(&self) -> bool {
        self.0.outcome.lock().is_some()
    }

    /// Makes the outcome known; the first one counts.
    pub fn settle(&self, outcome: Result<(), Error>) {
        let mut known = self.0.outcome.lock();
        if known.is_none() {
            *known = Some(outcome);
            self.0.settled.notify_all();
        }
    }

    /// Makes known, if nothing else is, that there will be no outcome.
    pub fn abandon(&self) {
        if !self.is_settled() {
            self.settle(Err(Error::new(
                ErrorKind::Internal,
                "the log stopped before the write was acknowledged; it may be there when the store \
                 is opened again",
            )));
        }
    }
}

/// Something to be committed: what the queue holds.
pub trait Commit: Send {
    /// Bytes it keeps in memory.
    fn bytes(&self) -> usize;
}

/// The queue between writers and the log thread.
pub struct CommitGroup<C> {
    queue: Mutex<Queue<C>>,
    arrived: Condvar,
    left: Condvar,
}

struct Queue<C> {
    waiting: Vec<C>,
    bytes: usize,
    closed: bool,
}

impl<C: Commit> Default for CommitGroup<C> {
    fn default() -> Self {
        Self {
            queue: Mutex::new(Queue {
                waiting: Vec::new(),
                bytes: 0,
                closed: false,
            }),
            arrived: Condvar::new(),
            left: Condvar::new(),
        }
    }
}

impl<C: Commit> CommitGroup<C> {
    /// Hands a commit over, waiting while more than `max_bytes` wait already. Gives it back when
    /// the queue is closed.
    pub fn submit(&self, commit: C, max_bytes: usize) -> Result<(), C> {
        let mut queue = self.queue.lock();
        while queue.bytes > max_bytes && !queue.closed {
            self.left.wait(&mut queue);
        }
        if queue.closed {
            return Err(commit);
        }
        queue.bytes += commit.bytes();
        queue.waiting.push(commit);
        self.arrived.notify_one();
        Ok(())
    }

    /// Takes all that wait, in order of submission; waits for the first. `false` when the queue is
    /// closed and empty. `group` is handed over empty.
    pub fn take(&self, group: &mut Vec<C>) -> bool {
        let mut queue = self.queue.lock();
        while queue.waiting.is_empty() {
            if queue.closed {
                return false;
            }
            self.arrived.wait(&mut queue);
        }
        std::mem::swap(&mut queue.waiting, group);
        queue.bytes = 0;
        self.left.notify_all();
        true
    }

    /// Lets nothing more in; what waits is still taken.
    pub fn close(&self) {
        self.queue.lock().closed = true;
        self.arrived.notify_all();
        self.left.notify_all();
    }

    /// Lets nothing more in and drops what waits: there is nothing left that takes it.
    pub fn abandon(&self) {
        self.close();
        let waiting = {
            let mut queue = self.queue.lock();
            queue.bytes = 0;
            std::mem::take(&mut queue.waiting)
        };
        drop(waiting);
    }
}
