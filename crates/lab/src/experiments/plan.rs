//! Experiments as data: the phases of each row.

use std::time::Duration;

use ostrakon_cell::Durability;

use super::record::{Plot, Row};
use super::unit::{Unit, short};
use crate::continuous::{BatchWalkOptions, IngestOptions, VerifyOptions, WalkOptions};
use crate::graphs::GraphWorkload;

/// One experiment: everything but the machine it runs on.
pub(super) struct Plan {
    pub(super) title: &'static str,
    pub(super) paper: PaperTable,
    /// How ours is scaled.
    pub(super) scaling: String,
    /// What is inside the timers.
    pub(super) timed: &'static str,
    /// Steady state or burst.
    pub(super) state: String,
    /// Metric, head, unit.
    pub(super) columns: &'static [(&'static str, &'static str, Unit)],
    pub(super) rows: Vec<RowPlan>,
    /// Charts of all rows, in addition to those of every record.
    pub(super) plots: fn(&[Row]) -> Vec<Plot>,
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
    /// Graphs by batch writers; with its own durability or that of the run.
    Graph(GraphWorkload, Option<Durability>),
    /// Graphs by processes that sort their own part; left out where the caller starts none.
    Ranks(GraphWorkload),
    /// What a base graph looks like; writes nothing.
    Picture(GraphWorkload, Picture),
}

/// What is shown of a base graph.
#[derive(Clone, Copy)]
pub(super) enum Picture {
    /// Where the edges are, one in ten.
    Spy,
    /// How many vertices have how many edges: different neighbours or all of them, of one edge in `share`.
    Degrees { distinct: bool, share: u64 },
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

    /// How many [`entries`](Self::entries) are, for the text of an experiment.
    pub(super) fn entries_shown(self, entries: u64) -> String {
        short(self.entries(entries) as f64)
    }

    /// How long [`seconds`](Self::seconds) are, for the text of an experiment.
    pub(super) fn seconds_shown(self, seconds: f64) -> String {
        Unit::Seconds.show(self.seconds(seconds).as_secs_f64())
    }

    /// The scale of a base graph that has this one at scale 1: twice the factor, twice the vertices.
    pub(super) fn graph_scale(self, scale: u32) -> u32 {
        let moved = f64::from(scale) + self.0.log2();
        moved.round().clamp(4.0, 22.0) as u32
    }
}
