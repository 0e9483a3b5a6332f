//! The memory for reading ahead, shared by all scans and compactions of a store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of readers that should get memory if each takes the same.
const READERS: u64 = 16;

/// Bytes of blocks that were requested and not reached yet.
#[derive(Debug)]
pub(crate) struct AheadBudget {
    used: AtomicU64,
    most: u64,
}

impl AheadBudget {
    /// For at most this many bytes.
    pub(super) fn new(most: u64) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicU64::new(0),
            most,
        })
    }

    /// The maximum for one reader.
    pub(crate) fn share(&self) -> usize {
        usize::try_from(self.most / READERS).unwrap_or(usize::MAX)
    }

    /// Bytes reserved at present.
    #[cfg(test)]
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Reserves this many bytes, if they are left.
    pub(crate) fn reserve(self: &Arc<Self>, bytes: usize) -> Option<Reservation> {
        let bytes = bytes as u64;
        let more = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.most);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .ok()?;
        Some(Reservation {
            budget: self.clone(),
            bytes,
        })
    }
}

/// Bytes that are reserved until this is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<AheadBudget>,
    bytes: u64,
}

impl Reservation {
    /// Corrects the number of bytes to the actual one. They are in memory already, so this may
    /// exceed the budget; then the next reservation fails.
    pub(crate) fn correct(&mut self, bytes: usize) {
        let bytes = bytes as u64;
        let used = &self.budget.used;
        if bytes >= self.bytes {
            used.fetch_add(bytes - self.bytes, Ordering::Relaxed);
        } else {
            used.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn reservations_do_not_exceed_the_budget() {
        let budget = AheadBudget::new(100);
        let mut first = budget.reserve(60).unwrap();
        assert!(budget.reserve(41).is_none());
        let second = budget.reserve(40).unwrap();
        first.correct(300);
        assert_eq!(budget.used(), 340);
        drop(second);
        assert!(budget.reserve(0).is_none());
        first.correct(10);
        assert!(budget.reserve(usize::MAX).is_none());
        let third = budget.reserve(90).unwrap();
        drop((first, third));
        assert_eq!(budget.used(), 0);
    }
}
