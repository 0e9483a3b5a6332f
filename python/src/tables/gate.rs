//! Whether a store is open, for what outlives it: tables and scans in somebody's hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ostrakon_cell::{Error, ErrorKind, Result};

/// Open until the store is closed.
#[derive(Clone, Default)]
pub(super) struct Gate(Arc<AtomicBool>);

impl Gate {
    pub(super) fn shut(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// # Errors
    /// [`Closed`](ErrorKind::Closed) once the store is.
    pub(super) fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Acquire) {
            return Err(closed());
        }
        Ok(())
    }
}

/// What a closed store answers.
pub(super) fn closed() -> Error {
    Error::new(
        ErrorKind::Closed,
        "the store is closed: open it again with ostrakon.open",
    )
}
