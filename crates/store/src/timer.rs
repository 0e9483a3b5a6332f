//! Periodic calls: one thread for all, started with the first registration.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use ostrakon_cell::source::Tick;
use parking_lot::{Condvar, Mutex};

use crate::clock::Clock;
use crate::threads;

/// The shortest period: a shorter one would keep the thread always busy.
const SHORTEST: Duration = Duration::from_millis(1);

/// The registered calls, and when they are due.
pub struct Timer {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    calls: Vec<Call>,
    closed: bool,
    thread: Option<JoinHandle<()>>,
}

struct Call {
    /// Nanoseconds between two calls.
    period: u64,
    /// When it is called next, by the monotonic clock.
    due: u64,
    tick: Weak<dyn Tick>,
}

impl Timer {
    /// A timer without a thread yet.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            clock,
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Calls `tick` every `period` until it is dropped. `false` when the timer is closed or its
    /// thread cannot be started.
    pub fn every(self: &Arc<Self>, period: Duration, tick: Weak<dyn Tick>) -> bool {
        let period = period.max(SHORTEST).as_nanos() as u64;
        let mut state = self.state.lock();
        if state.closed {
            return false;
        }
        if state.thread.is_none() {
            let timer = self.clone();
            match threads::spawn("timer", move || timer.run()) {
                Ok(thread) => state.thread = Some(thread),
                Err(error) => {
                    tracing::warn!(%error, "writers submit full batches only");
                    return false;
                }
            }
        }
        state.calls.retain(|call| call.tick.strong_count() > 0);
        let due = self.clock.monotonic_nanos().saturating_add(period);
        state.calls.push(Call { period, due, tick });
        self.changed.notify_one();
        true
    }

    /// Ends the thread, after the call it is in. Nothing is called afterwards.
    pub fn close(&self) {
        let thread = {
            let mut state = self.state.lock();
            state.closed = true;
            state.calls.clear();
            state.thread.take()
        };
        self.changed.notify_one();
        if let Some(thread) = thread {
            // The thread has reported its panic.
            let _ = thread.join();
        }
    }

    fn run(&self) {
        let mut due = Vec::new();
        loop {
            {
                let mut state = self.state.lock();
                if state.closed {
                    return;
                }
                let now = self.clock.monotonic_nanos();
                let mut next = u64::MAX;
                state.calls.retain_mut(|call| {
                    if call.due <= now {
                        call.due = now.saturating_add(call.period);
                        due.extend(call.tick.upgrade());
                    }
                    next = next.min(call.due);
                    call.tick.strong_count() > 0
                });
                if due.is_empty() {
                    let pause = Duration::from_nanos(next.saturating_sub(now));
                    self.changed.wait_for(&mut state, pause);
                }
            }
            // Without the lock: a call may take long, or drop the last reference to a writer.
            for tick in due.drain(..) {
                // A tick that panics is not called again, while the others are: its owner gets the
                // error from its next call.
                if catch_unwind(AssertUnwindSafe(|| tick.tick())).is_err() {
                    tracing::error!("a call of the timer panicked; it is not called again");
                    let panicked = Arc::downgrade(&tick);
                    let mut state = self.state.lock();
                    state.calls.retain(|call| !call.tick.ptr_eq(&panicked));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::clock::SystemClock;

    #[derive(Default)]
    struct Counted(AtomicU64);

    impl Tick for Counted {
        fn tick(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn shared(counted: &Arc<Counted>) -> Weak<dyn Tick> {
        let tick: Arc<dyn Tick> = counted.clone();
        Arc::downgrade(&tick)
    }

    struct Panics(AtomicU64);

    impl Tick for Panics {
        fn tick(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
            panic!("told to panic");
        }
    }

    #[test]
    fn a_panicking_call_does_not_affect_others() {
        let timer = Timer::new(SystemClock::shared());
        let (panics, counted) = (
            Arc::new(Panics(AtomicU64::new(0))),
            Arc::new(Counted::default()),
        );
        let tick: Arc<dyn Tick> = panics.clone();
        assert!(timer.every(Duration::from_millis(1), Arc::downgrade(&tick)));
        assert!(timer.every(Duration::from_millis(1), shared(&counted)));
        let clock = SystemClock::shared();
        let calls = || counted.0.load(Ordering::SeqCst);
        while panics.0.load(Ordering::SeqCst) == 0 {
            clock.sleep(Duration::from_millis(1));
        }
        let before = calls();
        for _ in 0..1_000 {
            if calls() >= before + 3 {
                break;
            }
            clock.sleep(Duration::from_millis(5));
        }
        assert!(calls() >= before + 3, "the timer went on");
        assert_eq!(panics.0.load(Ordering::SeqCst), 1);
        timer.close();
    }

    #[test]
    fn it_calls_until_dropped_or_closed() {
        let timer = Timer::new(SystemClock::shared());
        let (often, dropped) = (Arc::new(Counted::default()), Arc::new(Counted::default()));
        assert!(timer.every(Duration::from_millis(2), shared(&often)));
        assert!(timer.every(Duration::from_secs(3_600), shared(&dropped)));
        drop(dropped);
        let clock = SystemClock::shared();
        for _ in 0..500 {
            if often.0.load(Ordering::SeqCst) >= 3 {
                break;
            }
            clock.sleep(Duration::from_millis(10));
        }
        assert!(often.0.load(Ordering::SeqCst) >= 3);
        timer.close();
        let last = often.0.load(Ordering::SeqCst);
        clock.sleep(Duration::from_millis(20));
        assert_eq!(often.0.load(Ordering::SeqCst), last);
        assert!(!timer.every(Duration::from_millis(1), shared(&often)));
    }
}
