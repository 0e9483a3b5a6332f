//! The checker: looks for an order of a history's calls that one thread could have made.
//!
//! As Wing and Gong's search with Lowe's memory of what was tried: a set of calls that took effect and the state they
//! led to is looked at once.

use std::collections::HashSet;
use std::fmt::{self, Debug};
use std::hash::Hash;

use super::record::Event;

/// What a source would do if one thread alone used it.
pub trait Model {
    /// What it holds.
    type State: Clone + Eq + Hash;
    /// What is asked of it.
    type Call: Debug;
    /// What it answers.
    type Answer: Debug;

    /// What it holds before the first call.
    fn start(&self) -> Self::State;

    /// What it holds after `call` was answered with `answer`; `None` if it would not have answered so.
    fn step(
        &self,
        state: &Self::State,
        call: &Self::Call,
        answer: &Self::Answer,
    ) -> Option<Self::State>;
}

/// A history that no order explains.
#[derive(Debug)]
pub struct Violation {
    /// The calls in the order in which they began, one a line; those that the longest order found explains are marked.
    pub text: String,
    /// How many calls that order has.
    pub explained: usize,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no order of the calls explains the answers; {} of them can be explained:\n{}",
            self.explained, self.text
        )
    }
}

/// Looks for an order of `events` that `model` would have answered in the same way, in which a call that ended before
/// another began comes before it.
///
/// # Errors
/// There is none.
pub fn check<M: Model>(
    model: &M,
    events: &mut [Event<M::Call, M::Answer>],
) -> Result<(), Violation> {
    events.sort_by_key(|event| event.begun);
    let mut search = Search {
        model,
        events,
        done: vec![false; events.len()],
        order: Vec::new(),
        longest: Vec::new(),
        tried: HashSet::new(),
    };
    if search.explains(&model.start()) {
        return Ok(());
    }
    let longest = search.longest;
    let lines = events.iter().enumerate().map(|(at, event)| {
        let place = longest.iter().position(|&one| one == at);
        let place = place.map_or_else(|| "  -".to_owned(), |place| format!("{place:3}"));
        format!(
            "{place} thread {} {:4}..{:<4} {:?} -> {:?}\n",
            event.thread, event.begun, event.ended, event.call, event.answer
        )
    });
    Err(Violation {
        text: lines.collect(),
        explained: longest.len(),
    })
}

struct Search<'a, M: Model> {
    model: &'a M,
    events: &'a [Event<M::Call, M::Answer>],
    done: Vec<bool>,
    order: Vec<usize>,
    longest: Vec<usize>,
    /// Sets of calls, as bits, and the states they led to: what comes after was tried.
    tried: HashSet<(Vec<u64>, M::State)>,
}

impl<M: Model> Search<'_, M> {
    /// Whether the calls that are left can follow.
    fn explains(&mut self, state: &M::State) -> bool {
        if self.order.len() > self.longest.len() {
            self.longest.clone_from(&self.order);
        }
        if self.order.len() == self.events.len() {
            return true;
        }
        if !self.tried.insert((self.bits(), state.clone())) {
            return false;
        }
        let left = || (0..self.events.len()).filter(|&at| !self.done[at]);
        // A call that began after another one ended cannot come before it.
        let first_end = left().map(|at| self.events[at].ended).min().unwrap_or(0);
        let next: Vec<usize> = left()
            .take_while(|&at| self.events[at].begun < first_end)
            .collect();
        for at in next {
            let event = &self.events[at];
            let Some(after) = self.model.step(state, &event.call, &event.answer) else {
                continue;
            };
            self.done[at] = true;
            self.order.push(at);
            if self.explains(&after) {
                return true;
            }
            self.order.pop();
            self.done[at] = false;
        }
        false
    }

    fn bits(&self) -> Vec<u64> {
        let words = self.done.chunks(64);
        words
            .map(|bits| {
                bits.iter()
                    .rev()
                    .fold(0, |word, done| word << 1 | u64::from(*done))
            })
            .collect()
    }
}
