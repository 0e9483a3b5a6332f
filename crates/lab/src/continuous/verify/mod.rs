//! Verify: finds every link to a missing row, in bounded memory.

mod count;
mod options;
mod partitions;
mod run;
mod scan;
#[cfg(test)]
mod tests;

pub use options::{CorruptEntry, UndefinedRow, VerifyFigures, VerifyOptions};
pub use run::run_verify;
