//! Compaction: choosing which files to merge, and merging them.
//!
//! Choosing is pure; running reads sources, merges them through the iterators of its scope and
//! writes one sorted file. Publishing the result is the tablet's business.

mod choose;
mod run;
mod stoppable;

pub use choose::{ChooseOptions, choose};
pub use run::{Cancel, rewrite, rewrite_on_two_threads};
pub use stoppable::StoppableIterator;
