//! Experiments as data: which phases each row runs.

use std::time::Duration;

use super::record::Unit;
use crate::continuous::{BatchWalkOptions, IngestOptions, VerifyOptions, WalkOptions};

/// One experiment: everything but the machine it runs on.
pub(super) struct Plan {
    pub(super) title: &'static str,
    pub(super) paper: PaperTable,
    /// How ours is scaled.
    pub(super) scaling: &'static str,
    /// What is inside the timers.
    pub(super) timed: &'static str,
    /// Steady state or burst.
    pub(super) state: &'static str,
    /// Metric, head, unit.
    pub(super) columns: &'static [(&'static str, &'static str, Unit)],
    pub(super) rows: Vec<RowPlan>,
}

/// A table of a paper.
#[derive(Clone, Copy)]
pub(super) struct PaperTable {
    pub(super) label: &'static str,
    pub(super) what: &'static str,
    pub(super) columns: &'static [&'static str],
    pub(super) rows: &'static [&'static [&'static str]],
    pub(super) caveats: &'static [&'static str],
}

/// One row: a new table, then phases in order.
pub(super) struct RowPlan {
    pub(super) name: String,
    pub(super) clients: usize,
    /// Split points the table is made with.
    pub(super) splits: usize,
    pub(super) properties: &'static [(&'static str, &'static str)],
    pub(super) phases: Vec<Phase>,
}

/// A step of a row.
pub(super) enum Phase {
    /// Fills the table; not measured.
    Load(IngestOptions),
    /// Measures ingest; metrics begin with the name.
    Ingest(&'static str, IngestOptions),
    /// Sets a property.
    Set(&'static str, &'static str),
    Walk(WalkOptions),
    BatchWalk(BatchWalkOptions),
    /// Ingest and walkers at the same time, for the walkers' duration.
    Mix(IngestOptions, WalkOptions),
    Verify(VerifyOptions),
}

/// Sizes at a scale.
#[derive(Clone, Copy)]
pub(super) struct Sizes(pub(super) f64);

impl Sizes {
    /// So many entries at scale 1.
    pub(super) fn entries(self, entries: u64) -> u64 {
        ((entries as f64 * self.0) as u64).max(1_000)
    }

    /// So many seconds at scale 1.
    pub(super) fn seconds(self, seconds: f64) -> Duration {
        Duration::from_secs_f64((seconds * self.0).max(0.05))
    }
}
