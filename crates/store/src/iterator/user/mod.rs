//! The stock iterators, under Accumulo's class and option names, and the bases for other iterators.

mod age_off;
mod column_set;
mod combiner;
mod filter;
mod grep;
mod java_regex;
mod labelled;
mod long_combiner;
mod number;
mod options;
mod regex_filter;
mod stock;
mod versioning;
mod whole_row;

pub use age_off::{AgeOffFilter, time_to_live};
pub use column_set::encode_columns;
pub use combiner::{Combined, Combiner, Reduce};
pub use filter::{EntryFilter, Filter};
pub use grep::GrepIterator;
pub use labelled::ReqVisFilter;
pub use long_combiner::LongReduce;
pub use number::NumberEncoding;
pub use regex_filter::RegExFilter;
pub use stock::stock_iterators;
pub use versioning::VersioningIterator;
pub use whole_row::{WholeRowIterator, decode_row, encode_row};
