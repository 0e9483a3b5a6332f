//! The caller and the deadline of calls through a handle.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{Authorizations, CallContext};

use super::context::StoreContext;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, StoreResult};

/// A [`CallContext`] as a handle keeps it. By default the process that has the store open, without
/// a limit.
#[derive(Clone, Default)]
pub(crate) struct Caller {
    /// The caller's name, for constraints.
    pub(super) user: Option<Arc<str>>,
    /// The caller's authorizations, for constraints.
    pub(super) authorizations: Option<Arc<Authorizations>>,
    /// The end of its time, by the store's clock.
    deadline: Option<Deadline>,
    trace: Option<Arc<str>>,
}

/// A moment of a clock.
#[derive(Clone)]
pub(super) struct Deadline {
    clock: Arc<dyn Clock>,
    nanos: u64,
}

impl Deadline {
    /// The time left until then.
    pub(super) fn left(&self) -> Duration {
        Duration::from_nanos(self.nanos.saturating_sub(self.clock.monotonic_nanos()))
    }
}

impl Caller {
    /// A caller within `context`, derived from the handle `self`: its deadline is not later.
    pub(super) fn within(&self, context: &CallContext, store: &StoreContext) -> Self {
        let principal = context.principal.as_ref();
        let own = context.timeout.map(|timeout| {
            let clock = store.clock.clone();
            let timeout = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
            let nanos = clock.monotonic_nanos().saturating_add(timeout);
            Deadline { clock, nanos }
        });
        let deadlines = own.into_iter().chain(self.deadline.clone());
        Self {
            user: principal.map(|principal| principal.name.as_str().into()),
            authorizations: principal.map(|one| Arc::new(one.authorizations.clone())),
            deadline: deadlines.min_by_key(|deadline| deadline.nanos),
            trace: context.trace.as_deref().map(Into::into),
        }
    }

    pub(super) fn deadline(&self) -> Option<&Deadline> {
        self.deadline.as_ref()
    }

    /// Returns an error once the caller's time is over.
    pub(super) fn check(&self) -> StoreResult<()> {
        match &self.deadline {
            Some(deadline) if deadline.left().is_zero() => Err(Error::new(
                ErrorKind::TimedOut,
                "the time that the caller has for its calls is over; nothing was done",
            )),
            _ => Ok(()),
        }
    }

    /// Adds the caller's trace name to an error.
    pub(super) fn told<T>(&self, outcome: StoreResult<T>) -> StoreResult<T> {
        match &self.trace {
            None => outcome,
            Some(trace) => outcome.map_err(|error| error.with("trace", trace)),
        }
    }
}
