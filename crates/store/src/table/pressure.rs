//! Back-pressure: keeps memory inside its budget by slowing writers down, smoothly.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::clock::Clock;

/// Share of the budget, in percent, above which writers are delayed.
const EASY_PERCENT: u64 = 75;

/// Delay of one batch when memory, or compaction debt, is at its limit.
const LONGEST_DELAY: Duration = Duration::from_millis(20);

/// Writers that paused for longer have stopped.
const FILLING_NANOS: u64 = 3_000_000_000;

/// Memory of all memtables and batches under way, and how far compaction is behind.
#[derive(Debug)]
pub(crate) struct Pressure {
    limit: u64,
    used: AtomicU64,
    /// Files above `table.file.max` in the tablet that has most of them, in percent of that limit.
    debt_percent: AtomicU64,
    /// When a batch was last written, by the clock that only goes forward.
    last_write_nanos: AtomicU64,
    gate: Mutex<()>,
    freed: Condvar,
}

impl Pressure {
    /// Pressure against a limit in bytes.
    #[must_use]
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            limit,
            used: AtomicU64::new(0),
            debt_percent: AtomicU64::new(0),
            last_write_nanos: AtomicU64::new(0),
            gate: Mutex::new(()),
            freed: Condvar::new(),
        }
    }

    /// Bytes in use.
    #[must_use]
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether nothing more should be let in.
    #[must_use]
    pub(crate) fn is_full(&self) -> bool {
        self.used() >= self.limit
    }

    /// Counts memory that a batch takes.
    pub(crate) fn take(&self, bytes: u64) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts memory that was given back, and lets writers go on.
    pub(crate) fn give(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        let _gate = self.gate.lock();
        self.freed.notify_all();
    }

    /// Says how far compaction is behind.
    pub(crate) fn set_debt_percent(&self, percent: u64) {
        self.debt_percent.store(percent, Ordering::Relaxed);
    }

    /// Remembers that something is being written.
    pub(crate) fn wrote(&self, clock: &dyn Clock) {
        self.last_write_nanos
            .store(clock.monotonic_nanos(), Ordering::Relaxed);
    }

    /// Whether somebody is filling memory: at least `bytes` are in use, and more came a moment ago.
    pub(crate) fn is_filling(&self, bytes: u64, clock: &dyn Clock) -> bool {
        let last = self.last_write_nanos.load(Ordering::Relaxed);
        self.used() >= bytes && clock.monotonic_nanos().saturating_sub(last) < FILLING_NANOS
    }

    /// Delays the caller in proportion to how near memory and files are to their limits; returns
    /// for how long.
    pub(crate) fn delay(&self, clock: &dyn Clock) -> Duration {
        let used_percent = self.used() * 100 / self.limit.max(1);
        let memory = used_percent.saturating_sub(EASY_PERCENT) * 100 / (100 - EASY_PERCENT);
        let percent = memory
            .max(self.debt_percent.load(Ordering::Relaxed))
            .min(100) as u32;
        let delay = LONGEST_DELAY * percent / 100;
        if percent > 0 {
            clock.sleep(delay);
        }
        delay
    }

    /// Waits until memory is given back, or a moment.
    pub(crate) fn wait(&self) {
        let mut gate = self.gate.lock();
        if self.is_full() {
            self.freed.wait_for(&mut gate, Duration::from_millis(50));
        }
    }
}
