//! The embedded table store.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod cache;
pub mod catalog;
pub mod clock;
pub mod codec;
pub mod error;
pub mod iterator;
pub mod memtable;
pub mod metrics;
pub mod sorted_file;
pub mod threads;
pub mod vfs;
pub mod wal;
