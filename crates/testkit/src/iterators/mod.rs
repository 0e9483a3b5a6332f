//! The examiner for iterator classes: what the contract asks of every iterator, tried on data of
//! your own, above sources that do all that the contract allows.

mod examination;
mod source;

pub use examination::{IteratorCase, Seeks, examine_iterator, examine_iterator_against};
pub use source::{EntrySource, Hostility};
