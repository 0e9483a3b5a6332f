//! Batches: how entries move through the engine and out of it.
//!
//! A [`Batch`] holds a run of sorted entries in one byte arena with a fixed-size [`Slot`] each, so
//! that a scan makes one virtual call per thousand entries and no allocation per entry. Visibilities
//! are dictionary ids: a label is judged once per batch, not once per entry. Entries that share
//! bytes (the row of the entry before, a family from a block's dictionary) share [`Span`]s.
//!
//! Limits and sizes count the entries that are there, never what was dropped: a batch from which a
//! filter took everything has room again.

mod cursor;
mod data;
mod edit;
mod labels;
#[cfg(test)]
mod tests;

pub use cursor::BatchCursor;
pub use data::{Batch, BatchLimit, LabelMap, Slot, Span};
pub use edit::Mark;
