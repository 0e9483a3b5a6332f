//! SQL over the tables of a source, by DataFusion.
//!
//! * **Sessions**: [`SqlSession`] runs statements for a reader with certain authorizations; [`SqlOptions`] has its
//!   settings, [`SqlStart`] a statement that is being planned, [`SqlRows`] its rows, [`SpillDirectory`] its temporary
//!   files.
//! * **Relations**: a table with a schema is the relation of its records; any other table is the relation
//!   (row, family, qualifier, visibility, timestamp, value) of its entries, as is `cells.TABLE` for every table.
//!   `d4m.TABLE` is a table of D4M's schema with its columns `field|value` split. An event type is the relation of its
//!   events. [`EventRows`] and [`ColumnBuilder`] make their columns for other callers, too.
//!
//! Conditions, columns and limits are pushed down to scans; `EXPLAIN` shows which. Rows stream, and dropping a stream ends
//! its scans.
//!
//! Not here: authentication, a server, output formats.

mod catalog;
mod cells;
mod checked;
mod d4m;
mod error;
mod events;
mod files;
mod records;
mod scan;
mod session;

pub use events::EventRows;
pub use records::{ColumnBuilder, ColumnType};
pub use session::{
    SpillDirectory, SqlOptions, SqlRows, SqlSession, SqlStart, SqlStatement, SqlValue, Step,
    TEXT_MAX, ends_statement, parse_statements,
};
