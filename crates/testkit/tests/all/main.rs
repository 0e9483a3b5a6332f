//! The promises of the store, kept or not: every test here needs the kit, or a disk that fails.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod closing;
mod crash_loop;
mod crowd;
mod examined;
mod faults;
mod harness;
mod histories;
mod importing;
mod model;
mod noninterference;
mod openings;
mod rot;
mod torn;
mod trouble;
