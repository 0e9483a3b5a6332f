//! The crate through its public face.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod authorizations;
mod cancel;
mod cells;
mod concurrent;
mod conditions;
mod d4m;
mod deep;
mod events;
mod filled;
mod kit;
mod memory;
mod messages;
mod noninterference;
mod overflow;
mod papers;
mod partitions;
mod records;
mod relations;
mod slt;
mod statistics;
mod window_memory;
mod zones;
