//! Ingest: writes linked lists forever, or until a number of entries is written.

mod options;
mod run;
mod writer;

pub use options::{FLUSHES_MAX, Flush, IngestFigures, IngestOptions, LabelChoice, Settle};
pub use run::run_ingest;

#[cfg(test)]
mod tests;
