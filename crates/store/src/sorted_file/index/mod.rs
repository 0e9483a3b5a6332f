//! The index of a locality group: for each block where it lies and a short key that separates it from the one before.

mod builder;
mod format;

pub(super) use builder::IndexBuilder;
pub(super) use format::{BlockPlace, GroupIndex};
