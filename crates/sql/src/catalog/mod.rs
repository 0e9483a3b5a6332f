//! The tables of a source as a catalog of relations.

mod names;
mod provider;

pub(crate) use names::{TableName, missing};
pub(crate) use provider::{CELLS, MAIN, PUBLIC, Shared, SourceCatalog, is_closed};
