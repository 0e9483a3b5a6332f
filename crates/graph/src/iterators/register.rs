//! All classes of this crate in a registry.

use std::sync::Arc;

use ostrakon_cell::IteratorRegistry;

use super::apply::ApplyClass;
use super::combiner::NumberCombinerClass;
use super::filter::KeyFilterClass;
use super::row_reduce::RowReduceClass;

/// Adds the classes of this crate to a store's.
///
/// ```
/// use ostrakon_graph::register_graph_iterators;
/// use ostrakon_store::iterator::user::stock_iterators;
/// let mut iterators = stock_iterators();
/// register_graph_iterators(&mut iterators);
/// assert!(iterators.get("NumberCombiner").is_ok());
/// ```
pub fn register_graph_iterators(registry: &mut IteratorRegistry) {
    registry.register(Arc::new(ApplyClass));
    registry.register(Arc::new(NumberCombinerClass));
    registry.register(Arc::new(KeyFilterClass));
    registry.register(Arc::new(RowReduceClass));
}

/// The classes of this crate, for running them on this side of a scan.
pub(crate) fn graph_iterators() -> IteratorRegistry {
    let mut registry = IteratorRegistry::new();
    register_graph_iterators(&mut registry);
    registry
}
