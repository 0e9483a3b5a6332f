//! A driver for ADBC, the interface of Apache Arrow to databases: SQL over a store, with Arrow data in and out.
//!
//! * [`OstrakonDriver`] makes databases, [`OstrakonDatabase`] holds an open store, [`OstrakonConnection`] is a session of
//!   SQL, [`OstrakonStatement`] a statement with its parameters.
//! * A shared library with this crate in it exports `AdbcDriverOstrakonInit` and `AdbcDriverInit`, with which driver
//!   managers load the driver. It has version 1.1.0 of the interface.
//!
//! | option of the database | value | default |
//! |---|---|---|
//! | `uri` | the directory of the store, which is created with those above it if it does not exist | required |
//! | `adbc.ostrakon.auths` | the authorizations of the reader, separated by commas, or in Accumulo's serialised form | none |
//! | `adbc.ostrakon.label` | the label of records that are written without one | none |
//! | `adbc.ostrakon.files` | `true` if statements may read local files | `false` |
//! | `adbc.ostrakon.read_only` | `true` to open the store for reading | `false` |
//! | `adbc.ostrakon.memory_bytes` | the memory of queries in bytes, at least 16 MiB | an eighth of the machine's, from 256 MiB to 2 GiB |
//!
//! Authorizations are an option of the database alone: neither a connection nor a statement can change them.
//! Each statement is committed by itself. The option `adbc.connection.autocommit` cannot be switched off, and bulk ingest,
//! Substrait plans, partitioned results and statistics are not implemented.
//!
//! Source: the header `adbc.h` of Apache Arrow ADBC, version 1.1.0.

mod cancel;
mod connection;
mod driver;
mod error;
mod info;
mod objects;
mod panics;
mod parameters;
mod rows;
mod settings;
mod statement;

pub use connection::OstrakonConnection;
pub use driver::{OstrakonDatabase, OstrakonDriver};
pub use statement::OstrakonStatement;

/// The entry points of the C interface.
mod export {
    adbc_ffi::export_driver!(AdbcDriverOstrakonInit, crate::OstrakonDriver);
}
