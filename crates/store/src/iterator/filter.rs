//! Filters that work in place on the entries that their source has just appended to the batch.

use ostrakon_cell::{Batch, BatchLimit, SortedKeyValueIterator};

use crate::error::StoreResult;

/// Reads one batch from `source` and calls `filter` on the entries from the given position on.
///
/// The filter also receives whether more entries may follow. It runs also when the source failed
/// after appending some entries, so that hidden entries stay hidden.
#[inline]
pub(super) fn read_filtered(
    source: &mut impl SortedKeyValueIterator,
    out: &mut Batch,
    limit: BatchLimit,
    filter: impl FnOnce(&mut Batch, usize, bool),
) -> StoreResult<bool> {
    let first = out.len();
    let more = source.next_batch(out, limit);
    if out.len() > first {
        filter(out, first, !matches!(more, Ok(false)));
    }
    more
}
