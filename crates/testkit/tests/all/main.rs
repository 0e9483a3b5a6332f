//! Tests of the store's guarantees that need the test tools, or a failing disk.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod closing;
mod concurrency;
mod corruption;
mod crash_loop;
mod examined;
mod faults;
mod harness;
mod histories;
mod importing;
mod io_errors;
mod limits;
mod model;
mod names;
mod noninterference;
mod openings;
mod torn;
