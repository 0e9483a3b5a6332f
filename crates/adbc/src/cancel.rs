//! Cancelling statements, from any thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use adbc_core::CancelHandle;
use adbc_core::error::{Error, Result, Status};

/// How often the statements of one object were cancelled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cancelling(Arc<AtomicU64>);

impl CancelHandle for Cancelling {
    fn try_cancel(&self) -> Result<()> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// Says whether a statement was cancelled since it began: itself, or all statements of its connection.
#[derive(Debug)]
pub(crate) struct Watch(Vec<(Cancelling, u64)>);

impl Watch {
    pub(crate) fn new(watched: &[&Cancelling]) -> Self {
        let counts = watched.iter().map(|one| {
            let count = one.0.load(Ordering::SeqCst);
            (Cancelling::clone(one), count)
        });
        Self(counts.collect())
    }

    /// The same, for one more part of the statement.
    pub(crate) fn again(&self) -> Self {
        Self(self.0.clone())
    }

    /// # Errors
    /// [`Status::Cancelled`] once the statement was cancelled.
    pub(crate) fn check(&self) -> Result<()> {
        let mut watched = self.0.iter();
        match watched.all(|(one, before)| one.0.load(Ordering::SeqCst) == *before) {
            true => Ok(()),
            false => Err(Error::with_message_and_status(
                "the statement was cancelled",
                Status::Cancelled,
            )),
        }
    }
}
