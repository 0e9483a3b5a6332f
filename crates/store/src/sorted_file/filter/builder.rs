//! Collects hashes while a file is written, and cuts the filter into partitions to bound memory.

use super::format::encode;
use super::hash::{FilterFunctor, KeyHash};
use ostrakon_cell::KeyRef;

/// Keys of a partition, which has about 80 KB at the usual error rate. A point read that misses it
/// in the cache reads it, so it should not be much larger than a block; and the description lists
/// all partitions, so there should not be too many.
const PARTITION_KEYS: usize = 1 << 16;

/// Collects one partition at a time.
#[derive(Debug)]
pub(crate) struct FilterBuilder {
    functor: FilterFunctor,
    error_rate: f64,
    hashes: Vec<u64>,
    row: KeyHash,
    first_row: Vec<u8>,
}

impl FilterBuilder {
    pub(crate) fn new(functor: FilterFunctor, error_rate: f64) -> Self {
        Self {
            functor,
            error_rate,
            hashes: Vec::new(),
            row: KeyHash(0),
            first_row: Vec::new(),
        }
    }

    pub(crate) fn functor(&self) -> FilterFunctor {
        self.functor
    }

    /// Adds a key. `same_row` says that its row equals the previous key's.
    #[inline]
    pub(crate) fn push(&mut self, key: KeyRef<'_>, same_row: bool) {
        if !same_row || self.hashes.is_empty() {
            self.row = KeyHash::row(key.row);
            if self.hashes.is_empty() {
                self.first_row.clear();
                self.first_row.extend_from_slice(key.row);
            }
        } else if self.functor == FilterFunctor::Row {
            return;
        }
        let hash = match self.functor {
            FilterFunctor::Row => self.row,
            FilterFunctor::RowFamily => self.row.with(key.family),
            FilterFunctor::RowFamilyQualifier => self.row.with(key.family).with(key.qualifier),
        };
        if self.hashes.last() != Some(&hash.0) {
            self.hashes.push(hash.0);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Whether the partition should be written.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.hashes.len() >= PARTITION_KEYS
    }

    /// Whether the partition must be written even inside a row.
    #[inline]
    pub(crate) fn is_overfull(&self) -> bool {
        self.hashes.len() >= 2 * PARTITION_KEYS
    }

    /// The bytes of the partition and its first row; begins a new one.
    pub(crate) fn finish(&mut self) -> (Vec<u8>, Vec<u8>) {
        let bytes = encode(&self.hashes, self.error_rate);
        self.hashes.clear();
        (bytes, std::mem::take(&mut self.first_row))
    }
}
