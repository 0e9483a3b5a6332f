//! The constraint contract: the checks that a mutation must pass before it is accepted.
//!
//! A source that runs constraints checks every mutation of a batch before anything is logged,
//! removes those that violate one, and applies the others. The
//! [`WriteOutcome`](crate::source::WriteOutcome) reports how many each constraint rejected, with
//! which code. A remote source reports the rejections of its server in the same form.

mod contract;
mod registry;
mod set;
#[cfg(test)]
mod tests;

pub use contract::{Constraint, ConstraintEnvironment};
pub use registry::ConstraintRegistry;
pub use set::{ConstraintSet, Screened};
