//! Limits on the running time of a scan.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ostrakon_cell::iterator::Interruption;
use ostrakon_cell::{Interrupt, ScanOptions};

use super::source::Readable;
use crate::error::{Error, ErrorKind, StoreResult};

/// A moment that never comes.
const NEVER: u64 = u64::MAX;

/// Ends a scan: when its table becomes unreadable, when its caller requests it, and at its
/// deadline. All threads of the scan and all its iterators share the same limits.
pub(super) struct ScanLimits {
    source: Arc<dyn Readable>,
    interrupt: Option<Interrupt>,
    timeout_nanos: u64,
    answer_nanos: u64,
    /// By the monotonic clock.
    deadline: AtomicU64,
}

impl ScanLimits {
    pub(super) fn new(source: Arc<dyn Readable>, options: &ScanOptions) -> Arc<Self> {
        let nanos = |duration: Option<std::time::Duration>| {
            duration.map_or(NEVER, |one| u64::try_from(one.as_nanos()).unwrap_or(NEVER))
        };
        let limits = Self {
            source,
            interrupt: options.interrupt.clone(),
            timeout_nanos: nanos(options.timeout),
            answer_nanos: nanos(options.answer_within),
            deadline: AtomicU64::new(NEVER),
        };
        limits.begin();
        Arc::new(limits)
    }

    /// Starts the time of the scan now.
    pub(super) fn begin(&self) {
        self.deadline
            .store(self.moment_in(self.timeout_nanos), Ordering::Relaxed);
    }

    /// The moment by which the present call has to return, if need be with an empty batch.
    pub(super) fn answer_by(&self) -> u64 {
        self.moment_in(self.answer_nanos)
    }

    /// Whether a moment is past. Reads no clock for one that never comes.
    pub(super) fn is_past(&self, moment: u64) -> bool {
        moment != NEVER && self.source.clock().monotonic_nanos() >= moment
    }

    fn moment_in(&self, nanos: u64) -> u64 {
        if nanos == NEVER {
            return NEVER;
        }
        let now = self.source.clock().monotonic_nanos();
        now.saturating_add(nanos).min(NEVER - 1)
    }
}

impl Interruption for ScanLimits {
    fn check(&self) -> StoreResult<()> {
        self.source.check_readable()?;
        if self.interrupt.as_ref().is_some_and(Interrupt::is_set) {
            return Err(Error::new(ErrorKind::Cancelled, "the scan was cancelled"));
        }
        if self.is_past(self.deadline.load(Ordering::Relaxed)) {
            return Err(Error::new(
                ErrorKind::TimedOut,
                "the time of the scan was over before its end; give it more, or smaller ranges",
            ));
        }
        Ok(())
    }
}
