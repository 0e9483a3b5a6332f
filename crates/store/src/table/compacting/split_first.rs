//! Splits before a compaction that includes memtables, where an automatic split would follow it
//! anyway. Each thread then has a tablet to compact directly from memory.

use ostrakon_cell::CompactOptions;
use parking_lot::Mutex;

use super::at_end::AtEnd;
use super::trial::Content;
use super::with_memory::{end_there, is_whole};
use crate::catalog::Fence;
use crate::compaction::Cancel;
use crate::error::StoreResult;
use crate::read::Snapshot;
use crate::table::core::TableCore;

/// Maximum number of pieces of a tablet: for more, the sampled rows lie too far apart.
const PIECES_MOST: u64 = 256;

/// The error allowed for in a trial's estimate, as its divisor.
const DOUBT: u64 = 16;

impl TableCore {
    /// Splits tablets whose compaction would make files above the split threshold, where otherwise
    /// memory would be flushed first because there are too few tablets. Changes nothing if tablets
    /// are not split automatically, or in doubt.
    pub(super) fn split_first(
        &self,
        wanted: &Fence,
        options: &CompactOptions,
        cancel: &Cancel,
    ) -> StoreResult<()> {
        if !self.context.options.background || !self.is_split_worth_it(wanted) {
            return Ok(());
        }
        // Like automatic splits, this avoids tablets that are being compacted: that work would be
        // lost.
        let ends = self.claim_all(&self.version());
        let _ended = AtEnd(|| {
            for end in &ends {
                self.release(end);
            }
        });
        cancel.check()?;
        self.check_exists()?;
        let Snapshot {
            version, memtables, ..
        } = self.snapshot();
        if !end_there(&ends, &version) || !self.is_split_worth_it(wanted) {
            return Ok(());
        }
        let found = Mutex::new(Vec::new());
        let tried = self.measured(|| {
            let tablets: Vec<_> = version.tablets().iter().collect();
            self.on_all_threads(&tablets, |tablet, _| {
                let content = Content::new(tablet, &memtables)?;
                let threads = self.context.options.compaction_threads;
                let least = threads.div_ceil(version.tablets().len());
                let points = self.points_by_trial(&content, least as u64, options, cancel)?;
                found.lock().extend(points);
                Ok(())
            })
        });
        // An iterator that was stopped may have returned a different error.
        tried.or_else(|error| cancel.check().and(Err(error)))?;
        let points = found.into_inner();
        if points.is_empty() {
            return Ok(());
        }
        self.split_unless_changed(&version, &points)
    }

    fn is_split_worth_it(&self, wanted: &Fence) -> bool {
        let version = self.version();
        is_whole(&version, wanted)
            && self.is_much_in_memory(&version)
            && self.lacks_tablets(&version)
            // The memory that is being flushed will be in files.
            && !self.flushing.is_taken()
    }

    /// Where to split a tablet, if at all; preferably into at least `least` pieces.
    fn points_by_trial(
        &self,
        content: &Content<'_>,
        least: u64,
        options: &CompactOptions,
        cancel: &Cancel,
    ) -> StoreResult<Vec<Vec<u8>>> {
        let config = self.config();
        let extent = content.extent();
        // The output is hardly ever larger than the input.
        if content.bytes <= config.split_threshold {
            return Ok(Vec::new());
        }
        let spread = content.spread()?;
        let points = |pieces: u64| {
            let mut points = spread
                .rows
                .points(extent, pieces as usize, config.split_row_max);
            // A tablet after the last row would be empty.
            points.retain(|row| Some(row.as_slice()) < spread.rows.last_row());
            points
        };
        if points(PIECES_MOST).is_empty() {
            return Ok(Vec::new());
        }
        let bytes = self.bytes_by_trial(content, &spread, options, cancel)?;
        let pieces = pieces(bytes, config.split_threshold, least);
        Ok(points(pieces))
    }
}

/// Into how many pieces to split a tablet whose file has about this many bytes: each at most as
/// large as the threshold, and in doubt smaller, since an automatic split would halve it. A
/// multiple of `least`, so that threads have equal shares, unless pieces would be below half the
/// threshold.
fn pieces(bytes: u64, threshold: u64, least: u64) -> u64 {
    let (surely, perhaps) = (bytes - bytes / DOUBT, bytes.saturating_add(bytes / DOUBT));
    if surely <= threshold {
        return 1;
    }
    let needed = perhaps.div_ceil(threshold).max(2);
    let even = needed.next_multiple_of(least.max(1));
    let fits = surely / even >= threshold / 2;
    (if fits { even } else { needed }).min(PIECES_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_neither_too_large_nor_far_too_small() {
        for (bytes, threshold, least, expected) in [
            (0, 100, 2, 1),
            (100, 100, 2, 1),
            // Within the error of the trial.
            (105, 100, 2, 1),
            (110, 100, 2, 2),
            (180, 100, 2, 2),
            // In doubt smaller.
            (195, 100, 1, 3),
            (195, 100, 2, 3),
            // The same number for each thread.
            (230, 100, 2, 4),
            // Not enough for four threads; then enough.
            (150, 100, 4, 2),
            (230, 100, 4, 4),
            (1_000_000, 1, 2, PIECES_MOST),
        ] {
            assert_eq!(
                pieces(bytes, threshold, least),
                expected,
                "{bytes} bytes, threshold {threshold}, {least} threads"
            );
        }
    }
}
