//! Back-pressure: keeps memory within its budget by slowing writers down gradually. Memory that
//! writes do not use may be lent to the block cache.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::cache::BlockCache;
use crate::clock::Clock;

/// Use of the budget, in percent, above which writers are delayed.
const SLOWDOWN_PERCENT: u64 = 75;

/// Delay of one batch when memory, or the compaction backlog, is at its limit.
const LONGEST_DELAY: Duration = Duration::from_millis(20);

/// After a longer pause writers count as stopped.
const FILLING_NANOS: u64 = 3_000_000_000;

/// A loan changes by this fraction of the limit: large enough that few batches wait for it, small
/// enough that the wait is short.
const LOAN_STEPS: u64 = 32;

/// Memory of all memtables and batches in progress, and the compaction backlog.
#[derive(Debug)]
pub(crate) struct Pressure {
    limit: u64,
    used: AtomicU64,
    /// Memory of tables that cannot be flushed: not counted against the others, up to a third of
    /// the limit.
    set_aside: AtomicU64,
    /// The compaction backlog: files above `table.file.max` in the tablet with most files, in
    /// percent of that limit.
    debt_percent: AtomicU64,
    /// When a batch was last written, by the monotonic clock; 0 before the first.
    last_write_nanos: AtomicU64,
    gate: Mutex<()>,
    freed: Condvar,
    /// Memory that memtables may take without reclaiming any; the rest of the limit is lent.
    own: AtomicU64,
    /// The cache that borrows, if there is one.
    borrower: Option<Arc<BlockCache>>,
    /// Held while the loan changes.
    loan: Mutex<()>,
    /// Number of blocked writers.
    waiting: AtomicUsize,
}

impl Pressure {
    /// Pressure against a limit in bytes. Nothing is lent to the `borrower` before [`lend`](Self::lend).
    #[must_use]
    pub(crate) fn new(limit: u64, borrower: Option<Arc<BlockCache>>) -> Self {
        Self {
            limit,
            own: AtomicU64::new(limit),
            borrower,
            loan: Mutex::new(()),
            used: AtomicU64::new(0),
            set_aside: AtomicU64::new(0),
            debt_percent: AtomicU64::new(0),
            last_write_nanos: AtomicU64::new(0),
            gate: Mutex::new(()),
            freed: Condvar::new(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Bytes in use.
    #[must_use]
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether no more batches should be admitted.
    #[must_use]
    pub(crate) fn is_full(&self) -> bool {
        self.pressing() >= self.limit
    }

    /// Sets how much memory tables hold that cannot be flushed.
    pub(crate) fn set_aside(&self, bytes: u64) {
        let before = self
            .set_aside
            .swap(bytes.min(self.limit / 3), Ordering::Relaxed);
        if before < bytes {
            let _gate = self.gate.lock();
            self.freed.notify_all();
        }
    }

    /// Bytes in use that a flush can free.
    fn pressing(&self) -> u64 {
        self.used()
            .saturating_sub(self.set_aside.load(Ordering::Relaxed))
    }

    /// Counts memory that a batch takes. If the batch needs lent memory, waits until the cache has
    /// freed it.
    pub(crate) fn take(&self, bytes: u64) {
        // Sequentially consistent with `own`: either `lend` sees these bytes or this sees the loan.
        let used = self.used.fetch_add(bytes, Ordering::SeqCst) + bytes;
        if used > self.own.load(Ordering::SeqCst) {
            self.reclaim();
        }
    }

    /// Reclaims what memtables need and one step more.
    #[cold]
    fn reclaim(&self) {
        let _loan = self.loan.lock();
        let own = self.own.load(Ordering::SeqCst);
        if self.used() > own && own < self.limit {
            self.keep_own(own);
        }
    }

    /// Lends all but what memtables hold, unless a writer is active. A writer that needs the memory
    /// reclaims it at once.
    pub(crate) fn lend(&self, clock: &dyn Clock) {
        if self.borrower.is_none() || self.is_filling(0, clock) {
            return;
        }
        let _loan = self.loan.lock();
        self.keep_own(0);
        if self.used.load(Ordering::SeqCst) > self.own.load(Ordering::SeqCst) {
            self.keep_own(0);
        }
    }

    /// Keeps `least` and what is in use, rounded up to whole steps and one more, and lends the
    /// rest. Under `loan`.
    fn keep_own(&self, least: u64) {
        let Some(borrower) = &self.borrower else {
            return;
        };
        let step = (self.limit / LOAN_STEPS).max(1);
        let own = least
            .max(self.used())
            .saturating_add(step)
            .div_ceil(step)
            .saturating_mul(step)
            .min(self.limit);
        let before = self.own.swap(own, Ordering::SeqCst);
        if before != own {
            borrower.lend(self.limit - own);
        }
    }

    /// Counts memory that was freed, and wakes writers.
    pub(crate) fn give(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        let _gate = self.gate.lock();
        self.freed.notify_all();
    }

    /// Sets the compaction backlog.
    pub(crate) fn set_debt_percent(&self, percent: u64) {
        self.debt_percent.store(percent, Ordering::Relaxed);
    }

    /// Records a write.
    pub(crate) fn wrote(&self, clock: &dyn Clock) {
        self.last_write_nanos
            .store(clock.monotonic_nanos().max(1), Ordering::Relaxed);
    }

    /// Whether writers are filling memory: at least `bytes` are in use, and there was a recent
    /// write.
    pub(crate) fn is_filling(&self, bytes: u64, clock: &dyn Clock) -> bool {
        let last = self.last_write_nanos.load(Ordering::Relaxed);
        let since = clock.monotonic_nanos().saturating_sub(last);
        last > 0 && self.used() >= bytes && since < FILLING_NANOS
    }

    /// Delays the caller in proportion to how near memory and files are to their limits; returns
    /// the delay.
    pub(crate) fn delay(&self, clock: &dyn Clock) -> Duration {
        let used_percent = self.pressing() * 100 / self.limit.max(1);
        let memory = used_percent.saturating_sub(SLOWDOWN_PERCENT) * 100 / (100 - SLOWDOWN_PERCENT);
        let percent = memory
            .max(self.debt_percent.load(Ordering::Relaxed))
            .min(100) as u32;
        let delay = LONGEST_DELAY * percent / 100;
        if percent > 0 {
            clock.sleep(delay);
        }
        delay
    }

    /// Waits until memory is freed, or for a moment.
    pub(crate) fn wait(&self) {
        let mut gate = self.gate.lock();
        if self.is_full() {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            self.freed.wait_for(&mut gate, Duration::from_millis(50));
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether writers are blocked until memory is freed.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::cache::CacheOptions;
    use crate::clock::ManualClock;
    use crate::metrics::Metrics;

    const LIMIT: u64 = 32 << 20;
    const STEP: u64 = LIMIT / LOAN_STEPS;

    fn cache() -> Arc<BlockCache> {
        BlockCache::new(CacheOptions::default(), Arc::new(Metrics::default())).unwrap()
    }

    #[test]
    fn unused_memory_is_lent_and_reclaimed_in_steps() {
        let (cache, clock) = (cache(), ManualClock::new(0));
        let pressure = Pressure::new(LIMIT, Some(cache.clone()));
        assert_eq!(cache.lent(), 0);
        pressure.take(10);
        pressure.lend(&clock);
        assert_eq!(cache.lent(), LIMIT - 2 * STEP);
        // Memory that was kept may be taken without reclaiming.
        pressure.take(2 * STEP - 10);
        assert_eq!(cache.lent(), LIMIT - 2 * STEP);
        pressure.take(1);
        assert_eq!(cache.lent(), LIMIT - 4 * STEP);
        // Memtables and loan together never exceed the limit.
        while pressure.used() + STEP / 3 <= LIMIT {
            pressure.take(STEP / 3);
            assert!(cache.lent() + pressure.used() <= LIMIT);
        }
        assert_eq!(cache.lent(), 0);
        pressure.take(LIMIT);
        assert_eq!(cache.lent(), 0);
    }

    #[test]
    fn nothing_is_lent_during_writes() {
        let (cache, clock) = (cache(), ManualClock::new(0));
        let pressure = Pressure::new(LIMIT, Some(cache.clone()));
        pressure.take(LIMIT);
        pressure.wrote(&clock);
        pressure.give(LIMIT);
        pressure.lend(&clock);
        assert_eq!(cache.lent(), 0);
        clock.advance(Duration::from_nanos(FILLING_NANOS + 1));
        pressure.lend(&clock);
        assert_eq!(cache.lent(), LIMIT - STEP);
        Pressure::new(LIMIT, None).lend(&clock);
    }
}
