//! Compaction: chooses files and merges them.
//!
//! The choice is pure. The run reads sources, merges them through the iterators of its scope and
//! writes one sorted file. The table publishes the result.

mod cancel;
mod choose;
mod failures;
mod garbage;
mod run;
mod stoppable;

pub use cancel::Cancel;
pub use choose::{BySizeRatio, ChooseFiles, ChooseOptions, choose};
pub use failures::{Failure, Failures, caught, without_data};
pub use garbage::{FileFacts, RewriteCause, RewriteRules, next_rewrite};
pub use run::{rewrite, rewrite_on_two_threads};
pub use stoppable::StoppableIterator;
