//! CSV and TSV files, and JSON lines.

mod codes;
mod columns;
mod fields;
mod followed;
mod header;
mod merge;
mod objects;
mod quotes;
mod reader;
mod whole;

pub(super) use followed::DAMAGED;
pub(super) use reader::Text;
