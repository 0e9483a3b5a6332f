//! Imports files into tables: readers split files into records, the plan turns a record into a
//! mutation, and the run writes mutations and collects rejected lines.
//!
//! A bad line does not affect good ones: every reader continues with the next line.

mod blanks;
#[cfg(feature = "parquet")]
mod caught;
mod delimited;
mod entry_parts;
mod fields;
mod input;
mod json;
mod lines;
mod open;
#[cfg(feature = "parquet")]
mod parquet;
mod pattern;
mod plan;
mod record;
mod rejects;
mod run;
mod screen;
mod timestamp;
mod types;
mod zeek;

pub(crate) use input::{
    Consumed, Input, about_packing, check_encoding, check_packing, is_stdin, open as open_input,
    shown_name,
};
pub(crate) use lines::MAX_LINE_BYTES;
#[cfg(feature = "parquet")]
pub(crate) use parquet::Parquet;
#[cfg(feature = "parquet")]
pub(crate) use record::{Presence, Record, RecordReader, Step};
pub(crate) use rejects::Rejects;
pub(crate) use run::{Destination, look, reads_pipe, run};
pub(crate) use screen::Screen;
