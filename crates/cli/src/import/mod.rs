//! Files into tables: readers cut files into records, the plan turns a record into a mutation, the
//! run writes mutations and collects what was rejected.
//!
//! Bad lines never stop or take away good ones: every reader goes on with the next line.

mod blanks;
mod delimited;
mod fields;
mod json;
mod lines;
mod open;
mod pattern;
mod plan;
mod record;
mod rejects;
mod run;
mod timestamp;
mod types;
mod zeek;

pub(crate) use run::{look, run};
