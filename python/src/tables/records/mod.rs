//! Records in the D4M 2.0 schema, imported as sorted files: without the log, and sorted by positions in
//! dictionaries instead of by comparing keys. Files of records are read as columns.

mod argument;
mod file;
mod gathered;
mod import;
mod json;
mod json_lines;
mod write;

pub(super) use file::NativeRecordFile;
pub(super) use import::NativeRecordImport;
