//! The memory of windows among that of a query.

use std::sync::Arc;

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};

/// The name of windows among what reserves memory.
pub(crate) const WINDOW: &str = "a window";

/// An empty reservation for a window.
pub(in crate::checked::windows) fn reservation(pool: &Arc<dyn MemoryPool>) -> MemoryReservation {
    MemoryConsumer::new(WINDOW).register(pool)
}
