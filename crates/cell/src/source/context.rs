//! The caller, the deadline and the purpose of a call.

use std::time::Duration;

use crate::Authorizations;

/// A user on whose behalf calls are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The name.
    pub name: String,
    /// The most that the principal may see. Constraints receive it. A scan is bounded by its own
    /// authorizations, which the caller has to check against the principal's.
    pub authorizations: Authorizations,
}

/// The common context of all calls through one handle; see [`Table::within`](super::Table::within).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallContext {
    /// The caller. `None` is the process that has the source open, which may do and see everything.
    pub principal: Option<Principal>,
    /// The longest that all calls through the handle may take together, counted from its creation,
    /// and never longer than the handle it is derived from has left. Writes, scans and waits for
    /// writes, flushes and compactions end by then; calls that change tablets or properties only
    /// begin before. Default: the deadline of the handle it is derived from.
    pub timeout: Option<Duration>,
    /// A name for the larger piece of work: added to the context of errors under `trace`.
    pub trace: Option<String>,
}
