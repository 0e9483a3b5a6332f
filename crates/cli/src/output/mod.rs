//! How results are shown: escaped text, aligned columns for people, JSON for machines.

mod columns;
mod entries;
mod escape;
mod numbers;
mod sink;

pub(crate) use columns::Columns;
pub(crate) use entries::{EntryFields, write_entry_json, write_entry_text};
pub(crate) use escape::{escape, unescape};
pub(crate) use numbers::{bytes, counted, grouped, seconds};
pub(crate) use sink::Output;
