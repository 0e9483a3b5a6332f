//! The nodes of windows, whose memory counts.
//!
//! [`whole`] computes windows that need whole partitions, one partition after the other: the engine's node (version 55)
//! waits for all rows, whatever the partitions are. [`bounded`] computes the others while rows come. Both reserve what they
//! keep in the memory of the query, and end it with an error if that is used up.

mod bounded;
mod budget;
mod counted;
mod open;
mod peers;
mod pending;
mod runs;
mod whole;

pub(in crate::checked) use counted::counted;
