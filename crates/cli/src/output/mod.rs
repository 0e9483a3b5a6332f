//! How results are shown: escaped text, aligned columns for people, JSON for machines.

mod columns;
mod entries;
mod escape;
mod json;
mod label;
mod numbers;
mod rows;
mod sink;

pub(crate) use columns::Columns;
pub(crate) use entries::{EntryFields, write_entry_json, write_entry_text, write_value_raw};
pub(crate) use escape::{escape, escape_controls, escape_part, unescape, visible};
pub(crate) use json::{BASE64_SUFFIX, from_base64, with_bytes, write_json_line};
pub(crate) use label::{escape_label, unescape_label};
pub(crate) use numbers::{bytes, counted, grouped, seconds};
pub(crate) use rows::{TableRows, of_csv};
pub(crate) use sink::Output;
