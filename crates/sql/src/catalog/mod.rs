//! The tables of a source as a catalog of relations.

mod names;
mod provider;

pub(crate) use names::{TableName, missing};
pub(crate) use provider::{CELLS, D4M, MAIN, PUBLIC, Shared, SourceCatalog, View, is_closed};
