//! Tables with a schema as relations of records: a row of the table is a row of the relation.

mod bulk;
mod column;
mod encode;
mod filter;
mod key;
mod kind;
mod layout;
mod present;
mod provider;
mod reader;
mod required;
mod schema;
mod turn;
mod update;
mod write;

pub use column::ColumnBuilder;
pub use kind::ColumnType;
pub(crate) use provider::RecordsTable;
pub(crate) use schema::{PROPERTY, RecordColumn, RecordSchema};
pub(crate) use update::Changed;
pub(crate) use write::RecordWriter;
