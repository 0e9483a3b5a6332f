//! The store through its public face.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod behaviour;
mod compacting;
mod constraints;
mod log_order;
mod lookups;
mod memory;
mod panics;
mod splitting_first;
mod writers;
