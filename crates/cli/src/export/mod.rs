//! Writes entries to files: formats, compression, and files that get their name when they are complete.

mod form;
mod name;
#[cfg(feature = "parquet")]
mod parquet;
mod target;

pub(crate) use form::Form;
pub(crate) use name::{Packing, by_name};
pub(crate) use target::{Target, is_stdout, partial_of};

/// How the message about a part of an entry ends that is not text.
pub(crate) const NOT_TEXT: &str = "is not UTF-8 text";
