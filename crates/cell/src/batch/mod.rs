//! Batches, in which entries move through the engine and out of it.
//!
//! A [`Batch`] holds a sequence of sorted entries in one byte arena with a fixed-size [`Slot`] per
//! entry, so that a scan makes one virtual call per thousand entries and no allocation per entry.
//! Visibilities are dictionary ids: a label is evaluated once per batch, not once per entry.
//! Entries that share bytes (the row of the previous entry, a family from a block's dictionary)
//! share [`Span`]s.
//!
//! Limits and sizes count the present entries, never dropped ones: a batch from which a filter
//! removed all entries can be filled again.

mod cursor;
mod data;
mod edit;
mod labels;
#[cfg(test)]
mod tests;

pub use cursor::BatchCursor;
pub use data::{Batch, BatchLimit, LabelMap, Slot, Span};
pub use edit::Mark;
