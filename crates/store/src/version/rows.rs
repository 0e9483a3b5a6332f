//! The rows that a tablet's share in a file can hold.

use super::tablet::TabletFile;
use crate::catalog::Fence;

/// Rows from `first` to `last`, both inclusive, and above `after`.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowBounds<'a> {
    after: Option<&'a [u8]>,
    first: &'a [u8],
    last: &'a [u8],
}

impl<'a> RowBounds<'a> {
    /// The rows of `file` that the tablet with this extent reads.
    pub(super) fn of(file: &'a TabletFile, extent: &'a Fence) -> Self {
        let record = file.file.record();
        let fence = &file.reference.fence;
        let after = fence.after.as_deref().max(extent.after.as_deref());
        let ends = [&fence.through, &extent.through].into_iter().flatten();
        let last = ends
            .map(Vec::as_slice)
            .chain([record.last_row.as_slice()])
            .min();
        Self {
            after,
            first: &record.first_row,
            last: last.unwrap_or(&record.last_row),
        }
    }

    /// Bounds that include both.
    pub(super) fn hull(self, other: Self) -> Self {
        Self {
            // If one side has no lower bound, neither has the hull.
            after: self.after.min(other.after),
            first: self.first.min(other.first),
            last: self.last.max(other.last),
        }
    }

    /// Whether a row may be inside both.
    pub(super) fn meets(self, other: Self) -> bool {
        let last = self.last.min(other.last);
        let after = self.after.max(other.after);
        self.first.max(other.first) <= last && after.is_none_or(|after| after < last)
    }
}
