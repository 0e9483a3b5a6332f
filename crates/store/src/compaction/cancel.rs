//! The flag that stops a flush or a compaction, and its progress counter.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ostrakon_cell::Interrupt;

use crate::error::StoreResult;

/// Stops a running flush or compaction from another thread.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    interrupt: Interrupt,
    /// Number of reads below the iterators.
    steps: Arc<AtomicU64>,
}

impl Cancel {
    /// Requests the work to stop.
    pub fn cancel(&self) {
        self.interrupt.set();
    }

    /// Whether a stop was requested.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.interrupt.is_set()
    }

    /// Whether this is the same flag as `other`.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self.interrupt.is(&other.interrupt)
    }

    /// Returns an error once a stop was requested.
    pub fn check(&self) -> StoreResult<()> {
        self.interrupt.check()
    }

    /// The interrupt that iterators poll.
    #[must_use]
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Counts one read of the iterators.
    pub fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// Reads so far. If the number does not change the iterators are stalled.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }
}
