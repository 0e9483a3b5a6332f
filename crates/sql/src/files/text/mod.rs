//! CSV and TSV files with a header line, and JSON lines.

mod codes;
mod columns;
mod followed;
mod header;
mod objects;
mod quotes;
mod reader;
mod whole;

pub(super) use followed::DAMAGED;
pub(super) use reader::Text;
