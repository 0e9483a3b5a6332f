//! Verify: finds every link that leads nowhere, in bounded memory.

mod options;
mod run;

pub use options::{CorruptEntry, UndefinedRow, VerifyFigures, VerifyOptions};
pub use run::run_verify;
