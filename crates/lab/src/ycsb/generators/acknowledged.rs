//! Numbers of records that a run inserts, and up to which of them every insert has ended.

use std::sync::atomic::{AtomicI64, Ordering};

use ostrakon_cell::{Error, Result};
use parking_lot::Mutex;

/// How far the newest insert may be ahead of the oldest one that has not ended.
const WINDOW: i64 = 1 << 20;

/// Gives out numbers, and knows the largest for which it and all smaller ones are acknowledged. Requests for the
/// latest record ask for acknowledged ones only.
#[derive(Debug)]
pub(in super::super) struct InsertSequence {
    next: AtomicI64,
    /// The largest acknowledged number; written under the lock.
    limit: AtomicI64,
    window: Mutex<Window>,
}

/// One bit per number above the limit: whether it is acknowledged.
#[derive(Debug)]
struct Window {
    bits: Vec<u64>,
    limit: i64,
}

impl InsertSequence {
    /// The first number given out is `start`.
    pub(in super::super) fn new(start: i64) -> Self {
        Self {
            next: AtomicI64::new(start),
            limit: AtomicI64::new(start - 1),
            window: Mutex::new(Window {
                bits: vec![0; (WINDOW / 64) as usize],
                limit: start - 1,
            }),
        }
    }

    pub(in super::super) fn take(&self) -> i64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The largest number up to which all are acknowledged.
    #[inline]
    pub(in super::super) fn last(&self) -> i64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// The insert of this number has ended, whether it succeeded or not.
    pub(in super::super) fn acknowledge(&self, number: i64) -> Result<()> {
        let mut window = self.window.lock();
        if number - window.limit >= WINDOW || !window.set(number, true) {
            return Err(Error::invalid(
                "more than a million inserts began while one had not ended: use fewer threads",
            )
            .with("record", number));
        }
        let mut next = window.limit + 1;
        while window.set(next, false) {
            next += 1;
        }
        window.limit = next - 1;
        self.limit.store(window.limit, Ordering::Relaxed);
        Ok(())
    }
}

impl Window {
    /// Sets the bit of a number; whether that changed it.
    fn set(&mut self, number: i64, value: bool) -> bool {
        let slot = (number & (WINDOW - 1)) as usize;
        let mask = 1_u64 << (slot % 64);
        let Some(word) = self.bits.get_mut(slot / 64) else {
            return false;
        };
        let before = *word & mask != 0;
        *word = if value { *word | mask } else { *word & !mask };
        before != value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_gapless_run_of_inserts_counts() {
        let sequence = InsertSequence::new(100);
        assert_eq!(sequence.last(), 99);
        let numbers = [sequence.take(), sequence.take(), sequence.take()];
        assert_eq!(numbers, [100, 101, 102]);
        sequence.acknowledge(101).unwrap();
        assert_eq!(sequence.last(), 99);
        sequence.acknowledge(100).unwrap();
        assert_eq!(sequence.last(), 101);
        sequence.acknowledge(102).unwrap();
        assert_eq!(sequence.last(), 102);
    }

    #[test]
    fn one_insert_without_end_is_reported_before_its_slot_is_used_again() {
        let sequence = InsertSequence::new(0);
        let error = (1..=WINDOW)
            .map(|number| sequence.acknowledge(number))
            .find_map(Result::err);
        assert!(error.unwrap().to_string().contains("fewer threads"));
        assert_eq!(sequence.last(), -1);
    }
}
