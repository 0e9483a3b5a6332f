//! Bloom filters, which prove that keys are absent from a file.

mod builder;
mod format;
mod hash;

pub(super) use builder::FilterBuilder;
pub(crate) use format::Bloom;
pub use hash::FilterFunctor;
pub(super) use hash::KeyHash;
