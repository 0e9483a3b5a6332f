//! What the facade promises beyond what the crates below it test.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "facade/asynchronous.rs"]
mod asynchronous;
#[path = "facade/classes.rs"]
mod classes;
#[path = "facade/handles.rs"]
mod handles;
#[path = "facade/scans.rs"]
mod scans;
#[path = "facade/serde.rs"]
mod serde;
#[path = "facade/writes.rs"]
mod writes;
