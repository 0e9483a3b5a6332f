//! Ingest: writes linked lists for ever, or as many entries as asked.

mod options;
mod run;
mod writer;

pub use options::{IngestFigures, IngestOptions, Settle};
pub use run::run_ingest;

#[cfg(test)]
mod tests;
