//! The continuous test suite on any source.
//!
//! [Ingest](run_ingest) writes linked lists: every entry names a row written and acknowledged
//! before it. So in a sound store no entry ever names a missing row. [Verify](run_verify) searches for
//! one that does, [walk](run_walk) and [batch walk](run_batch_walk) detect it when they reach it, and
//! [agitate](run_agitate) kills the writer repeatedly to provoke it.
//!
//! Parameters and formats follow the suite of Accumulo; where it and the paper of 2013 differ the
//! option says so.

mod agitate;
mod batch_walk;
mod generator;
mod ingest;
mod labels;
mod layout;
mod moru;
mod pieces;
mod record;
mod rows;
mod scan;
mod starts;
mod stats;
#[cfg(test)]
mod tests;
mod verify;
mod walk;
mod walkers;

pub use agitate::{AgitateFigures, AgitateOptions, Agitated, run_agitate};
pub use batch_walk::{BatchWalkFigures, BatchWalkOptions, run_batch_walk};
pub use generator::{Generator, GeneratorOptions, Place};
pub use ingest::{
    FLUSHES_MAX, Flush, IngestFigures, IngestOptions, LabelChoice, Settle, run_ingest,
};
pub use labels::{read_authorizations, read_visibilities};
pub use layout::{
    EntryError, Link, ROW_BYTES, VALUE_BYTES_MAX, format_row, parse_entry, parse_row,
};
pub use moru::{MoruFigures, MoruOptions, run_moru};
pub use record::{RUN_RECORD_VERSION, RunRecord};
pub use rows::{RowRange, even_splits};
pub use scan::{ScanFigures, ScanTestOptions, run_scan};
pub use stats::{StatsFigures, StatsLine, StatsOptions, run_stats};
pub use verify::{CorruptEntry, UndefinedRow, VerifyFigures, VerifyOptions, run_verify};
pub use walk::{WalkFigures, WalkOptions, run_walk};
