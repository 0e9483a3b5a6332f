//! Ostrakon is an embedded, ingest-first table store with cell-level security. A store is a
//! directory; a table is a sorted map of entries; every entry carries a label, and every scan
//! carries the authorizations of its reader.
//!
//! ```
//! use ostrakon::Store;
//!
//! # let directory = tempfile::tempdir().expect("a temporary directory");
//! # let path = directory.path().join("people.db");
//! let store = Store::open(path)?;
//! let people = store.open_or_create_table("people")?;
//! people.put("alice", ("contact", "city"), "Berlin").commit()?;
//! people.put("alice", ("contact", "mail"), "a@b.c").label("hr|self").commit()?;
//!
//! let mut seen = Vec::new();
//! for entry in people.scan().row("alice").auths(["hr"]) {
//!     seen.push(entry?.value_str()?.to_owned());
//! }
//! assert_eq!(seen, ["Berlin", "a@b.c"]);
//! assert_eq!(people.scan().row("alice").into_iter().count(), 1, "without `hr`: the city alone");
//! # Ok::<(), ostrakon::Error>(())
//! ```
//!
//! # Where to start
//!
//! | to | use |
//! |---|---|
//! | open a store with other settings | [`Store::builder`] |
//! | create a table with splits, versions or iterators | [`Store::table_builder`] |
//! | change one row | [`Table::put`], [`Table::delete`], [`Table::update`] |
//! | write only if something holds | [`Write::only_if`] |
//! | write millions of entries | [`Table::batch_writer`] |
//! | read | [`Table::scan`]; [`Entries::next_batch`] where every nanosecond counts |
//! | filter and transform inside the store | [`StoreBuilder::filter_class`], [`IteratorSetting`] |
//! | do what this crate has no method for | [`Table::source`], [`Store::source`], [`cell`] |
//!
//! An acknowledged write survives `kill -9` and power loss, unless a weaker [`Durability`] is
//! chosen. A change of one row is atomic; there are no transactions over rows. One process has a
//! store open for writing. All handles are cheap to clone and may be used from any thread; the store
//! is closed when the last one is dropped.
//!
//! # Features
//!
//! * `zstd`, on by default: reads and writes blocks in zstd, with a library in C. Without it tables
//!   that are set to zstd are written with LZ4, and blocks in zstd cannot be read.
//! * `jemalloc`: the program allocates with jemalloc, and stores lend write-buffer memory that is
//!   not used to their block cache. Off by default: which allocator a process has is for its owner
//!   to say.
//! * `serde`: [`Entry`], [`Mutation`], and the types [`Key`](cell::Key), [`Range`], [`Authorizations`] and
//!   [`VisibilityExpression`](cell::VisibilityExpression) implement `Serialize` and `Deserialize`. In JSON an entry has
//!   the form in which the program `ostrakon` prints it: bytes that are not UTF-8 are base64 under `NAME_base64`. Off by
//!   default.
//! * `async`: `unblock`, `Write::commit_async`, `ConditionalWrite::commit_async`, `Table::write_async`,
//!   `Scan::stream` and `Scan::stream_batches`, for any runtime. Off by default.

#![warn(missing_debug_implementations)]

#[cfg(feature = "async")]
mod asynchronous;
mod builder;
mod classes;
mod column;
mod condition;
mod entries;
mod entry;
mod mutation;
mod scan;
#[cfg(feature = "serde")]
mod serde;
mod store;
mod table;
mod table_builder;
mod write;
mod writer;

pub use ostrakon_cell as cell;
pub use ostrakon_cell::{
    Authorizations, Batch, BatchWriterConfig, Durability, EntryRef, Error, ErrorKind,
    IteratorScope, IteratorSetting, KeyRef, Range, Result,
};

pub use ostrakon_store::metrics::MetricsSnapshot;

#[cfg(feature = "async")]
pub use asynchronous::{BatchStream, EntryStream, unblock};
pub use builder::StoreBuilder;
pub use column::Column;
pub use condition::{Condition, ConditionalWrite};
pub use entries::Entries;
pub use entry::Entry;
pub use mutation::Mutation;
pub use scan::Scan;
pub use store::Store;
pub use table::Table;
pub use table_builder::TableBuilder;
pub use write::Write;
pub use writer::BatchWriter;
