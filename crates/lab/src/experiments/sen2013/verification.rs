//! Table XII.

use super::super::plan::{Phase, Plan, RowPlan, Sizes};
use super::super::unit::Unit;
use super::ingest::{SPLITS, THRESHOLD_HIGH, ingest};
use super::paper;
use crate::continuous::{IngestOptions, VerifyOptions};

/// Table XII: verification.
pub(in super::super) fn table_12(sizes: Sizes) -> Plan {
    let row = |name: &str, threads, entries, memory_bytes, checksum| RowPlan {
        name: name.to_owned(),
        clients: threads,
        splits: SPLITS,
        properties: &[THRESHOLD_HIGH],
        phases: vec![
            Phase::Load(IngestOptions {
                checksum,
                ..ingest(2, sizes.entries(entries))
            }),
            Phase::Verify(VerifyOptions {
                threads,
                memory_bytes,
                ..VerifyOptions::default()
            }),
        ],
    };
    let plenty = 512 << 20;
    Plan {
        title: "Verification of the whole table",
        paper: paper::TABLE_12,
        scaling: format!(
            "One machine: {} entries by 1 thread, {} by 2; the same with 16 MiB of memory, where links that do not \
             fit go through the scratch file; the same with a checksum in each value.",
            sizes.entries_shown(2_000_000),
            sizes.entries_shown(6_000_000)
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
            row("1 thread", 1, 2_000_000, plenty, false),
            row("2 threads", 2, 6_000_000, plenty, false),
            row("2 threads, 16 MiB", 2, 6_000_000, 16 << 20, false),
            row("2 threads, checksums", 2, 6_000_000, plenty, true),
        ],
        plots: |_| Vec::new(),
    }
}
