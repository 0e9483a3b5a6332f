//! Compaction: choosing which files to merge, and merging them.
//!
//! Choosing is pure; running reads sources, merges them through the iterators of its scope and
//! writes one sorted file. Publishing the result is the tablet's business.

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
