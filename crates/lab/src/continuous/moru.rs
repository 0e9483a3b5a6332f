//! Moru (many objects read, updated): reads every entry and writes its neighbour anew.

use std::sync::Arc;

use ostrakon_cell::{Authorizations, Durability, Result, Source};
use serde::Serialize;

use crate::Progress;

/// Settings of [`run_moru`].
#[derive(Debug, Clone)]
pub struct MoruOptions {
    /// The table. Default `ci`.
    pub table: String,
    /// What the reader may see.
    pub authorizations: Authorizations,
    /// Threads, each with its own scan and batch writer. 0, the default, takes one a processor.
    pub threads: usize,
    /// Whether what is written carries a checksum. Default yes.
    pub checksum: bool,
    /// Bytes a writer may have under way. Default 100 MB.
    pub buffer_bytes: usize,
    /// Durability of the writes. `None`, the default, takes the table's.
    pub durability: Option<Durability>,
    /// The most pieces the table is cut into. Default 4,096.
    pub ranges_max: usize,
    /// Start of the random sequences. `None`, the default, draws one.
    pub seed: Option<u64>,
}

impl Default for MoruOptions {
    fn default() -> Self {
        Self {
            table: "ci".to_owned(),
            authorizations: Authorizations::default(),
            threads: 0,
            checksum: true,
            buffer_bytes: 100_000_000,
            durability: None,
            ranges_max: 4096,
            seed: None,
        }
    }
}

/// What moru did.
#[derive(Debug, Clone, Default, Serialize)]
pub struct MoruFigures {
    /// Entries read.
    pub entries: u64,
    /// Entries written: for each link read, one at the row it names that points back.
    pub written: u64,
    /// Entries read that this run itself had written.
    pub self_read: u64,
    /// Entries whose checksum or form is wrong.
    pub corrupt: u64,
    /// Entries of others; they are passed over.
    pub foreign: u64,
    /// Seconds by the clock.
    pub seconds: f64,
    /// Entries read a second.
    pub entries_per_second: f64,
    /// Entries written a second.
    pub written_per_second: f64,
}

/// Reads the whole table and writes, for every link, an entry that points back.
///
/// # Errors
/// No such table, a failed read or write.
pub fn run_moru(
    source: &Arc<dyn Source>,
    options: &MoruOptions,
    progress: &dyn Progress,
) -> Result<MoruFigures> {
    let _ = (source, options, progress);
    Err(super::pending())
}
