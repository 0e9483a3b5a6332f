//! One binary for the examinations that need the store.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod iterators;
