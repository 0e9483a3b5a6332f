//! Asks running iterators to stop.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Error, ErrorKind, Result};

/// A switch that stops work: a scan, a compaction, a flush. It is set by whoever wants the work stopped, from any
/// thread; copies share it. The iterators of the work have it in their
/// [environment](super::IteratorEnvironment::interrupt), where it may stand for more than the switch: a deadline, a
/// table that is deleted or goes off-line, a store that closes.
///
/// An iterator that computes for long between two calls of its source polls it; the source below answers by itself.
#[derive(Clone, Default)]
pub struct Interrupt {
    switch: Arc<AtomicBool>,
    watched: Option<Arc<dyn Interruption>>,
}

/// A reason to stop besides the switch itself.
pub trait Interruption: Send + Sync {
    /// An error once it is time to stop; cheap until then, since it is asked for each batch.
    ///
    /// # Errors
    /// Why to stop.
    fn check(&self) -> Result<()>;
}

impl Interrupt {
    /// A switch of its own, which also stands for a reason.
    #[must_use]
    pub fn watching(reason: Arc<dyn Interruption>) -> Self {
        Self {
            switch: Arc::default(),
            watched: Some(reason),
        }
    }

    /// Asks to stop. Cannot be taken back.
    pub fn set(&self) {
        self.switch.store(true, Ordering::Relaxed);
    }

    /// Whether to stop. As cheap as reading a number.
    #[inline]
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.check().is_err()
    }

    /// An error once it is time to stop.
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

    /// Whether this is the same switch as `other`.
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
    fn copies_share_the_switch() {
        let interrupt = Interrupt::default();
        let copy = interrupt.clone();
        assert!(copy.check().is_ok() && copy.is(&interrupt));
        interrupt.set();
        assert_eq!(kind(&copy), Some(ErrorKind::Cancelled));
        assert!(!Interrupt::default().is_set());
    }

    #[test]
    fn a_reason_stops_as_the_switch_does() {
        let late = Arc::new(Late(AtomicBool::new(false)));
        let interrupt = Interrupt::watching(late.clone());
        assert!(!interrupt.is_set());
        late.0.store(true, Ordering::Relaxed);
        assert_eq!(kind(&interrupt), Some(ErrorKind::TimedOut));
        interrupt.set();
        assert_eq!(kind(&interrupt), Some(ErrorKind::Cancelled));
    }
}
