//! Sources that are broken on purpose, one fault each, so that every scenario is seen to fail.

mod bulk;
mod faults;
mod scan;
mod source;
mod table;
mod twist;

pub(super) use faults::{FAULTS, Fault};
pub(super) use source::BrokenSource;
