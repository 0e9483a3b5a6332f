//! The switch that stops a flush or a compaction, and the sign that it still moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ostrakon_cell::Interrupt;

use crate::error::StoreResult;

/// Stops a running flush or compaction from another thread.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    interrupt: Interrupt,
    /// How often something was read from below the iterators.
    steps: Arc<AtomicU64>,
}

impl Cancel {
    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.interrupt.set();
    }

    /// Whether it was asked.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.interrupt.is_set()
    }

    /// Whether this is the same switch as `other`.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self.interrupt.is(&other.interrupt)
    }

    /// An error once it was asked.
    pub fn check(&self) -> StoreResult<()> {
        self.interrupt.check()
    }

    /// What iterators poll.
    #[must_use]
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Counts a step: iterators read on.
    pub fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// Steps so far. A number that stands still tells of iterators that do not read on.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }
}
