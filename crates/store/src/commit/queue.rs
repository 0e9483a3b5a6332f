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
    /// Queues a commit; waits while more than `max_bytes` are queued. Returns the commit if the
    /// queue is closed.
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

    /// Takes all queued commits, in order of submission; waits for the first. `false` when the
    /// queue is closed and empty. `group` must be empty.
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

    /// Accepts no more commits; queued ones are still taken.
    pub(crate) fn close(&self) {
        self.queue.lock().closed = true;
        self.arrived.notify_all();
        self.left.notify_all();
    }

    /// Accepts no more commits and drops the queued ones, because no thread takes them any more.
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
