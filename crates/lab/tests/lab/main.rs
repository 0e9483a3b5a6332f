//! The lab on the embedded store, through the public face.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests fail by panicking, and the killed writer speaks to its parent"
)]

mod agitate;
mod store;
