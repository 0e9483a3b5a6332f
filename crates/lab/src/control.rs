//! Decides when a run ends: by time, count, request of the caller, or failure.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::Progress;

/// Limits of a run, shared by its threads.
pub(crate) struct Control<'a> {
    started: Instant,
    deadline: Option<Instant>,
    limit: u64,
    /// Units done, or assigned.
    pub(crate) done: AtomicU64,
    stopped: AtomicBool,
    progress: &'a dyn Progress,
}

impl<'a> Control<'a> {
    pub(crate) fn new(
        duration: Option<Duration>,
        limit: Option<u64>,
        progress: &'a dyn Progress,
    ) -> Self {
        let started = Instant::now();
        Self {
            started,
            // A time too far in the future to be represented means no limit.
            deadline: duration.and_then(|duration| started.checked_add(duration)),
            limit: limit.unwrap_or(u64::MAX),
            done: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            progress,
        }
    }

    /// Ends the run.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether the run continues.
    pub(crate) fn goes_on(&self) -> bool {
        if self.stopped.load(Ordering::Relaxed)
            || self.done.load(Ordering::Relaxed) >= self.limit
            || self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
        {
            return false;
        }
        if self.progress.cancelled() {
            self.stop();
            return false;
        }
        true
    }

    /// Seconds since the run began.
    pub(crate) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Waits, but not beyond the end of the run. Returns how long.
    pub(crate) fn pause(&self, pause: Duration) -> Duration {
        const SLICE: Duration = Duration::from_millis(50);
        if pause.is_zero() {
            return pause;
        }
        let began = Instant::now();
        while let Some(left) = pause.checked_sub(began.elapsed()) {
            if !self.goes_on() {
                break;
            }
            std::thread::sleep(left.min(SLICE));
        }
        began.elapsed()
    }
}

/// The pause in force: the suite's in a run without end, none in a measurement.
pub(crate) fn pause_in_force(given: Option<Duration>, limited: bool, suite: Duration) -> Duration {
    given.unwrap_or(if limited { Duration::ZERO } else { suite })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoProgress;

    #[test]
    fn each_limit_ends_the_run() {
        let endless = Control::new(None, None, &NoProgress);
        assert!(endless.goes_on());
        endless.stop();
        assert!(!endless.goes_on());
        let counted = Control::new(None, Some(3), &NoProgress);
        counted.done.fetch_add(3, Ordering::Relaxed);
        assert!(!counted.goes_on());
        let timed = Control::new(Some(Duration::from_millis(20)), None, &NoProgress);
        assert!(timed.goes_on());
        let waited = timed.pause(Duration::from_secs(10));
        assert!(waited < Duration::from_secs(1) && !timed.goes_on());
        struct Cancelled;
        impl Progress for Cancelled {
            fn cancelled(&self) -> bool {
                true
            }
        }
        assert!(!Control::new(None, None, &Cancelled).goes_on());
        assert!(Control::new(Some(Duration::MAX), None, &NoProgress).goes_on());
    }
}
