//! Maps keys to small numbers.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use ostrakon_cell::{Error, ErrorKind, Result, same_bytes};

use super::Keys;

/// Numbers keys in the order in which they are first seen.
#[derive(Default)]
pub(crate) struct Interner {
    keys: Keys,
    ids: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Interner {
    /// The number of `key`, a new one if it is new.
    #[inline]
    pub(crate) fn intern(&mut self, key: &[u8]) -> Result<u32> {
        let hash = self.hasher.hash_one(key);
        let Self { keys, ids, hasher } = self;
        if let Some(&id) = ids.find(hash, |&id| same_bytes(keys.get(id as usize), key)) {
            return Ok(id);
        }
        let id = u32::try_from(keys.len()).ok().filter(|&id| id < u32::MAX);
        let id = id.ok_or_else(|| {
            Error::new(
                ErrorKind::OutOfSpace,
                "more than four billion different keys: work on a part of the table",
            )
        })?;
        keys.push(key);
        ids.insert_unique(hash, id, |&id| hasher.hash_one(keys.get(id as usize)));
        Ok(id)
    }

    /// The number of a key that was seen.
    #[inline]
    pub(crate) fn find(&self, key: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        self.ids
            .find(hash, |&id| same_bytes(self.keys.get(id as usize), key))
            .copied()
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Memory held, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.keys.memory() + self.ids.capacity() * 5
    }
}
