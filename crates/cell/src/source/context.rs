//! On whose behalf, until when and for what a call is made.

use std::time::Duration;

use crate::Authorizations;

/// Somebody for whom calls are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The name.
    pub name: String,
    /// The most that it may see. Constraints see it; what a scan shows is bounded by the scan's own authorizations,
    /// which whoever hands the principal in has to check.
    pub authorizations: Authorizations,
}

/// What calls through one handle have in common; see [`Table::within`](super::Table::within).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallContext {
    /// Who calls. Without one it is whoever has the source open, who may do and see everything.
    pub principal: Option<Principal>,
    /// The longest that all calls through the handle may take together, from when it is made, and never longer than
    /// the handle has that it is made of. Writes, scans and waiting for writes, flushes and compactions end by then;
    /// calls that change tablets or properties only begin before. Default: as long as that handle.
    pub timeout: Option<Duration>,
    /// What a larger piece of work is called: added to the context of errors under `trace`.
    pub trace: Option<String>,
}
