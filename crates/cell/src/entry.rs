//! Entries: a key and its value.

use crate::{Key, KeyRef};

/// An entry that owns its bytes. For tests and small results; the engine moves
/// [`Batch`](crate::Batch)es.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Entry {
    /// The key.
    pub key: Key,
    /// The value.
    pub value: Vec<u8>,
}

/// An entry that borrows from a [`Batch`](crate::Batch).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryRef<'a> {
    /// The key.
    pub key: KeyRef<'a>,
    /// The value.
    pub value: &'a [u8],
}

impl Entry {
    /// The entry as a borrow.
    #[must_use]
    pub fn as_ref(&self) -> EntryRef<'_> {
        EntryRef {
            key: self.key.as_ref(),
            value: &self.value,
        }
    }
}

impl EntryRef<'_> {
    /// A copy that owns its bytes.
    #[must_use]
    pub fn to_entry(self) -> Entry {
        Entry {
            key: self.key.to_key(),
            value: self.value.to_vec(),
        }
    }
}
