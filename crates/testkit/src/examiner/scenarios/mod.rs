//! The scenarios, by what they look at.

pub(super) mod atomicity;
pub(super) mod bulk;
pub(super) mod columns;
pub(super) mod conditional;
pub(super) mod constraints;
pub(super) mod contexts;
pub(super) mod copies;
pub(super) mod iterators;
pub(super) mod labels;
pub(super) mod maintenance;
pub(super) mod namespaces;
pub(super) mod properties;
pub(super) mod ranges;
pub(super) mod scans;
pub(super) mod tables;
pub(super) mod tablets;
pub(super) mod timestamps;
pub(super) mod versions;
pub(super) mod writing;
