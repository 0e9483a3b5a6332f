//! Time and randomness as objects, so that a test can control both.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this module implements the clock for all others"
)]

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rand::rngs::{SysRng, Xoshiro256PlusPlus};
use rand::{Rng, RngExt, SeedableRng, TryRng};

/// The source of time of a store.
pub trait Clock: Send + Sync + Debug {
    /// Milliseconds since 1970-01-01 UTC, for timestamps. May jump when the system's clock is set.
    fn now_millis(&self) -> i64;

    /// Nanoseconds since some fixed moment; never goes back. For durations.
    fn monotonic_nanos(&self) -> u64;

    /// Waits.
    fn sleep(&self, duration: Duration);
}

/// The clock of the operating system.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// A clock whose monotonic time starts now.
    #[must_use]
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    /// The clock as a shared trait object.
    #[must_use]
    pub fn shared() -> Arc<dyn Clock> {
        Arc::new(Self::new())
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now_millis(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
            Err(before) => {
                i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |millis| -millis)
            }
        }
    }

    fn monotonic_nanos(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

/// A clock that moves only when it is set, or when a thread sleeps on it.
#[derive(Debug)]
pub struct ManualClock {
    millis: AtomicI64,
    nanos: AtomicU64,
}

impl ManualClock {
    /// A clock that shows `millis` since 1970, and zero monotonic time.
    #[must_use]
    pub fn new(millis: i64) -> Self {
        Self {
            millis: AtomicI64::new(millis),
            nanos: AtomicU64::new(0),
        }
    }

    /// Moves both times forward.
    pub fn advance(&self, duration: Duration) {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let before = self.nanos.fetch_add(nanos, Ordering::AcqRel);
        // Whole milliseconds of the monotonic time, so that many small steps add up.
        let millis = (before.saturating_add(nanos)) / 1_000_000 - before / 1_000_000;
        self.millis
            .fetch_add(i64::try_from(millis).unwrap_or(i64::MAX), Ordering::AcqRel);
    }

    /// Sets the wall clock only, also backwards, as an operator may.
    pub fn set_millis(&self, millis: i64) {
        self.millis.store(millis, Ordering::Release);
    }
}

impl Clock for ManualClock {
    fn now_millis(&self) -> i64 {
        self.millis.load(Ordering::Acquire)
    }

    fn monotonic_nanos(&self) -> u64 {
        self.nanos.load(Ordering::Acquire)
    }

    fn sleep(&self, duration: Duration) {
        self.advance(duration);
    }
}

/// Random numbers for sampling, jitter and identifiers: fast, repeatable from a seed, not for
/// secrets.
///
/// The generator is xoshiro256++, so a seed gives the same numbers in every version.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The sequence for `seed`.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A sequence that cannot be repeated, from the operating system's randomness.
    #[must_use]
    pub fn from_system() -> Self {
        let mut seed = [0; 32];
        if SysRng.try_fill_bytes(&mut seed).is_err() {
            // Only uniqueness is needed here; time and process id are used if the system has no
            // randomness.
            let clock = SystemClock::new().now_millis() as u64;
            return Self::from_seed(clock ^ u64::from(std::process::id()).rotate_left(32));
        }
        Self(Xoshiro256PlusPlus::from_seed(seed))
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 up to, not including, `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        if end == 0 {
            0
        } else {
            self.0.random_range(0..end)
        }
    }

    /// True once in `times` on average; never for 0.
    pub fn one_in(&mut self, times: u64) -> bool {
        times != 0 && self.below(times) == 0
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_adds_up_small_steps() {
        let clock = ManualClock::new(1_000);
        for _ in 0..2_500 {
            clock.advance(Duration::from_micros(1));
        }
        assert_eq!(
            (clock.now_millis(), clock.monotonic_nanos()),
            (1_002, 2_500_000)
        );
        clock.sleep(Duration::from_secs(1));
        assert_eq!(
            (clock.now_millis(), clock.monotonic_nanos()),
            (2_002, 1_002_500_000)
        );
        clock.set_millis(5);
        assert_eq!(
            (clock.now_millis(), clock.monotonic_nanos()),
            (5, 1_002_500_000)
        );
    }

    #[test]
    fn the_system_clock_is_plausible_and_does_not_go_back() {
        let clock = SystemClock::new();
        assert!(clock.now_millis() > 1_700_000_000_000);
        let first = clock.monotonic_nanos();
        clock.sleep(Duration::from_millis(1));
        assert!(clock.monotonic_nanos() >= first + 1_000_000);
    }

    #[test]
    fn a_seed_always_gives_the_same_numbers() {
        let mut random = Random::from_seed(42);
        let first: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(
            first,
            [
                15021278609987233951,
                5881210131331364753,
                18149643915985481100
            ]
        );
        assert_ne!(Random::from_seed(43).next_u64(), first[0]);
    }

    #[test]
    fn two_system_sequences_differ() {
        assert_ne!(
            Random::from_system().next_u64(),
            Random::from_system().next_u64()
        );
    }

    #[test]
    fn numbers_stay_below_their_end() {
        let mut random = Random::from_seed(1);
        let mut seen = [false; 7];
        for _ in 0..1_000 {
            seen[random.below(7) as usize] = true;
        }
        assert_eq!(seen, [true; 7]);
        assert_eq!(random.below(0), 0);
        assert!(!random.one_in(0));
        assert!(random.one_in(1));
    }
}
