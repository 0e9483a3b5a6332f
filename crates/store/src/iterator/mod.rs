//! Iterators over sorted entries: the merge of many sources, the system's filters on top of it,
//! and the stock iterators users attach to tables.
//!
//! This module depends on the iterator contract of `cell` and not on files or tablets: any
//! [`SortedKeyValueIterator`](ostrakon_cell::SortedKeyValueIterator) can be its source.
//!
//! From the data up: [`MergeIterator`] → deletes → columns → visibility (see [`system`]) → the
//! user's iterators by ascending priority (see [`user`]).

mod copy;
mod filter;
mod merge;
mod seek;
pub mod system;
#[cfg(test)]
mod testing;
pub mod user;
mod wanted;

pub use merge::MergeIterator;
pub use system::{EntryCounter, LastRow, SystemOptions, system_stack};
pub use user::{stock_iterators, time_to_live};
pub(crate) use wanted::first_wanted;
