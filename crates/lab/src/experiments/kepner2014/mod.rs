//! J. Kepner and others: 100 million inserts a second with Accumulo and D4M.

mod ingest;
mod paper;
mod pictures;

pub(super) use ingest::{figure_5, figure_6, figure_7, write_ahead_log};
pub(super) use paper::CITATION;
pub(super) use pictures::{figure_3, figure_4};
