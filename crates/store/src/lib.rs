//! The embedded table store: a directory of tables with Accumulo's data model, cell-level security
//! and iterators, opened in milliseconds by one process.
//!
//! * Writing: a [`BatchWriter`](ostrakon_cell::BatchWriter) on a table of the store.
//! * Reading: a [`Scanner`](ostrakon_cell::Scanner), or
//!   [`Table::scan`](ostrakon_cell::Table::scan) for batches.
//! * Not here: a network protocol, SQL, Arrow; other crates build them on the same contract.
//!
//! ```
//! use ostrakon_cell::{BatchWriter, BatchWriterConfig, Mutation, Range, Scanner, Source, TableOptions};
//! use ostrakon_store::Store;
//!
//! let store = Store::in_memory()?;
//! store.create_table("graph", &TableOptions::default())?;
//! let table = store.table("graph")?;
//!
//! let mut writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
//! let mut mutation = Mutation::new("alice");
//! mutation.put("edge", "bob", "cited")?;
//! writer.add(&mutation)?;
//! writer.close()?;
//!
//! let entries = Scanner::new(table).range(Range::row("alice")).entries()?;
//! assert_eq!(entries[0].value, b"cited");
//! # Ok::<(), ostrakon_cell::Error>(())
//! ```

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod cache;
pub mod catalog;
pub mod clock;
pub mod codec;
mod commit;
pub mod compaction;
pub mod constraint;
pub mod error;
pub mod iterator;
pub mod memtable;
pub mod metrics;
mod options;
pub mod properties;
mod read;
mod runtime;
pub mod sorted_file;
mod store;
mod table;
pub mod tablet;
pub mod threads;
pub mod timer;
pub mod version;
pub mod vfs;
pub mod wal;

pub use options::{FileCuts, StoreOptions};
pub use store::{Components, Store};
