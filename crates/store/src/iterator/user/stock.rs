//! All stock iterators in one registry.

use std::sync::Arc;

use ostrakon_cell::IteratorRegistry;

use super::versioning::Versioning;

/// The classes every store knows; register your own on top.
#[must_use]
pub fn stock_iterators() -> IteratorRegistry {
    let mut registry = IteratorRegistry::new();
    registry.register(Arc::new(Versioning));
    registry
}
