//! The parts of a key in a filter, and their hash.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The parts of keys that a filter contains, as Accumulo's key functors. The numbers are on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum FilterFunctor {
    /// Rows: for point reads of a row, or of a part of one.
    #[default]
    Row = 1,
    /// Rows with family.
    RowFamily = 2,
    /// Rows with family and qualifier.
    RowFamilyQualifier = 3,
}

impl FilterFunctor {
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Row),
            2 => Some(Self::RowFamily),
            3 => Some(Self::RowFamilyQualifier),
            _ => None,
        }
    }
}

/// The hash of a key's leading parts: each part is hashed with the hash of those before it as the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyHash(pub(crate) u64);

impl KeyHash {
    #[inline]
    pub(crate) fn row(row: &[u8]) -> Self {
        Self(xxh3_64(row))
    }

    /// Adds a family to the hash of a row, or a qualifier to that of a row and family.
    #[inline]
    pub(crate) fn with(self, part: &[u8]) -> Self {
        Self(xxh3_64_with_seed(part, self.0))
    }
}
