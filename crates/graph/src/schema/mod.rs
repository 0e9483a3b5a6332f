//! Writes graphs and records in D4M's layouts: adjacency tables, incidence tables, single-table
//! graphs, and the D4M 2.0 schema that indexes every value of a record.
//!
//! Families are empty and values decimal text throughout. Degrees are summed by the client before
//! they are written, and in the table by a `SummingCombiner`.

mod adjacency;
mod degrees;
mod edge_tables;
mod ids;
mod incidence;
mod records;
mod single;
#[cfg(test)]
mod tests;
mod writers;

pub use adjacency::{AdjacencyTables, AdjacencyWriter};
pub use ids::{edge_id, flip, reversed_millis};
pub use incidence::{IncidenceTables, IncidenceWriter};
pub use records::{RecordTables, RecordWriter};
pub use single::SingleTableWriter;
