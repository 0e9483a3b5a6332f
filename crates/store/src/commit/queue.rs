//! The queue between writers and the log thread.

use parking_lot::{Condvar, Mutex};

use super::logged::LoggedCommit;

/// The queue between writers and the log thread.
pub(crate) struct CommitQueue {
    queue: Mutex<Queue>,
    arrived: Condvar,
    left: Condvar,
}

struct Queue {
    waiting: Vec<LoggedCommit>,
    bytes: usize,
    closed: bool,
}

impl Default for CommitQueue {
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

impl CommitQueue {
    /// Hands a commit over, waiting while more than `max_bytes` wait already. Gives it back when
    /// the queue is closed.
    pub(crate) fn submit(
        &self,
        commit: LoggedCommit,
        max_bytes: usize,
    ) -> Result<(), LoggedCommit> {
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
    pub(crate) fn take(&self, group: &mut Vec<LoggedCommit>) -> bool {
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
    pub(crate) fn close(&self) {
        self.queue.lock().closed = true;
        self.arrived.notify_all();
        self.left.notify_all();
    }

    /// Lets nothing more in and drops what waits: there is nothing left that takes it.
    pub(crate) fn abandon(&self) {
        self.close();
        let waiting = {
            let mut queue = self.queue.lock();
            queue.bytes = 0;
            std::mem::take(&mut queue.waiting)
        };
        drop(waiting);
    }
}
