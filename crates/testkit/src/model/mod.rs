//! The model test: random operations from one seed, played on a source and on the model, compared
//! after every few steps; with a disk that dies, and the model taken back to what must have survived.
//!
//! [`generate()`] makes the operations of a seed, [`play`] plays them on a [`Harness`], and [`run`]
//! does both, shortens what failed, and says how to see it again.

mod apply;
mod generate;
mod happened;
mod harness;
mod keys;
mod operation;
mod player;
mod runs;
mod scans;
mod survivors;
#[cfg(test)]
mod tests;
mod threads;

pub use generate::{NotYet, Plan, generate};
pub use harness::{Harness, ModelHarness};
pub use operation::{Change, Expected, Guarded, Operation, Step, Style, Trouble};
pub use player::{Disagreement, Played, play};
pub use runs::{Runs, run};
pub use threads::{Shared, Threads, play_threads};
