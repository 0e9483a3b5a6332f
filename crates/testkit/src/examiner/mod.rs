//! The examiner for table sources: numbered scenarios that any source can run, chosen by what the
//! source declares it can do.
//!
//! A source that passes behaves like every other above the contract. Each scenario is known to fail
//! on at least one source that is broken on purpose.

mod bench;
#[cfg(test)]
mod broken;
mod catalogue;
mod examination;
mod report;
mod scenarios;
#[cfg(test)]
mod tests;

pub use examination::{Examination, examine_source};
pub use report::{Report, Verdict};
