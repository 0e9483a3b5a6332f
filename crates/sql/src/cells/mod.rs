//! Tables as relations of their entries: (row, family, qualifier, visibility, timestamp, value).

mod filter;
mod provider;
mod reader;

pub(crate) use provider::CellsTable;
