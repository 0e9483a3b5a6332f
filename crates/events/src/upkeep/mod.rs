//! Deleting events, removing old ones, and checking that the three tables agree.

mod check;
mod delete;
mod repair;

pub use check::{Disagreement, EventCheck};
pub use delete::AgeOff;
pub use repair::Repair;
