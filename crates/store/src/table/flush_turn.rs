//! Serializes the flushes of a table.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::compaction::Cancel;

/// Allows one flush at a time. A compaction that includes memtables holds the turn for long, so it
/// gives way to a flush: writers must not wait for it.
#[derive(Default)]
pub(super) struct FlushTurn {
    turn: Mutex<()>,
    waiting: AtomicUsize,
    /// Cancels the present holder, if it yields.
    yielding: Mutex<Option<Cancel>>,
}

/// The turn of a holder that yields.
pub(super) struct YieldingTurn<'a> {
    of: &'a FlushTurn,
    _turn: MutexGuard<'a, ()>,
}

impl FlushTurn {
    /// Takes the turn, from a holder that yields if necessary.
    pub(super) fn take(&self) -> MutexGuard<'_, ()> {
        if let Some(turn) = self.turn.try_lock() {
            return turn;
        }
        // Counted first, so that a later yielding holder sees it.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        if let Some(cancel) = &*self.yielding.lock() {
            cancel.cancel();
        }
        let turn = self.turn.lock();
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        turn
    }

    /// Takes the turn until another thread wants it: then `cancel` is triggered.
    pub(super) fn take_yielding(&self, cancel: &Cancel) -> YieldingTurn<'_> {
        let turn = self.turn.lock();
        *self.yielding.lock() = Some(cancel.clone());
        if self.waiting.load(Ordering::SeqCst) > 0 {
            cancel.cancel();
        }
        YieldingTurn {
            of: self,
            _turn: turn,
        }
    }

    /// Whether the turn is taken.
    pub(super) fn is_taken(&self) -> bool {
        self.turn.is_locked()
    }

    /// Whether the holder of the turn yields.
    pub(super) fn is_yielding(&self) -> bool {
        self.yielding.lock().is_some()
    }
}

impl Drop for YieldingTurn<'_> {
    fn drop(&mut self) {
        // Before the turn itself ends: fields are dropped after this.
        *self.of.yielding.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn a_yielding_holder_is_cancelled() {
        let turns = FlushTurn::default();
        let cancel = Cancel::default();
        let yielding = turns.take_yielding(&cancel);
        assert!(turns.is_taken() && turns.is_yielding() && !cancel.is_cancelled());
        std::thread::scope(|scope| {
            let other = scope.spawn(|| drop(turns.take()));
            while !cancel.is_cancelled() {
                assert!(!other.is_finished(), "no flush was requested");
                std::thread::yield_now();
            }
            drop(yielding);
            other.join().unwrap();
        });
        assert!(!turns.is_taken() && !turns.is_yielding());
        // A request to the previous holder does not affect the next one.
        let next = Cancel::default();
        let _turn = turns.take_yielding(&next);
        assert!(!next.is_cancelled());
    }
}
