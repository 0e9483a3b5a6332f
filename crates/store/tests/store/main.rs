//! The store through its public face.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod accepted_losses;
mod administration;
mod answers;
mod behaviour;
mod compacting;
mod conditional;
mod constraints;
mod deadlines;
mod dividing;
mod failing;
mod garbage;
mod last_write;
mod levels;
mod log_order;
mod lookups;
mod many_tables;
mod many_tablets;
mod memory;
mod order;
mod panics;
mod scans;
mod splitting_first;
mod table_files;
mod unflushed;
mod writers;
