//! Group commit: writers queue batches, and one log thread writes, syncs and publishes them.
//!
//! A batch passes through the files of this module in this order: a table makes a [`LoggedCommit`]
//! of it and puts it into the [`CommitQueue`]; the [`LogThread`] takes all queued commits, appends
//! them to the log, syncs once for all of them, publishes each in its table's memtable in order of
//! sequence, and settles the [`Ticket`] that its writer waits for.

mod logged;
mod queue;
mod thread;
mod ticket;

pub(crate) use logged::{CommitTarget, LoggedCommit};
pub(crate) use queue::CommitQueue;
pub(crate) use thread::{LogShared, LogThread};
pub(crate) use ticket::Ticket;
