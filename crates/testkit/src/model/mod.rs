//! The model test: random operations from one seed, played on a source and on the judge, compared
//! after every few steps; with a disk that dies, and the judge taken back to what must have survived.
//!
//! [`generate()`] makes the operations of a seed, [`play`] plays them on a [`Harness`], and [`run`]
//! does both, shortens what failed, and says how to see it again.

mod generate;
mod harness;
mod operation;
mod player;
mod runs;
mod survivors;
#[cfg(test)]
mod tests;

pub use generate::{Plan, generate};
pub use harness::{Harness, JudgeHarness};
pub use operation::{Change, Operation, Style, Trouble};
pub use player::{Disagreement, play};
pub use runs::{Runs, run};
