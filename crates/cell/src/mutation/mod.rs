//! Mutations (changes to one row, applied as a whole or not at all), and batches of them.
//!
//! A [`MutationBatch`] is encoded once by the writer and never again: the same bytes are the record
//! of the write-ahead log and the chunk of the memtable.

mod format;
mod mutation_batch;
mod mutation_ref;
mod owned;
#[cfg(test)]
mod tests;

pub use format::{UpdateRef, read_update};
pub use mutation_batch::{MutationBatch, UpdateIter};
pub use mutation_ref::{MutationIter, MutationRef};
pub use owned::{ColumnUpdate, Mutation};
