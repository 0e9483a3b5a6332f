//! The failures of one table: how often work failed, why, and when it is retried.
//!
//! Each table has its own record, so that a failure affects only the work that fails: background
//! threads skip what is not due and continue with the next tablet or table. A success clears the
//! record; a change of the table's properties makes everything due at once.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ostrakon_cell::Activity;
use parking_lot::Mutex;

use crate::catalog::Fence;
use crate::clock::{Clock, Random};
use crate::error::{Error, ErrorKind, StoreResult};

/// The wait after the first failure; it doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// A failure that lasts is logged again after this time: a process may run for months.
const LOGGED_AGAIN_NANOS: u64 = 3600 * 1_000_000_000;

/// Maximum number of failures recorded per table. Failures of further tablets are not recorded, and
/// these are retried in every pass; a disk that loses a thousand files at once is reported well
/// enough by the others.
const KEPT: usize = 1024;

/// The context of an error that holds no data of entries, and is safe to show to any user.
const SAFE_CONTEXT: &[&str] = &[
    "bytes",
    "class",
    "data",
    "directory",
    "file",
    "iterator",
    "iterators",
    "length",
    "limit",
    "offset",
    "option",
    "property",
    "scope",
    "table",
    "thread",
    "type",
];

/// The failures of one table.
#[derive(Debug)]
pub struct Failures {
    /// Their number, which is read before each batch is written.
    count: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    failures: BTreeMap<Place, Failure>,
    random: Random,
}

/// The place of a failure: the activity and the end row of the tablet (outer `None`: the whole
/// table).
type Place = (Activity, Option<Option<Vec<u8>>>);

/// Work that failed and has not succeeded since.
#[derive(Debug)]
pub struct Failure {
    /// The kind of work.
    pub activity: Activity,
    /// The tablet; `None` for the whole table.
    pub tablet: Option<Fence>,
    /// Number of consecutive failures.
    pub times: u64,
    /// Time of the first failure, milliseconds since 1970.
    pub since_millis: i64,
    /// The last cause, without data of entries.
    pub cause: Error,
    /// When it is retried, by the monotonic clock.
    due_nanos: u64,
    logged_nanos: u64,
    logged_times: u64,
}

impl Failure {
    /// Time until it is retried.
    #[must_use]
    pub fn due_in(&self, clock: &dyn Clock) -> Duration {
        Duration::from_nanos(self.due_nanos.saturating_sub(clock.monotonic_nanos()))
    }

    fn duplicate(&self) -> Self {
        Self {
            tablet: self.tablet.clone(),
            cause: self.cause.duplicate(),
            ..*self
        }
    }
}

impl Failures {
    /// Without failures. Different seeds keep tables from retrying at the same time.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            count: AtomicUsize::new(0),
            state: Mutex::new(State {
                failures: BTreeMap::new(),
                random: Random::from_seed(seed),
            }),
        }
    }

    /// Whether there are no failures.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Records a failure. `Some` if it should be logged: the number of failures since the last log
    /// line.
    pub fn failed(
        &self,
        activity: Activity,
        tablet: Option<&Fence>,
        error: &Error,
        clock: &dyn Clock,
    ) -> Option<u64> {
        let now = clock.monotonic_nanos();
        let mut state = self.state.lock();
        let State { failures, random } = &mut *state;
        let place = (activity, tablet.map(|extent| extent.through.clone()));
        if failures.len() >= KEPT && !failures.contains_key(&place) {
            return None;
        }
        let failure = failures.entry(place).or_insert_with(|| Failure {
            activity,
            tablet: None,
            times: 0,
            since_millis: clock.now_millis(),
            cause: without_data(error),
            due_nanos: now,
            logged_nanos: 0,
            logged_times: 0,
        });
        let is_other = failure.times > 0 && failure.cause.kind() != error.kind();
        failure.times += 1;
        failure.tablet = tablet.cloned();
        failure.cause = without_data(error);
        failure.due_nanos = now.saturating_add(wait_after(failure.times, random));
        let silent = now.saturating_sub(failure.logged_nanos) < LOGGED_AGAIN_NANOS;
        let kept_back = failure.times - failure.logged_times - 1;
        let is_worth_a_line = failure.times == 1 || is_other || !silent;
        if is_worth_a_line {
            failure.logged_nanos = now;
            failure.logged_times = failure.times;
        }
        self.count.store(failures.len(), Ordering::Release);
        is_worth_a_line.then_some(kept_back)
    }

    /// Clears a failure after the work succeeded.
    pub fn succeeded(&self, activity: Activity, tablet: Option<&Fence>) {
        if self.is_empty() {
            return;
        }
        let place = (activity, tablet.map(|extent| extent.through.clone()));
        let mut state = self.state.lock();
        state.failures.remove(&place);
        self.count.store(state.failures.len(), Ordering::Release);
    }

    /// Whether to try this work now: it did not fail, or its retry is due.
    #[must_use]
    pub fn is_due(&self, activity: Activity, tablet: Option<&Fence>, clock: &dyn Clock) -> bool {
        if self.is_empty() {
            return true;
        }
        let place = (activity, tablet.map(|extent| extent.through.clone()));
        let state = self.state.lock();
        let failure = state.failures.get(&place);
        failure.is_none_or(|failure| failure.due_nanos <= clock.monotonic_nanos())
    }

    /// Whether a failure of this activity is recorded for a tablet.
    #[must_use]
    pub fn has(&self, activity: Activity, tablet: &Fence) -> bool {
        if self.is_empty() {
            return false;
        }
        let place = (activity, Some(tablet.through.clone()));
        self.state.lock().failures.contains_key(&place)
    }

    /// The failure of this activity for the whole table, if there is one.
    #[must_use]
    pub fn of_table(&self, activity: Activity) -> Option<Failure> {
        if self.is_empty() {
            return None;
        }
        let state = self.state.lock();
        state
            .failures
            .get(&(activity, None))
            .map(Failure::duplicate)
    }

    /// Clears all failures, so that everything is retried at once: their cause may be gone.
    pub fn try_all_now(&self) {
        let mut state = self.state.lock();
        state.failures.clear();
        self.count.store(0, Ordering::Release);
    }

    /// Removes failures of tablets that no longer exist.
    pub fn keep_tablets(&self, is_there: impl Fn(&Fence) -> bool) {
        if self.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        state
            .failures
            .retain(|_, failure| failure.tablet.as_ref().is_none_or(&is_there));
        self.count.store(state.failures.len(), Ordering::Release);
    }

    /// All failures.
    #[must_use]
    pub fn list(&self) -> Vec<Failure> {
        let state = self.state.lock();
        state.failures.values().map(Failure::duplicate).collect()
    }
}

/// Nanoseconds to wait after this many consecutive failures: doubled each time, varied by up to a
/// quarter.
fn wait_after(times: u64, random: &mut Random) -> u64 {
    let doublings = times.saturating_sub(1).min(30);
    let longest = LONGEST_WAIT.as_nanos() as u64;
    let wait = ((FIRST_WAIT.as_nanos() as u64) << doublings).min(longest);
    wait - wait / 4 + random.below(wait / 2)
}

/// The error without anything that may be data of entries: rows, columns, values, and the messages
/// of causes that a user's iterator may have written.
#[must_use]
pub fn without_data(error: &Error) -> Error {
    let safe = Error::new(error.kind(), error.message().to_owned());
    let context = error.context().iter();
    let mut safe = context
        .filter(|(name, _)| SAFE_CONTEXT.contains(name))
        .fold(safe, |safe, (name, value)| safe.with(name, value));
    // The operating system's message about a file.
    if matches!(error.kind(), ErrorKind::Io | ErrorKind::OutOfSpace)
        && let Some(cause) = std::error::Error::source(error)
    {
        safe = safe.with_source(cause.to_string());
    }
    safe
}

/// Runs work in which iterators may panic: a panic becomes an error of their table, and the thread
/// continues.
pub fn caught<T>(work: impl FnOnce() -> StoreResult<T>) -> StoreResult<T> {
    // The state that `work` changes is behind locks and in the catalog, both consistent after each
    // step.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(Error::new(
            ErrorKind::Internal,
            "background work panicked; what is printed above says where. An iterator of your own may be at fault: \
             take it off the table and it goes on",
        ))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::clock::ManualClock;

    const FLUSH: Activity = Activity::Flush;

    fn tablet(end: &str) -> Fence {
        Fence::new(None, Some(end.as_bytes().to_vec()))
    }

    #[test]
    fn waits_double_up_to_a_bound_and_differ_between_tables() {
        let clock = ManualClock::new(5);
        let (one, other) = (Failures::new(1), Failures::new(2));
        let error = Error::invalid("not a number");
        let mut waits = Vec::new();
        for times in 1..40 {
            one.failed(FLUSH, None, &error, &clock);
            other.failed(FLUSH, None, &error, &clock);
            let failure = one.of_table(FLUSH).unwrap();
            assert_eq!((failure.times, failure.since_millis), (times, 5));
            let wait = failure.due_in(&clock);
            assert!(!one.is_due(FLUSH, None, &clock));
            assert!(wait <= LONGEST_WAIT * 5 / 4, "{wait:?}");
            let expected = (FIRST_WAIT * (1 << (times - 1).min(20))).min(LONGEST_WAIT);
            assert!(wait >= expected * 3 / 4, "{wait:?} after {times}");
            waits.push(wait != other.of_table(FLUSH).unwrap().due_in(&clock));
        }
        assert!(waits.contains(&true), "both retry at the same times");
        clock.advance(LONGEST_WAIT * 2);
        assert!(one.is_due(FLUSH, None, &clock));
        one.succeeded(FLUSH, None);
        assert!(one.is_empty() && one.list().is_empty() && one.of_table(FLUSH).is_none());
    }

    #[test]
    fn a_tablet_fails_by_itself_and_is_forgotten_with_it() {
        let clock = ManualClock::new(0);
        let failures = Failures::new(1);
        let error = Error::corruption("a block is damaged");
        let (a, b) = (tablet("a"), tablet("b"));
        failures.failed(Activity::Compaction, Some(&a), &error, &clock);
        assert!(!failures.is_due(Activity::Compaction, Some(&a), &clock));
        assert!(failures.is_due(Activity::Compaction, Some(&b), &clock));
        assert!(failures.is_due(Activity::Split, Some(&a), &clock));
        failures.keep_tablets(|extent| *extent == a);
        assert!(!failures.is_empty());
        failures.keep_tablets(|extent| *extent == b);
        assert!(failures.is_empty());
    }

    #[test]
    fn failures_are_logged_hourly_per_kind_of_cause() {
        let clock = ManualClock::new(0);
        let failures = Failures::new(1);
        let bad = Error::invalid("not a number");
        let fail = |error: &Error| failures.failed(FLUSH, None, error, &clock);
        assert_eq!(fail(&bad), Some(0));
        assert_eq!(fail(&bad), None);
        assert_eq!(fail(&bad), None);
        assert_eq!(fail(&Error::new(ErrorKind::Io, "refused")), Some(2));
        clock.advance(Duration::from_nanos(LOGGED_AGAIN_NANOS));
        assert_eq!(fail(&Error::new(ErrorKind::Io, "refused")), Some(0));
    }

    #[test]
    fn no_data_of_entries_is_kept() {
        let clock = ManualClock::new(0);
        let failures = Failures::new(1);
        let error = Error::invalid("not a number")
            .with("row", "secret")
            .with("given", "secret")
            .with("class", "SummingCombiner")
            .with_source("secret");
        failures.failed(FLUSH, None, &error, &clock);
        let text = format!("{:?}", failures.list());
        assert!(!text.contains("secret"), "{text}");
        assert!(text.contains("SummingCombiner"), "{text}");
    }

    #[test]
    fn records_are_bounded() {
        let clock = ManualClock::new(0);
        let failures = Failures::new(1);
        for number in 0..2 * KEPT {
            let extent = tablet(&number.to_string());
            let error = Error::corruption("a block is damaged");
            failures.failed(Activity::Compaction, Some(&extent), &error, &clock);
        }
        assert_eq!(failures.list().len(), KEPT);
    }

    #[test]
    fn a_panic_is_an_error() {
        let error = caught::<()>(|| panic!("told to")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert_eq!(caught(|| Ok(7)).unwrap(), 7);
    }
}
