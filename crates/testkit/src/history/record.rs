//! Recording what threads do, in one order of moments.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// One call and its answer.
#[derive(Debug, Clone)]
pub struct Event<C, A> {
    /// Who called.
    pub thread: usize,
    /// What was asked.
    pub call: C,
    /// What was answered.
    pub answer: A,
    /// The moment before the call.
    pub begun: u64,
    /// The moment after the answer.
    pub ended: u64,
}

/// Collects the events of several threads.
#[derive(Debug)]
pub struct Recorder<C, A> {
    moment: AtomicU64,
    events: Mutex<Vec<Event<C, A>>>,
}

impl<C, A> Default for Recorder<C, A> {
    fn default() -> Self {
        Self {
            moment: AtomicU64::new(0),
            events: Mutex::default(),
        }
    }
}

impl<C, A: Clone> Recorder<C, A> {
    /// Does `act` for `call` and records both moments.
    pub fn record(&self, thread: usize, call: C, act: impl FnOnce(&C) -> A) -> A {
        let begun = self.moment.fetch_add(1, Ordering::SeqCst);
        let answer = act(&call);
        let ended = self.moment.fetch_add(1, Ordering::SeqCst);
        self.events.lock().push(Event {
            thread,
            call,
            answer: answer.clone(),
            begun,
            ended,
        });
        answer
    }

    /// What was recorded.
    #[must_use]
    pub fn into_events(self) -> Vec<Event<C, A>> {
        self.events.into_inner()
    }
}
