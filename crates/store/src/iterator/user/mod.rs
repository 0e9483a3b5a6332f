//! The stock iterators, under Accumulo's class and option names.

mod options;
mod stock;
mod versioning;

pub use stock::stock_iterators;
pub use versioning::VersioningIterator;
