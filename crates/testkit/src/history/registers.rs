//! Rows as registers: written, compared and set, deleted, read.

use super::checker::Model;

/// What is asked of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegisterCall {
    /// The value, if there is one.
    Read,
    /// Writes whatever stands there.
    Write(u32),
    /// Deletes whatever stands there.
    Delete,
    /// Writes if the value, or that there is none, is as given.
    CompareAndSet(Option<u32>, u32),
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegisterAnswer {
    /// The value read.
    Value(Option<u32>),
    /// Written.
    Done,
    /// The condition did not hold.
    Refused,
}

/// One row. Rows do not know of each other, so the history of each is checked alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct Registers;

impl Model for Registers {
    type State = Option<u32>;
    type Call = RegisterCall;
    type Answer = RegisterAnswer;

    fn start(&self) -> Option<u32> {
        None
    }

    fn step(
        &self,
        state: &Option<u32>,
        call: &RegisterCall,
        answer: &RegisterAnswer,
    ) -> Option<Option<u32>> {
        match (call, answer) {
            (RegisterCall::Read, RegisterAnswer::Value(value)) => {
                (value == state).then_some(*state)
            }
            (RegisterCall::Write(value), RegisterAnswer::Done) => Some(Some(*value)),
            (RegisterCall::Delete, RegisterAnswer::Done) => Some(None),
            (RegisterCall::CompareAndSet(expected, value), RegisterAnswer::Done) => {
                (expected == state).then_some(Some(*value))
            }
            (RegisterCall::CompareAndSet(expected, _), RegisterAnswer::Refused) => {
                (expected != state).then_some(*state)
            }
            _ => None,
        }
    }
}
