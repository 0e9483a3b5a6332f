//! The embedded table store: a directory of tables with Accumulo's data model, cell-level security
//! and iterators, opened in milliseconds by one process.
//!
//! * Writing: a [`BatchWriter`](ostrakon_cell::BatchWriter) on a table of the store.
//! * Reading: a [`Scanner`](ostrakon_cell::Scanner), or
//!   [`Table::scan`](ostrakon_cell::Table::scan) for batches.
//! * Not here: a network protocol, SQL, Arrow; other crates build them on the same contract.
//!
//! Most programs should use the crate `ostrakon`, which has a simpler interface. Modules that are
//! hidden in this documentation are public only for the fuzz targets, benchmarks and test kit of
//! the repository, and change without notice. They are hidden instead of behind a feature, because
//! with a feature every crate of the workspace would compile the store a second time for its tests.
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

#[doc(hidden)]
pub mod cache;
#[doc(hidden)]
pub mod catalog;
pub mod clock;
#[doc(hidden)]
pub mod codec;
mod commit;
pub mod compaction;
pub mod constraint;
pub mod error;
mod fork;
pub mod iterator;
#[doc(hidden)]
pub mod memtable;
pub mod metrics;
mod numbered;
mod options;
pub mod properties;
mod read;
mod runtime;
pub mod sorted_file;
mod store;
mod table;
#[doc(hidden)]
pub mod tablet;
#[doc(hidden)]
pub mod threads;
#[doc(hidden)]
pub mod timer;
#[doc(hidden)]
pub mod version;
pub mod vfs;
#[doc(hidden)]
pub mod wal;

pub use options::{FileCuts, StoreOptions};
pub use store::{Components, Store};
