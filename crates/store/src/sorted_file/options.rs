//! Settings of a file that is being written.

use std::num::NonZeroU64;

use super::filter::FilterFunctor;
use crate::catalog::{FileId, TableId};
use crate::codec::Compression;

/// How a file is written. Readers do not need these settings.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// Uncompressed bytes of a block, which small entries do not exceed; default 32 KiB. Larger
    /// blocks compress better and make point reads more expensive. From 1 KiB to 16 MiB; other
    /// values are clamped.
    pub block_bytes: usize,
    /// Bytes of an index above which it is split into partitions that are read one at a time;
    /// default 64 KiB, about two thousand blocks. From 64 bytes to 16 MiB.
    pub index_partition_bytes: usize,
    /// Default LZ4. Flushes use `None`.
    pub compression: Compression,
    /// Default: a filter of rows; `None` saves about 1.5 bytes per row.
    pub filter: Option<FilterOptions>,
    /// Families stored apart from the others, each group in its own blocks. All other families go
    /// into the default group. A family named twice belongs to the first group.
    pub locality_groups: Vec<LocalityGroup>,
    /// The file's number in a store; default none.
    pub origin: Option<Origin>,
    /// The file's identity, not 0; default a random one.
    pub identity: Option<NonZeroU64>,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            block_bytes: 32 << 10,
            index_partition_bytes: 64 << 10,
            compression: Compression::Lz4,
            filter: Some(FilterOptions::default()),
            locality_groups: Vec::new(),
            origin: None,
            identity: None,
        }
    }
}

impl WriterOptions {
    /// For a file that a store writes under a number, for a table.
    #[must_use]
    pub fn written_as(self, file: FileId, table: TableId) -> Self {
        let origin = Origin {
            number: file.0,
            table: table.0,
        };
        Self {
            origin: Some(origin),
            ..self
        }
    }
}

/// The number and table under which a store wrote a file. Only used in messages, to say which file
/// was found in place of another: clones and checkpoints share files, and an import gives them
/// other numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The number of the file, not 0.
    pub number: u64,
    /// The id of the table.
    pub table: u32,
}

/// The Bloom filter of a file.
#[derive(Clone, Copy, Debug)]
pub struct FilterOptions {
    /// The parts of a key in the filter; default rows.
    pub functor: FilterFunctor,
    /// Share of absent keys that the filter passes; default 0.005, as in Accumulo.
    pub error_rate: f64,
}

impl Default for FilterOptions {
    fn default() -> Self {
        Self {
            functor: FilterFunctor::Row,
            error_rate: 0.005,
        }
    }
}

/// Families that are stored together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalityGroup {
    /// The name; not used by the file.
    pub name: String,
    /// Its families.
    pub families: Vec<Vec<u8>>,
}
