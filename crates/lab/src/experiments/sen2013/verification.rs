//! Table XII.

use super::super::plan::{Phase, Plan, RowPlan, Sizes, Writers};
use super::super::unit::Unit;
use super::paper;
use super::tables::{Made, ingest};
use crate::continuous::{IngestOptions, VerifyOptions};

/// Entries of the table at scale 1: the same in all rows, so that they differ in one thing.
const ENTRIES: u64 = 4_000_000;

/// Table XII: verification.
pub(in super::super) fn table_12(sizes: Sizes) -> Plan {
    let row = |name: &str, threads, memory_bytes, checksum| RowPlan {
        phases: vec![
            Phase::Load(IngestOptions {
                checksum,
                ..ingest(2, sizes.entries(ENTRIES))
            }),
            Phase::Verify(VerifyOptions {
                threads,
                memory_bytes,
                ..VerifyOptions::default()
            }),
        ],
        ..Made::PreSplit.row(name, threads)
    };
    let plenty = 512 << 20;
    Plan {
        title: "Verification of the whole table",
        paper: paper::TABLE_12,
        scaling: format!(
            "One machine: {} entries by 1 thread and by 2; by 2 with 16 MiB of memory for links, where those that do \
             not fit go through the scratch file; by 2 with a checksum in each value.",
            sizes.entries_shown(ENTRIES)
        ),
        timed: "the whole verification: scan, sort, count",
        state: "steady state: the table is flushed and compacted, without writers".to_owned(),
        columns: &[
            ("verify.entries", "Entries", Unit::Count),
            ("verify.seconds", "Time", Unit::Seconds),
            ("verify.rate", "Entries/s", Unit::PerSecond),
            ("verify.per_minute", "Entries/min", Unit::PerMinute),
            ("verify.spilled_bytes", "To scratch", Unit::Bytes),
            ("verify.undefined", "Undefined", Unit::Count),
            ("verify.corrupt", "Corrupt", Unit::Count),
        ],
        rows: vec![
            row("1 thread", 1, plenty, false),
            row("2 threads", 2, plenty, false),
            row("2 threads, 16 MiB", 2, 16 << 20, false),
            row("2 threads, checksums", 2, plenty, true),
        ],
        clients: "threads",
        writers: Writers::Suite,
        plots: |_| Vec::new(),
    }
}
