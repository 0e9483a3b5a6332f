//! Timestamps that the table sets.

use std::sync::atomic::{AtomicI64, Ordering};

use ostrakon_cell::TimeType;

use crate::clock::Clock;

/// The clock of one table: milliseconds that never go back, or a counter.
#[derive(Debug)]
pub(crate) struct TableTime {
    time_type: TimeType,
    last: AtomicI64,
}

impl TableTime {
    /// A clock that has given out `last` before.
    #[must_use]
    pub(crate) fn new(time_type: TimeType, last: i64) -> Self {
        Self {
            time_type,
            last: AtomicI64::new(last),
        }
    }

    /// Where the timestamps come from.
    #[must_use]
    pub(crate) fn time_type(&self) -> TimeType {
        self.time_type
    }

    /// The timestamp of the next batch.
    pub(crate) fn next(&self, clock: &dyn Clock) -> i64 {
        match self.time_type {
            TimeType::Logical => self.last.fetch_add(1, Ordering::Relaxed) + 1,
            TimeType::Millis => {
                let now = clock.now_millis();
                self.last.fetch_max(now, Ordering::Relaxed).max(now)
            }
        }
    }

    /// Makes the clock go on behind `timestamp`, found in the log.
    pub(crate) fn advance_to(&self, timestamp: i64) {
        self.last.fetch_max(timestamp, Ordering::Relaxed);
    }

    /// The last timestamp given out.
    #[must_use]
    pub(crate) fn last(&self) -> i64 {
        self.last.load(Ordering::Relaxed)
    }
}
