//! Settings of a file that is being written.

use super::filter::FilterFunctor;
use crate::codec::Compression;

/// How a file is written. Readers need none of it.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// Uncompressed bytes of a block, which small entries do not exceed; default 32 KiB. Larger blocks compress better and make
    /// look-ups of single rows dearer. From 1 KiB to 16 MiB; values outside are taken as the nearer end.
    pub block_bytes: usize,
    /// Default LZ4. Flushes use `None`.
    pub compression: Compression,
    /// Default a filter of rows; `None` saves about 1.5 bytes a row.
    pub filter: Option<FilterOptions>,
    /// Families kept apart from the others, each group in blocks of its own. Families named nowhere go into the
    /// default group. A family named twice belongs to the first.
    pub locality_groups: Vec<LocalityGroup>,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            block_bytes: 32 << 10,
            compression: Compression::Lz4,
            filter: Some(FilterOptions::default()),
            locality_groups: Vec::new(),
        }
    }
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
