//! The constraint contract: what a mutation must pass before it is accepted.
//!
//! A source that runs constraints looks at every mutation of a batch before anything is logged,
//! leaves out those that violate one, applies the others, and says in the
//! [`WriteOutcome`](crate::source::WriteOutcome) which constraint refused how many, with which code.
//! A source behind a network hands on what its server says in the same words.

mod contract;
mod registry;
mod set;
#[cfg(test)]
mod tests;

pub use contract::{Constraint, ConstraintEnvironment};
pub use registry::ConstraintRegistry;
pub use set::{ConstraintSet, Screened};
