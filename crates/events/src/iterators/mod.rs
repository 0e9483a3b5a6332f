//! Iterators that run next to the data. They hide batches that were never committed, and deleted events.

mod aggregates;
mod events;
mod index;
mod options;
mod period;
mod register;
mod rows;
mod settle;
mod snapshot;
#[cfg(test)]
mod tests;

pub use register::register_event_iterators;

pub(crate) use aggregates::{aggregate_scan, total_scan};
pub(crate) use events::{EVENT_REPORT, EventScan, event_scan, put_run, runs};
pub(crate) use index::index_scan;
pub(crate) use options::Table as EventTable;
pub(crate) use settle::settle;
pub(crate) use snapshot::Snapshot;
