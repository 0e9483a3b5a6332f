//! The lab on the embedded store, through the public face.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests fail by panicking, say what they skip, and the killed writer speaks to its parent"
)]

mod agitate;
mod layout;
mod splitting;
mod store;
mod ycsb;
mod ycsb_core;
