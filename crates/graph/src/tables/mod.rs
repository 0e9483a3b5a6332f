//! Reads and writes tables for algorithms: scans with iterators or without, rows in order,
//! results into tables.

mod context;
mod fallback;
mod load;
mod result;
mod rows;
#[cfg(test)]
pub(crate) mod testing;

pub use context::{GraphContext, Interrupt};
pub use load::{MatrixTable, ValueKind};
pub use result::{ResultTable, WriteCount};

pub(crate) use load::load_undirected;
pub(crate) use result::{RowSink, TableWriter, stock_setting};
pub(crate) use rows::RowStream;
