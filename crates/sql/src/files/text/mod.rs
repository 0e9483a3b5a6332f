//! CSV and TSV files, and JSON lines.

mod columns;
mod dates;
mod fields;
mod followed;
mod header;
mod lines;
mod looks;
mod merge;
mod objects;
mod quotes;
mod reader;
mod whole;

pub(super) use followed::DAMAGED;
pub(super) use reader::Text;
