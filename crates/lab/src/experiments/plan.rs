//! Experiments as data: the phases of each row.

use std::time::Duration;

use ostrakon_cell::{BatchWriterConfig, Durability};

use super::record::{Plot, Row};
use super::rig::{DiskModel, RigSettings};
use super::unit::{Unit, short};
use crate::continuous::{BatchWalkOptions, IngestOptions, VerifyOptions, WalkOptions};
use crate::graphs::{GraphIngestOptions, GraphWorkload};

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
    /// What the rows' `clients` count: the horizontal axis of a chart.
    pub(super) clients: &'static str,
    pub(super) writers: Writers,
    /// Charts of all rows, in addition to those of every record.
    pub(super) plots: fn(&[Row]) -> Vec<Plot>,
}

/// What an experiment writes through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Writers {
    /// Nothing is written.
    None,
    /// Clients of the continuous test.
    Suite,
    /// Writers of graphs.
    Graphs,
    /// Clients of YCSB that collect mutations, as the binding does.
    Ycsb,
    /// The ingest of events.
    Events,
    /// Statements of SQL.
    #[cfg(feature = "sql")]
    Sql,
}

impl Writers {
    /// Bytes a writer collects before it submits them, and may have under way.
    pub(super) fn bytes(self) -> (usize, usize) {
        match self {
            Self::None => (0, 0),
            Self::Suite => {
                let options = IngestOptions::default();
                (options.batch_bytes, options.buffer_bytes)
            }
            #[cfg(feature = "sql")]
            Self::Sql => {
                let config = BatchWriterConfig::default();
                (config.batch_bytes, config.max_memory)
            }
            Self::Ycsb => {
                let config = BatchWriterConfig::default();
                (config.batch_bytes, config.max_memory)
            }
            Self::Events => {
                let bytes = ostrakon_events::IngestOptions::default().batch_bytes;
                (bytes, bytes)
            }
            Self::Graphs => (
                GraphIngestOptions::default().batch_bytes,
                BatchWriterConfig::default().max_memory,
            ),
        }
    }
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
#[derive(Default)]
pub(super) struct RowPlan {
    pub(super) name: String,
    pub(super) clients: usize,
    /// Split points the table is made with.
    pub(super) splits: usize,
    pub(super) properties: Vec<(String, String)>,
    /// Memory of the source, in bytes; its default if `None`.
    pub(super) memory: Option<u64>,
    /// Tablets that automatic splits lead to; 0 where none are expected.
    pub(super) least_tablets: usize,
    /// Whether it reads what the row before has left, instead of a new table. Its repetitions read the same data.
    pub(super) continues: bool,
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
    /// A step of the workloads of YCSB.
    Ycsb(YcsbStep),
    /// A step of the queries of web requests.
    Requests(RequestStep),
    /// A step of the queries of HiBench.
    #[cfg(feature = "sql")]
    Hive(HiveStep),
    /// What a base graph looks like; writes nothing.
    Picture(GraphWorkload, Picture),
}

/// A step of the queries of HiBench.
#[cfg(feature = "sql")]
pub(super) struct HiveStep {
    pub(super) pages: u64,
    pub(super) visits: u64,
    /// The query, or `None` to load both tables.
    pub(super) query: Option<crate::hive::HiveQuery>,
}

/// A step of the queries of web requests.
pub(super) struct RequestStep {
    /// How many requests there are.
    pub(super) requests: u64,
    pub(super) query: RequestQuery,
}

/// What is asked of web requests. Queries are repeated for their duration, at least once.
pub(super) enum RequestQuery {
    /// Makes the tables, ingests, flushes and compacts.
    Load,
    /// All entries, unfiltered; metrics `scan`.
    Scan { clients: usize, duration: Duration },
    /// Whole events of a class, or all, by a filter or by the index; metrics `select`.
    Select {
        share: Option<&'static str>,
        index: bool,
        clients: usize,
        duration: Duration,
    },
    /// Requests to the most frequent domain by minute, of the last hour or of all eight; metrics begin with the name.
    Histogram {
        name: &'static str,
        hour: bool,
        clients: usize,
        duration: Duration,
    },
    /// Sources of the requests to the most frequent domain; metrics `lookup`.
    Lookup { clients: usize, duration: Duration },
    /// Requests to the domain of a rank, in windows of time or at once; metrics `planned`.
    Planned {
        domain: usize,
        index: bool,
        windows: bool,
    },
    /// Measures from which share on the planner scans.
    Calibrate,
}

/// A step of the workloads of YCSB.
pub(super) enum YcsbStep {
    /// Loads, flushes and compacts; not measured. The store has this much memory.
    Load { records: u64, memory_bytes: u64 },
    /// From now on the storage is as slow as this, where the caller can emulate that.
    Storage(Option<DiskModel>),
    /// Uniform requests.
    Run {
        mix: YcsbMix,
        records: u64,
        threads: usize,
        duration: Duration,
    },
}

/// Reads and updates.
#[derive(Clone, Copy)]
pub(super) struct YcsbMix {
    /// Metrics begin with it.
    pub(super) name: &'static str,
    /// The share of reads; the others are updates.
    pub(super) reads: f64,
    /// Whether the table is compacted meanwhile.
    pub(super) compaction: bool,
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

impl Plan {
    /// How the store is to be opened.
    pub(super) fn settings(&self) -> RigSettings {
        let mut phases = self.rows.iter().flat_map(|row| &row.phases);
        RigSettings {
            memory_budget_bytes: phases.find_map(|phase| match phase {
                Phase::Ycsb(YcsbStep::Load { memory_bytes, .. }) => Some(*memory_bytes),
                _ => None,
            }),
        }
    }
}

impl RowPlan {
    /// Whether its phases use the table that every row but these has: events have tables of their own.
    pub(super) fn has_own_table(&self) -> bool {
        let makes_others = |phase: &Phase| match phase {
            Phase::Requests(_) => true,
            #[cfg(feature = "sql")]
            Phase::Hive(_) => true,
            _ => false,
        };
        !self.continues && !self.phases.iter().any(makes_others)
    }
}

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
