//! Asks running iterators to stop.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Error, ErrorKind, Result};

/// A flag that stops work: a scan, a compaction, a flush. Any thread may set it; clones share it.
/// The iterators of the work receive it in their
/// [environment](super::IteratorEnvironment::interrupt), where it may also stand for other reasons
/// to stop: a deadline, a table that is deleted or goes off-line, a store that closes.
///
/// An iterator that computes for long between two calls of its source polls it; the source itself
/// checks it at each call.
#[derive(Clone, Default)]
pub struct Interrupt {
    switch: Arc<AtomicBool>,
    watched: Option<Arc<dyn Interruption>>,
}

/// A reason to stop besides the flag itself.
pub trait Interruption: Send + Sync {
    /// Returns an error once the work must stop; cheap until then, since it is called for each
    /// batch.
    ///
    /// # Errors
    /// The reason to stop.
    fn check(&self) -> Result<()>;
}

impl Interrupt {
    /// A new flag, which also checks `reason`.
    #[must_use]
    pub fn watching(reason: Arc<dyn Interruption>) -> Self {
        Self {
            switch: Arc::default(),
            watched: Some(reason),
        }
    }

    /// Requests a stop, which cannot be revoked.
    pub fn set(&self) {
        self.switch.store(true, Ordering::Relaxed);
    }

    /// Whether to stop. Costs one atomic load.
    #[inline]
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.check().is_err()
    }

    /// Returns an error once the work must stop.
    ///
    /// # Errors
    /// [`Cancelled`](ErrorKind::Cancelled), or the reason.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.switch.load(Ordering::Relaxed) {
            return Err(cancelled());
        }
        match &self.watched {
            Some(reason) => reason.check(),
            None => Ok(()),
        }
    }

    /// Whether this is the same flag as `other`.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.switch, &other.switch)
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Interrupt").field(&self.is_set()).finish()
    }
}

#[cold]
fn cancelled() -> Error {
    Error::new(
        ErrorKind::Cancelled,
        "the work was cancelled before it was done",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Late(AtomicBool);

    impl Interruption for Late {
        fn check(&self) -> Result<()> {
            if self.0.load(Ordering::Relaxed) {
                return Err(Error::new(ErrorKind::TimedOut, "late"));
            }
            Ok(())
        }
    }

    fn kind(interrupt: &Interrupt) -> Option<ErrorKind> {
        interrupt.check().err().map(|error| error.kind())
    }

    #[test]
    fn clones_share_the_flag() {
        let interrupt = Interrupt::default();
        let copy = interrupt.clone();
        assert!(copy.check().is_ok() && copy.is(&interrupt));
        interrupt.set();
        assert_eq!(kind(&copy), Some(ErrorKind::Cancelled));
        assert!(!Interrupt::default().is_set());
    }

    #[test]
    fn a_reason_stops_as_the_flag_does() {
        let late = Arc::new(Late(AtomicBool::new(false)));
        let interrupt = Interrupt::watching(late.clone());
        assert!(!interrupt.is_set());
        late.0.store(true, Ordering::Relaxed);
        assert_eq!(kind(&interrupt), Some(ErrorKind::TimedOut));
        interrupt.set();
        assert_eq!(kind(&interrupt), Some(ErrorKind::Cancelled));
    }
}
