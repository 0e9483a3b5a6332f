//! An encoded batch of mutations.

use super::format::{Facts, LATE, UpdateRef, read_update};
use super::mutation_ref::{MutationIter, MutationRef};
use super::owned::{ColumnUpdate, Head, append, check_key_and_value, check_sizes};
use crate::{Error, Mutation, Result};

/// Largest encoded batch, in bytes (1 GiB): offsets are 32 bits wide.
const MAX_BATCH_BYTES: usize = 1 << 30;

/// Mutations of one table, encoded once; `docs/format/mutation-batch.md` gives the bytes.
///
/// ```
/// use ostrakon_cell::{ColumnUpdate, MutationBatch};
/// let mut batch = MutationBatch::new();
/// batch.put(b"alice", ColumnUpdate { family: b"edge", qualifier: b"bob", value: Some(b"1"), ..ColumnUpdate::default() })?;
/// assert_eq!((batch.mutations(), batch.len()), (1, 1));
/// # Ok::<(), ostrakon_cell::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct MutationBatch {
    bytes: Vec<u8>,
    updates: u32,
    mutations: u32,
    facts: Facts,
}

impl PartialEq for MutationBatch {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for MutationBatch {}

impl MutationBatch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty batch that reuses a buffer.
    #[must_use]
    pub fn with_buffer(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        Self {
            bytes,
            ..Self::default()
        }
    }

    /// Takes over encoded bytes and checks all of them.
    ///
    /// # Errors
    /// [`Corruption`](crate::ErrorKind::Corruption) when the bytes are not a valid batch;
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) when a key or a value is too large.
    pub fn from_encoded(bytes: Vec<u8>) -> Result<Self> {
        let (mut at, mut updates, mut mutations) = (0, 0_u32, 0_u32);
        let mut facts = Facts::default();
        while at < bytes.len() {
            let Some((update, next)) = read_update(&bytes, at) else {
                return Err(
                    Error::corruption("the bytes are not a valid column update").with("offset", at)
                );
            };
            let column = update.family.len() + update.qualifier.len() + update.visibility.len();
            check_key_and_value(update.row, update.row.len() + column, update.value.len())?;
            updates += 1;
            mutations += u32::from(update.first);
            facts.add(update.facts());
            at = next;
        }
        Ok(Self {
            bytes,
            updates,
            mutations,
            facts,
        })
    }

    /// Number of column updates.
    #[must_use]
    pub fn len(&self) -> usize {
        self.updates as usize
    }

    /// Whether the batch is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.updates == 0
    }

    /// Number of mutations.
    #[must_use]
    pub fn mutations(&self) -> usize {
        self.mutations as usize
    }

    /// Encoded size in bytes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Capacity of the buffer in bytes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Moves the encoded bytes to a buffer of exactly their size, and returns the old one.
    #[must_use]
    pub fn shrink(&mut self) -> Vec<u8> {
        let exact = self.bytes.as_slice().to_vec();
        std::mem::replace(&mut self.bytes, exact)
    }

    /// The encoded bytes.
    #[must_use]
    pub fn encoded(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the buffer of encoded bytes.
    #[must_use]
    pub fn into_encoded(self) -> Vec<u8> {
        self.bytes
    }

    /// Adds a mutation; one without updates has no effect and is skipped.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) when the batch would exceed 1 GiB.
    pub fn push(&mut self, mutation: &Mutation) -> Result<()> {
        if mutation.is_empty() {
            return Ok(());
        }
        self.check_room(mutation.byte_len())?;
        self.bytes.extend_from_slice(mutation.encoded());
        self.facts.add(mutation.facts());
        self.updates += mutation.len() as u32;
        self.mutations += 1;
        Ok(())
    }

    /// Adds a mutation of a single update, without building a [`Mutation`] first.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) when key, value or batch are too
    /// large.
    #[inline]
    pub fn put(&mut self, row: &[u8], update: ColumnUpdate<'_>) -> Result<()> {
        check_sizes(row, &update)?;
        self.check_room(row.len() + update.value.map_or(0, <[u8]>::len))?;
        let facts = append(&mut self.bytes, Head::Row(row), &update);
        self.facts.add(facts);
        self.updates += 1;
        self.mutations += 1;
        Ok(())
    }

    /// Adds a mutation of another batch.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_ref(&mut self, mutation: &MutationRef<'_>) -> Result<()> {
        self.check_room(mutation.byte_len())?;
        self.bytes.extend_from_slice(mutation.encoded());
        self.facts.add(mutation.facts());
        self.updates += mutation.len() as u32;
        self.mutations += 1;
        Ok(())
    }

    /// Whether some update is a delete whose timestamp the table sets.
    #[inline]
    #[must_use]
    pub fn has_server_deletes(&self) -> bool {
        self.facts.has(Facts::SERVER_DELETE)
    }

    /// Whether some update has a label that has not been validated.
    #[inline]
    #[must_use]
    pub fn has_unchecked_labels(&self) -> bool {
        self.facts.has(Facts::LABEL)
    }

    /// Records that the labels of all updates are valid expressions.
    pub(crate) fn labels_are_checked(&mut self) {
        self.facts.remove(Facts::LABEL);
    }

    /// Whether `mutation` fits into the rest of the batch.
    #[must_use]
    pub fn has_room_for(&self, mutation: &Mutation) -> bool {
        self.bytes.len() + mutation.byte_len() <= MAX_BATCH_BYTES
    }

    /// Whether some update has the timestamp after that of the batch.
    #[inline]
    #[must_use]
    pub fn has_late(&self) -> bool {
        self.facts.has(Facts::LATE)
    }

    /// Gives the update at `offset` the timestamp after that of the batch. For the table that
    /// stamps the batch; deletes and updates with a timestamp of their own do not change.
    pub fn mark_late(&mut self, offset: u32) {
        let settable = read_update(&self.bytes, offset as usize)
            .is_some_and(|(update, _)| !update.deleted && update.timestamp.is_none());
        if let Some(flags) = self.bytes.get_mut(offset as usize)
            && settable
        {
            *flags |= LATE;
            self.facts.add(Facts::LATE);
        }
    }

    /// Reverts every [`mark_late`](Self::mark_late).
    pub fn clear_late(&mut self) {
        if !self.has_late() {
            return;
        }
        let mut at = 0;
        while let Some((_, next)) = read_update(&self.bytes, at) {
            if let Some(flags) = self.bytes.get_mut(at) {
                *flags &= !LATE;
            }
            at = next;
        }
        self.facts.remove(Facts::LATE);
    }

    /// The mutations in order.
    #[must_use]
    pub fn each_mutation(&self) -> MutationIter<'_> {
        MutationIter::new(&self.bytes)
    }

    /// The updates in order.
    #[must_use]
    pub fn updates(&self) -> UpdateIter<'_> {
        UpdateIter::new(&self.bytes)
    }

    fn check_room(&self, more: usize) -> Result<()> {
        if self.bytes.len() + more > MAX_BATCH_BYTES {
            return Err(Error::invalid(
                "a batch of mutations holds at most 1 GiB: write it in parts",
            ));
        }
        Ok(())
    }
}

impl std::fmt::Debug for MutationBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "MutationBatch of {} mutations, {} updates, {} bytes",
            self.mutations,
            self.updates,
            self.bytes.len()
        )
    }
}

/// Iterates over the updates of a batch; yields each with its offset.
#[derive(Debug, Clone)]
pub struct UpdateIter<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> UpdateIter<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

impl<'a> Iterator for UpdateIter<'a> {
    type Item = (u32, UpdateRef<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (update, next) = read_update(self.bytes, self.at)?;
        let at = self.at as u32;
        self.at = next;
        Some((at, update))
    }
}
