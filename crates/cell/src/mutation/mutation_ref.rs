//! One mutation of a batch, borrowed.

use super::UpdateIter;
use super::format::{Facts, UpdateRef, read_update};
use crate::Escaped;

/// One mutation of a [`MutationBatch`](crate::MutationBatch): changes of one row, at least one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MutationRef<'a> {
    /// From its first update to the next mutation: the `back` distances inside stay within these
    /// bytes.
    bytes: &'a [u8],
    row: &'a [u8],
    updates: u32,
    facts: Facts,
}

impl<'a> MutationRef<'a> {
    /// The row.
    #[must_use]
    pub fn row(&self) -> &'a [u8] {
        self.row
    }

    /// Number of updates.
    #[must_use]
    #[expect(
        clippy::len_without_is_empty,
        reason = "a mutation of a batch is never empty"
    )]
    pub fn len(&self) -> usize {
        self.updates as usize
    }

    /// Encoded size in bytes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// The updates in order.
    pub fn updates(&self) -> impl Iterator<Item = UpdateRef<'a>> + use<'a> {
        UpdateIter::new(self.bytes).map(|(_, update)| update)
    }

    pub(super) fn encoded(&self) -> &'a [u8] {
        self.bytes
    }

    pub(super) fn facts(&self) -> Facts {
        self.facts
    }
}

impl std::fmt::Debug for MutationRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "MutationRef of row {} with {} updates",
            Escaped(self.row),
            self.updates
        )
    }
}

/// Iterates over the mutations of a batch.
#[derive(Debug, Clone)]
pub struct MutationIter<'a> {
    rest: &'a [u8],
}

impl<'a> MutationIter<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl<'a> Iterator for MutationIter<'a> {
    type Item = MutationRef<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (first, mut end) = read_update(self.rest, 0)?;
        let (mut updates, mut facts) = (1, first.facts());
        while let Some((update, next)) = read_update(self.rest, end)
            && !update.first
        {
            facts.add(update.facts());
            (updates, end) = (updates + 1, next);
        }
        let (bytes, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        Some(MutationRef {
            bytes,
            row: first.row,
            updates,
            facts,
        })
    }
}
