//! Places between keys.

use ostrakon_cell::{Key, KeyRef};

/// A place between two keys: directly before or directly after `key`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound<'a> {
    pub(super) key: KeyRef<'a>,
    /// Whether the place is after the key.
    pub(super) after: bool,
    /// Whether the place is before all keys of its row, so that columns need not be compared.
    pub(super) first_of_row: bool,
}

impl<'a> Bound<'a> {
    pub(super) fn new(key: KeyRef<'a>, after: bool) -> Self {
        let first_of_row = !after
            && key.deleted
            && key.timestamp == i64::MAX
            && key.family.is_empty()
            && key.qualifier.is_empty()
            && key.visibility.is_empty();
        Self {
            key,
            after,
            first_of_row,
        }
    }

    /// Whether no key lies between this place and `other`, which must not be after it.
    pub(super) fn is_behind(&self, other: Bound<'_>) -> bool {
        match self.key.cmp(&other.key) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => self.after || !other.after,
            std::cmp::Ordering::Greater => true,
        }
    }

    /// Whether the place is before all keys of `row`, or exactly at their beginning.
    pub(super) fn ends_before_row(&self, row: &[u8]) -> bool {
        match self.key.row.cmp(row) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => self.first_of_row,
            std::cmp::Ordering::Greater => false,
        }
    }

    /// The place before all keys of `row`.
    pub(super) fn before_row(row: &'a [u8]) -> Self {
        let key = KeyRef {
            row,
            family: &[],
            qualifier: &[],
            visibility: &[],
            timestamp: i64::MAX,
            deleted: true,
        };
        Self::new(key, false)
    }
}

/// One end of a range, in reusable buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct End {
    key: Key,
    after: bool,
    first_of_row: bool,
    finite: bool,
}

impl End {
    pub(super) fn set(&mut self, bound: Option<Bound<'_>>) {
        self.finite = bound.is_some();
        if let Some(bound) = bound {
            self.key.set(bound.key);
            self.after = bound.after;
            self.first_of_row = bound.first_of_row;
        }
    }

    /// The place, or `None` for infinity.
    #[inline]
    pub(super) fn bound(&self) -> Option<Bound<'_>> {
        self.finite.then(|| Bound {
            key: self.key.as_ref(),
            after: self.after,
            first_of_row: self.first_of_row,
        })
    }
}
