//! Bloom filters: which keys a file certainly does not hold.

mod builder;
mod format;
mod hash;

pub(super) use builder::FilterBuilder;
pub(crate) use format::Bloom;
pub use hash::FilterFunctor;
pub(super) use hash::KeyHash;
