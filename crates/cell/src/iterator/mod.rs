//! The iterator contract: how user code runs inside a scan or a compaction.
//!
//! Iterators are stacked: sources → deletes → columns → visibility → user iterators by ascending
//! priority. Each [`seek`](SortedKeyValueIterator::seek)s its source and passes sorted entries on,
//! one batch at a time. Code that works on one entry at a time implements [`EntryIterator`] and is
//! wrapped in an [`EntryAdapter`].

mod adapter;
mod contract;
mod interrupt;
mod registry;
mod setting;

pub use adapter::{EntryAdapter, EntryIterator};
pub use contract::{
    BoxedIterator, IteratorEnvironment, SortedKeyValueIterator, TableConfiguration,
};
pub use interrupt::{Interrupt, Interruption};
pub use registry::{IteratorClass, IteratorRegistry};
pub use setting::{IteratorOptions, IteratorScope, IteratorSetting};
