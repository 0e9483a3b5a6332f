//! Settings of a file that is being written.

use std::num::NonZeroU64;

use super::filter::FilterFunctor;
use crate::catalog::{FileId, TableId};
use crate::codec::Compression;

/// How a file is written. Readers need none of it.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// Uncompressed bytes of a block, which small entries do not exceed; default 32 KiB. Larger blocks compress better and make
    /// look-ups of single rows dearer. From 1 KiB to 16 MiB; values outside are taken as the nearer end.
    pub block_bytes: usize,
    /// Bytes of an index after which it is cut into partitions, which are read one at a time; default 64 KiB, about
    /// two thousand blocks. From 64 bytes to 16 MiB.
    pub index_partition_bytes: usize,
    /// Default LZ4. Flushes use `None`.
    pub compression: Compression,
    /// Default a filter of rows; `None` saves about 1.5 bytes a row.
    pub filter: Option<FilterOptions>,
    /// Families kept apart from the others, each group in blocks of its own. Families named nowhere go into the
    /// default group. A family named twice belongs to the first.
    pub locality_groups: Vec<LocalityGroup>,
    /// How a store knows the file; default none.
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

/// How a store knew a file when it wrote it. Nothing is decided by it: clones and checkpoints share files, and an import
/// gives them other numbers. It tells people which file lies where another one should.
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
    /// What it answers for; default rows.
    pub functor: FilterFunctor,
    /// Share of wrong `perhaps` answers; default 0.005, as Accumulo's.
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

/// Families that are kept together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalityGroup {
    /// The name; not used by the file.
    pub name: String,
    /// Its families.
    pub families: Vec<Vec<u8>>,
}
