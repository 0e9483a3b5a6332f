//! Recording what threads do, in one order of moments.

use std::sync::Arc;
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

/// A count that moments are taken from. Recorders that share one put what they record into one order.
#[derive(Debug, Default)]
pub struct Moments(AtomicU64);

impl Moments {
    /// The next moment.
    pub fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// Collects the events of several threads.
#[derive(Debug)]
pub struct Recorder<C, A> {
    moments: Arc<Moments>,
    events: Mutex<Vec<Event<C, A>>>,
}

impl<C, A> Default for Recorder<C, A> {
    fn default() -> Self {
        Self {
            moments: Arc::default(),
            events: Mutex::default(),
        }
    }
}

impl<C, A: Clone> Recorder<C, A> {
    /// Takes its moments from those of others.
    #[must_use]
    pub fn with_moments(moments: &Arc<Moments>) -> Self {
        Self {
            moments: moments.clone(),
            events: Mutex::default(),
        }
    }

    /// Does `act` for `call` and records both moments.
    pub fn record(&self, thread: usize, call: C, act: impl FnOnce(&C) -> A) -> A {
        let begun = self.moments.next();
        let answer = act(&call);
        let ended = self.moments.next();
        self.events.lock().push(Event {
            thread,
            call,
            answer: answer.clone(),
            begun,
            ended,
        });
        answer
    }

    /// Records a call that was made together with others: both moments are those of all of them.
    pub fn add(&self, event: Event<C, A>) {
        self.events.lock().push(event);
    }

    /// What was recorded.
    #[must_use]
    pub fn into_events(self) -> Vec<Event<C, A>> {
        self.events.into_inner()
    }
}
