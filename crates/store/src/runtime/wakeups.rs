//! What wakes the background threads.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Wakes background threads when there may be work.
#[derive(Default)]
pub(crate) struct Wakeups {
    /// Memtables may need flushing.
    pub(crate) flush: Wakeup,
    /// Tablets may need compacting or splitting.
    pub(crate) compact: Wakeup,
    /// Memtable runs may need merging, files deleting.
    pub(crate) maintenance: Wakeup,
}

impl Wakeups {
    /// Wakes every thread.
    pub(crate) fn all(&self) {
        self.flush.wake();
        self.compact.wake();
        self.maintenance.wake();
    }
}

/// A condition variable that remembers a signal.
#[derive(Default)]
pub(crate) struct Wakeup {
    signalled: Mutex<bool>,
    changed: Condvar,
}

impl Wakeup {
    /// Wakes the waiting threads.
    pub(crate) fn wake(&self) {
        *self.signalled.lock() = true;
        self.changed.notify_all();
    }

    /// Waits until woken, or for `at_most`.
    pub(crate) fn wait(&self, at_most: Duration) {
        let mut signalled = self.signalled.lock();
        if !*signalled {
            self.changed.wait_for(&mut signalled, at_most);
        }
        *signalled = false;
    }
}
