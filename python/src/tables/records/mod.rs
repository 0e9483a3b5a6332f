//! Records in the D4M 2.0 schema, imported as sorted files: without the log, and sorted by positions in
//! dictionaries instead of by comparing keys.

mod argument;
mod import;
mod json;
mod write;

pub(super) use import::NativeRecordImport;
