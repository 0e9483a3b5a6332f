//! What is measured: the workloads, their units, and the promised figures.

use serde::{Deserialize, Serialize};

use crate::rivals::EngineKind;

/// One number of one engine in one repetition.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Figure {
    pub(crate) work: Work,
    pub(crate) value: f64,
}

/// Every measured number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Work {
    Ingest,
    IngestFirst,
    IngestSettled,
    IngestUnsplit,
    IngestUnsplitSettled,
    Scan,
    ScanUnmerged,
    LookUpFirst,
    LookUp,
    LookUpTogether,
    LookUpLarge,
    LookUpTogetherLarge,
    BlockReads,
    Verify,
    Visibility,
    Open,
    Replay,
    PeakMemory,
    MemoryOfBudget,
    BytesPerEntry,
    Syncs,
    YcsbLoad,
    YcsbLoadSettled,
    YcsbRead,
    YcsbReadP99,
}

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A rate in millions per second; higher is better.
    MillionPerSecond,
    /// A rate in thousands per second; higher is better.
    ThousandPerSecond,
    /// Milliseconds.
    Milliseconds,
    /// Mebibytes.
    Mebibytes,
    /// Bytes.
    Bytes,
    /// A fraction, printed in percent.
    Percent,
    /// A plain number.
    Count,
}

impl Unit {
    pub(crate) fn higher_is_better(self) -> bool {
        matches!(self, Self::MillionPerSecond | Self::ThousandPerSecond)
    }

    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::MillionPerSecond => format!("{:.2} M/s", value / 1e6),
            Self::ThousandPerSecond => format!("{:.1} k/s", value / 1e3),
            Self::Milliseconds if value < 1.0 => format!("{value:.3} ms"),
            Self::Milliseconds => format!("{value:.1} ms"),
            Self::Mebibytes => format!("{value:.0} MiB"),
            Self::Bytes => format!("{value:.1} B"),
            Self::Percent => format!("{:.0} %", value * 100.0),
            Self::Count => format!("{value:.2}"),
        }
    }
}

/// What Ostrakon promises: an absolute bound, and factors over rivals.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Target {
    /// A lower bound, or an upper bound if less is better.
    pub(crate) bound: Option<f64>,
    /// A factor over a rival.
    pub(crate) factors: &'static [(EngineKind, f64)],
    /// A fraction of another of Ostrakon's numbers.
    pub(crate) share_of: Option<(Work, f64)>,
}

/// How a workload is shown, and what it must reach.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Description {
    pub(crate) work: Work,
    pub(crate) title: &'static str,
    pub(crate) unit: Unit,
    pub(crate) target: Target,
}

const NONE: Target = Target {
    bound: None,
    factors: &[],
    share_of: None,
};

const fn bound(bound: f64) -> Target {
    Target {
        bound: Some(bound),
        ..NONE
    }
}

const fn line(work: Work, title: &'static str, unit: Unit, target: Target) -> Description {
    Description {
        work,
        title,
        unit,
        target,
    }
}

const INGEST_FACTORS: &[(EngineKind, f64)] = &[
    (EngineKind::Fjall, 6.0),
    (EngineKind::Rocksdb, 7.0),
    (EngineKind::RocksdbVector, 3.5),
];

/// Every workload, in the order of the table.
pub(crate) const WORKS: &[Description] = &[
    line(
        Work::Ingest,
        "ingest, pre-split, until acknowledged",
        Unit::MillionPerSecond,
        NONE,
    ),
    line(
        Work::IngestFirst,
        "ingest, pre-split, the first 20 M, until acknowledged",
        Unit::MillionPerSecond,
        bound(3.5e6),
    ),
    line(
        Work::IngestSettled,
        "ingest, pre-split, until flushed and compacted",
        Unit::MillionPerSecond,
        Target {
            factors: INGEST_FACTORS,
            ..bound(2.2e6)
        },
    ),
    line(
        Work::IngestUnsplit,
        "ingest into one tablet that splits, until acknowledged",
        Unit::MillionPerSecond,
        NONE,
    ),
    line(
        Work::IngestUnsplitSettled,
        "ingest into one tablet that splits, until flushed and compacted",
        Unit::MillionPerSecond,
        Target {
            share_of: Some((Work::IngestSettled, 0.8)),
            ..NONE
        },
    ),
    line(
        Work::Syncs,
        "syncs of the log per million entries",
        Unit::Count,
        NONE,
    ),
    line(
        Work::Scan,
        "full scan, one thread, merged",
        Unit::MillionPerSecond,
        Target {
            factors: &[(EngineKind::Rocksdb, 3.0)],
            ..bound(10.0e6)
        },
    ),
    line(
        Work::ScanUnmerged,
        "full scan over 8 unmerged files",
        Unit::MillionPerSecond,
        bound(5.0e6),
    ),
    line(
        Work::LookUpFirst,
        "random point reads, one thread, the first 10 s of a new process",
        Unit::MillionPerSecond,
        Target {
            factors: &[(EngineKind::Rocksdb, 1.0)],
            ..NONE
        },
    ),
    line(
        Work::LookUp,
        "random point reads, one thread",
        Unit::MillionPerSecond,
        Target {
            factors: &[(EngineKind::Rocksdb, 2.0)],
            ..bound(0.8e6)
        },
    ),
    line(
        Work::LookUpTogether,
        "10,000 random point reads in one call",
        Unit::MillionPerSecond,
        bound(1.0e6),
    ),
    line(
        Work::LookUpLarge,
        "random point reads, one thread, data larger than the caches",
        Unit::MillionPerSecond,
        NONE,
    ),
    line(
        Work::LookUpTogetherLarge,
        "10,000 random point reads in one call, data larger than the caches",
        Unit::MillionPerSecond,
        NONE,
    ),
    line(
        Work::BlockReads,
        "block reads per point read, data 4 × cache, 8 files with filters",
        Unit::Count,
        bound(1.1),
    ),
    line(Work::Verify, "verify", Unit::MillionPerSecond, bound(2.0e6)),
    line(
        Work::Visibility,
        "cost of 16 labels, share of the scan",
        Unit::Percent,
        bound(0.1),
    ),
    line(
        Work::Open,
        "open after a clean shutdown",
        Unit::Milliseconds,
        bound(50.0),
    ),
    line(
        Work::Replay,
        "replay of the log when opening",
        Unit::MillionPerSecond,
        bound(3.0e6),
    ),
    line(
        Work::PeakMemory,
        "peak resident memory of ingest",
        Unit::Mebibytes,
        NONE,
    ),
    line(
        Work::MemoryOfBudget,
        "peak resident memory of ingest, share of the memory budget",
        Unit::Percent,
        bound(1.25),
    ),
    line(
        Work::BytesPerEntry,
        "bytes per entry on disk, compacted",
        Unit::Bytes,
        bound(60.0),
    ),
    line(
        Work::YcsbLoad,
        "YCSB load, records until acknowledged",
        Unit::ThousandPerSecond,
        NONE,
    ),
    line(
        Work::YcsbLoadSettled,
        "YCSB load, records until flushed and compacted",
        Unit::ThousandPerSecond,
        NONE,
    ),
    line(
        Work::YcsbRead,
        "YCSB workload C, reads of all fields",
        Unit::ThousandPerSecond,
        NONE,
    ),
    line(
        Work::YcsbReadP99,
        "YCSB workload C, 99 of 100 reads",
        Unit::Milliseconds,
        NONE,
    ),
];
