//! The tables that rows are measured on: split before or while they grow, in much memory or little.

use super::super::plan::{RowPlan, Sizes};
use crate::continuous::IngestOptions;

/// Split points of a table that is split before: a server had about 32 tablets.
pub(super) const SPLITS: usize = 31;

/// Tablets that a table which splits while it grows ends with, at least.
pub(super) const LEAST_TABLETS: usize = 16;

/// Bytes on disk of an entry without checksum, about.
const STORED_BYTES: u64 = 42;

/// No tablet splits any more.
pub(super) const THRESHOLD_HIGH: (&str, &str) = ("table.split.threshold", "128G");

/// How a table is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// With all its tablets from the start.
    PreSplit,
    /// With one tablet, which splits while it grows to this many entries.
    Splitting(u64),
}

impl Made {
    /// A row on such a table.
    pub(super) fn row(self, name: impl Into<String>, clients: usize) -> RowPlan {
        let row = RowPlan {
            name: name.into(),
            clients,
            ..RowPlan::default()
        };
        match self {
            Self::PreSplit => RowPlan {
                splits: SPLITS,
                properties: vec![(THRESHOLD_HIGH.0.to_owned(), THRESHOLD_HIGH.1.to_owned())],
                ..row
            },
            Self::Splitting(entries) => RowPlan {
                properties: vec![(
                    THRESHOLD_HIGH.0.to_owned(),
                    split_threshold(entries).to_string(),
                )],
                memory: Some(memory_while_splitting(entries)),
                least_tablets: LEAST_TABLETS,
                ..row
            },
        }
    }
}

/// The threshold that leaves 24 tablets or more of a table of this many entries: a tablet is split in two when it is
/// larger, so that tablets end between half the threshold and all of it.
pub(super) fn split_threshold(entries: u64) -> u64 {
    (entries * STORED_BYTES / 24).max(1)
}

/// Memory in which a table of this many entries is flushed about ten times while it grows. A table that stays in
/// memory until its end splits once, at the end.
pub(super) fn memory_while_splitting(entries: u64) -> u64 {
    (entries * 90).max(MEMORY_LEAST)
}

/// Memory that holds a small part of a table of this many entries.
pub(super) fn memory_below(entries: u64) -> u64 {
    (entries * STORED_BYTES / 4).max(MEMORY_LEAST)
}

/// With less, buffers would be most of it.
const MEMORY_LEAST: u64 = 8 << 20;

/// An ingest of the paper: no checksum.
pub(super) fn ingest(writers: usize, entries: u64) -> IngestOptions {
    IngestOptions {
        entries: Some(entries),
        writers,
        checksum: false,
        ..IngestOptions::default()
    }
}

/// Says how a table splits, for the text of an experiment.
pub(super) fn splits_here(sizes: Sizes, entries: u64) -> String {
    let entries = sizes.entries(entries);
    format!(
        "a split threshold of {} kB, scaled with the data, and {} MiB of memory, so that tablets split while data comes in",
        split_threshold(entries).div_ceil(1000),
        memory_while_splitting(entries) >> 20
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_follows_the_size_of_the_table() {
        for entries in [20_000, 500_000, 5_000_000, 50_000_000] {
            let bytes = entries * STORED_BYTES;
            // Each tablet is at most as large as the threshold.
            let least = bytes / split_threshold(entries);
            assert!(least >= LEAST_TABLETS as u64, "{entries}: {least}");
        }
        assert_eq!(
            split_threshold(5_000_000),
            10 * split_threshold(500_000),
            "as many splits at any scale"
        );
    }
}
