//! Options and figures of verify.

use std::path::PathBuf;

use ostrakon_cell::Authorizations;
use serde::Serialize;

/// Settings of [`run_verify`](super::run_verify).
#[derive(Debug, Clone)]
pub struct VerifyOptions {
    /// The table. Default `ci`.
    pub table: String,
    /// What the reader may see; must cover every label used, or hidden entries are missed.
    pub authorizations: Authorizations,
    /// Threads that scan, and later sort. 0, the default, takes one a processor.
    pub threads: usize,
    /// Memory for links, in bytes. Default 512 MiB. What does not fit goes to the scratch
    /// directory: 8 bytes for an entry and 8 for its link.
    pub memory_bytes: u64,
    /// Directory for links that do not fit in memory. Default: the system's temporary directory. The file there has
    /// no name, so nothing stays behind.
    pub scratch: PathBuf,
    /// The most examples named of each kind of fault. Default 10.
    pub examples: usize,
    /// The most pieces the table is cut into for scanning. Default 4,096.
    pub ranges_max: usize,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self {
            table: "ci".to_owned(),
            authorizations: Authorizations::default(),
            threads: 0,
            memory_bytes: 512 << 20,
            scratch: std::env::temp_dir(),
            examples: 10,
            ranges_max: 4096,
        }
    }
}

/// What verify found. [`is_sound`](Self::is_sound) judges it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct VerifyFigures {
    /// Rows that are there and that others point to.
    pub referenced: u64,
    /// Rows that exist and that no entry points to: the ends of lists. Normal.
    pub unreferenced: u64,
    /// Rows that others point to and that are not there: data was lost.
    pub undefined: u64,
    /// Entries of the test that are damaged: wrong checksum, or not as they were written.
    pub corrupt: u64,
    /// Entries a second, over the whole run.
    pub entries_per_second: f64,
    /// Entries read.
    pub entries: u64,
    /// Entries of others in the same table; they are skipped.
    pub foreign: u64,
    /// Entries without a checksum, which only their form and links prove.
    pub unchecked: u64,
    /// Total seconds.
    pub seconds: f64,
    /// Seconds of scanning.
    pub scan_seconds: f64,
    /// Bytes written to the scratch directory.
    pub spilled_bytes: u64,
    /// Threads used.
    pub threads: usize,
    /// Some undefined rows, with some rows that point to them.
    pub undefined_examples: Vec<UndefinedRow>,
    /// Some corrupt entries.
    pub corrupt_examples: Vec<CorruptEntry>,
    /// The rows of some entries of others.
    pub foreign_examples: Vec<String>,
}

impl VerifyFigures {
    /// Whether nothing is undefined or corrupt, and there was something that could have been.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.fault().is_none()
    }

    /// Why the table is not shown to be sound, if it is not: data was lost or damaged, or nothing that was
    /// read proves anything.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        if self.undefined > 0 || self.corrupt > 0 {
            Some("entries are missing or damaged: data was lost")
        } else if self.referenced == 0 {
            Some(
                "no row is referenced by another, so nothing is proved: the table has no linked entries, or \
                 the authorizations do not cover their labels",
            )
        } else {
            None
        }
    }
}

/// A row that is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct UndefinedRow {
    /// The row.
    pub row: String,
    /// Rows that point to it, a few.
    pub referenced_by: Vec<String>,
}

/// An entry that is damaged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CorruptEntry {
    /// Its key.
    pub key: String,
    /// What is wrong with it.
    pub fault: String,
}
