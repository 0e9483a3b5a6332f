//! The store: opens and closes a directory, owns the log thread and the background threads.

mod accept_loss;
mod admin;
mod background;
mod check;
mod checkpoint;
mod close;
mod closed;
mod error_throttle;
mod levels;
mod names;
mod open;
mod problems;
mod proven;
mod recovery;
mod remains;
mod restore;

pub use open::{Components, Store};
