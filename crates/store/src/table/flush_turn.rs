//! Whose turn it is to flush a table.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::compaction::Cancel;

/// One flush at a time. A compaction that takes memory along has the turn for long, and so gives way to
/// whoever wants to flush meanwhile: writers must not wait for it.
#[derive(Default)]
pub(super) struct FlushTurn {
    turn: Mutex<()>,
    waiting: AtomicUsize,
    /// Stops the one that gives way, while it has the turn.
    yielding: Mutex<Option<Cancel>>,
}

/// The turn of one that gives way.
pub(super) struct YieldingTurn<'a> {
    of: &'a FlushTurn,
    _turn: MutexGuard<'a, ()>,
}

impl FlushTurn {
    /// Takes the turn, from one that gives way if need be.
    pub(super) fn take(&self) -> MutexGuard<'_, ()> {
        if let Some(turn) = self.turn.try_lock() {
            return turn;
        }
        // Counted first: one that takes a yielding turn after this sees it.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        if let Some(cancel) = &*self.yielding.lock() {
            cancel.cancel();
        }
        let turn = self.turn.lock();
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        turn
    }

    /// Takes the turn until somebody else wants it: then `cancel` is set off.
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

    /// Whether somebody has the turn.
    pub(super) fn is_taken(&self) -> bool {
        self.turn.is_locked()
    }

    /// Whether one that gives way has the turn.
    pub(super) fn is_yielding(&self) -> bool {
        self.yielding.lock().is_some()
    }
}

impl Drop for YieldingTurn<'_> {
    fn drop(&mut self) {
        // Before the turn itself ends, which fields do after this.
        *self.of.yielding.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn who_yields_is_told() {
        let turns = FlushTurn::default();
        let cancel = Cancel::default();
        let yielding = turns.take_yielding(&cancel);
        assert!(turns.is_taken() && turns.is_yielding() && !cancel.is_cancelled());
        std::thread::scope(|scope| {
            let other = scope.spawn(|| drop(turns.take()));
            while !cancel.is_cancelled() {
                assert!(!other.is_finished(), "nobody asked");
                std::thread::yield_now();
            }
            drop(yielding);
            other.join().unwrap();
        });
        assert!(!turns.is_taken() && !turns.is_yielding());
        // The next one is not asked for what another was.
        let next = Cancel::default();
        let _turn = turns.take_yielding(&next);
        assert!(!next.is_cancelled());
    }
}
