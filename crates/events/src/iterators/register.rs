//! All classes of this crate in a registry.

use std::sync::Arc;

use ostrakon_cell::IteratorRegistry;

use super::aggregates::{AGGREGATE_SCAN, TOTAL_SCAN};
use super::events::EventScanClass;
use super::index::INDEX_SCAN;
use super::settle::SettleClass;

/// Adds the classes of this crate to a store's.
///
/// ```
/// use ostrakon_events::register_event_iterators;
/// use ostrakon_store::iterator::user::stock_iterators;
/// let mut iterators = stock_iterators();
/// register_event_iterators(&mut iterators);
/// assert!(iterators.get("EventScan").is_ok());
/// ```
pub fn register_event_iterators(registry: &mut IteratorRegistry) {
    registry.register(Arc::new(EventScanClass));
    registry.register(Arc::new(INDEX_SCAN));
    registry.register(Arc::new(AGGREGATE_SCAN));
    registry.register(Arc::new(TOTAL_SCAN));
    registry.register(Arc::new(SettleClass));
}
