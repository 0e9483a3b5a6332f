//! How much memory reading ahead may take, all scans and compactions of a store together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Readers that should find room, if each takes the same.
const READERS: u64 = 16;

/// Bytes of blocks that were asked for and not reached yet.
#[derive(Debug)]
pub(crate) struct AheadBudget {
    used: AtomicU64,
    most: u64,
}

impl AheadBudget {
    /// For at most so many bytes.
    pub(super) fn new(most: u64) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicU64::new(0),
            most,
        })
    }

    /// What one reader should take at most.
    pub(crate) fn share(&self) -> usize {
        usize::try_from(self.most / READERS).unwrap_or(usize::MAX)
    }

    /// Bytes taken at present.
    #[cfg(test)]
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes so many bytes, if they are left.
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

/// Bytes that are taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<AheadBudget>,
    bytes: u64,
}

impl Reservation {
    /// Says how many bytes there really are. They are there already, so this may exceed the budget; the next one who
    /// asks finds nothing left.
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
    fn no_more_is_given_than_there_is() {
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
