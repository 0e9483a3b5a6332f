//! Splits before a compaction that takes memory along: those that would come after it anyway. Each thread then has a
//! tablet to compact straight from memory.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, CompactOptions, IteratorScope, Range,
    SortedKeyValueIterator,
};
use parking_lot::Mutex;

use super::at_end::AtEnd;
use super::job::Job;
use super::with_memory::{end_there, in_memory, is_whole};
use crate::catalog::Fence;
use crate::compaction::{Cancel, rewrite};
use crate::error::StoreResult;
use crate::memtable::MemtableSnapshot;
use crate::sorted_file::SortedFileWriter;
use crate::table::core::{Snapshot, TableCore};
use crate::tablet::{Spread, TabletView, writer_options};
use crate::vfs::MemoryVfs;

/// Rows that are looked at to see how a tablet's entries are spread over its rows.
const RESOLUTION: u64 = 4096;

/// Pieces that a tablet may be cut into: for more, the rows that are looked at lie too far apart.
const PIECES_MOST: u64 = 256;

/// A trial reads that part of a tablet, within the bounds below.
const TRIAL_PART: u64 = 128;
const TRIAL_BYTES_LEAST: u64 = 1 << 20;
const TRIAL_BYTES_MOST: u64 = 8 << 20;

/// Stretches of rows that a trial reads, at equal distances: data may change from one end of a tablet to the other.
const STRETCHES: usize = 8;

/// How far a trial may be off, as the divisor of what it says.
const DOUBT: u64 = 16;

/// What would be merged in one tablet.
struct Content<'a> {
    tablet: &'a Arc<TabletView>,
    /// Newest first.
    memory: &'a [MemtableSnapshot],
    entries: u64,
    /// As they are in memory and in files now.
    bytes: u64,
}

impl TableCore {
    /// Splits tablets of which the compaction would make files above the split threshold, where memory would be
    /// flushed first for want of tablets. Changes nothing where tablets are not split automatically, or when in doubt.
    pub(super) fn split_first(
        &self,
        wanted: &Fence,
        options: &CompactOptions,
        cancel: &Cancel,
    ) -> StoreResult<()> {
        if !self.context.options.background || !self.is_split_worth_it(wanted) {
            return Ok(());
        }
        // As automatic splits, this keeps away from tablets that others compact: their work would be in vain.
        let ends = self.claim_all(&self.layout());
        let _ended = AtEnd(|| {
            for end in &ends {
                self.release(end);
            }
        });
        cancel.check()?;
        self.check_exists()?;
        let Snapshot {
            layout, memtables, ..
        } = self.snapshot();
        if !end_there(&ends, &layout) || !self.is_split_worth_it(wanted) {
            return Ok(());
        }
        let found = Mutex::new(Vec::new());
        let tried = self.measured(|| {
            self.on_all_threads(layout.tablets(), |tablet, _| {
                let content = Content::new(tablet, &memtables)?;
                let threads = self.context.options.compaction_threads;
                let least = threads.div_ceil(layout.tablets().len());
                let points = self.points_by_trial(&content, least as u64, options, cancel)?;
                found.lock().extend(points);
                Ok(())
            })
        });
        // An iterator may have made an error of its own of being stopped.
        tried.or_else(|error| cancel.check().and(Err(error)))?;
        let points = found.into_inner();
        if points.is_empty() {
            return Ok(());
        }
        self.split_unless_changed(&layout, &points)
    }

    fn is_split_worth_it(&self, wanted: &Fence) -> bool {
        let layout = self.layout();
        is_whole(&layout, wanted)
            && self.is_much_in_memory(&layout)
            && self.lacks_tablets(&layout)
            // What is being flushed now will be in files.
            && !self.flushing.is_taken()
    }

    /// Where to split a tablet; preferably into at least `least` pieces, if at all.
    fn points_by_trial(
        &self,
        content: &Content<'_>,
        least: u64,
        options: &CompactOptions,
        cancel: &Cancel,
    ) -> StoreResult<Vec<Vec<u8>>> {
        let config = self.config();
        let extent = &content.tablet.extent;
        // Files are hardly ever larger than what they are made of.
        if content.bytes <= config.split_threshold {
            return Ok(Vec::new());
        }
        let spread = content.spread()?;
        let points = |pieces: u64| {
            let mut points = spread.points(extent, pieces as usize, config.split_row_max);
            // Behind the last row would be nothing.
            points.retain(|row| Some(row.as_slice()) < spread.last_row());
            points
        };
        if points(PIECES_MOST).is_empty() {
            return Ok(Vec::new());
        }
        let bytes = self.bytes_by_trial(content, &spread, options, cancel)?;
        let pieces = pieces(bytes, config.split_threshold, least);
        Ok(points(pieces))
    }

    /// About how long the file will be that comes out of the compaction, by compacting a small part of it to nowhere. 0
    /// if rows hold so much that no part is small.
    fn bytes_by_trial(
        &self,
        content: &Content<'_>,
        spread: &Spread,
        options: &CompactOptions,
        cancel: &Cancel,
    ) -> StoreResult<u64> {
        let part = (content.bytes / TRIAL_PART).clamp(TRIAL_BYTES_LEAST, TRIAL_BYTES_MOST);
        let entries = share(content.entries, part, content.bytes);
        let stretches = spread.stretches(STRETCHES, entries / STRETCHES as u64);
        let job = Job {
            tablet: content.tablet.clone(),
            files: content.tablet.files.clone(),
            memory: content.memory.to_vec(),
            memory_sequence: 0,
            user: true,
            iterators: options.iterators.clone(),
            cancel: cancel.clone(),
            helped: false,
        };
        let stacker = self.stacker();
        let read = Arc::new(AtomicU64::new(0));
        let sources = job.sources(&stacker, |source| {
            Box::new(Counted {
                source,
                read: read.clone(),
            })
        })?;
        let mut stack = stacker.majc(sources, true, job.user, &job.iterators)?;
        let mut writer = SortedFileWriter::create(
            &MemoryVfs::shared(),
            Path::new("trial"),
            writer_options(&stacker.config, IteratorScope::Majc),
        )?;
        for rows in &stretches {
            let range = Range::tablet(rows.after.as_deref(), rows.through.as_deref());
            rewrite(&mut stack, &range, &mut writer, cancel)?;
        }
        if writer.entries() == 0 {
            return Ok(0);
        }
        let written = writer.finish()?.bytes;
        Ok(share(
            content.entries,
            written,
            read.load(Ordering::Relaxed),
        ))
    }
}

impl<'a> Content<'a> {
    fn new(tablet: &'a Arc<TabletView>, memory: &'a [MemtableSnapshot]) -> StoreResult<Self> {
        let (mut entries, mut bytes) = in_memory(memory, &tablet.extent)?;
        for file in &tablet.files {
            if let Some(fence) = file.reference.fence.intersection(&tablet.extent) {
                let of_file = file.file.reader().estimate(&fence)?;
                bytes += of_file.0;
                entries += of_file.1;
            }
        }
        Ok(Self {
            tablet,
            memory,
            entries,
            bytes,
        })
    }

    /// How its entries are spread over the rows.
    fn spread(&self) -> StoreResult<Spread> {
        let extent = &self.tablet.extent;
        let (after, through) = (extent.after.as_deref(), extent.through.as_deref());
        let step = (self.entries / RESOLUTION).max(1);
        let mut weights = Vec::with_capacity(RESOLUTION as usize);
        for memtable in self.memory {
            let rows = memtable.every(step, after, through)?;
            weights.extend(rows.into_iter().map(|row| (row, step)));
        }
        for file in &self.tablet.files {
            if let Some(fence) = file.reference.fence.intersection(extent) {
                let reader = file.file.reader();
                let (bytes, entries) = reader.estimate(&fence)?;
                let cuts = reader.middle_rows(&fence, (entries / step) as usize)?;
                let weigh = |bytes_before| share(entries, bytes_before, bytes);
                weights.extend(cuts.into_iter().map(|cut| (cut.row, weigh(cut.bytes))));
            }
        }
        Ok(Spread::of(weights))
    }
}

/// `part` of `of`, taken of `whole`; nothing of nothing.
fn share(whole: u64, part: u64, of: u64) -> u64 {
    let share = u128::from(whole) * u128::from(part) / u128::from(of.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// Into how many pieces to split a tablet with a file of about so many bytes: each at most as large as the threshold,
/// and in doubt smaller, since an automatic split would halve it. A multiple of `least`, so that threads have equal
/// shares, unless pieces came out below half the threshold.
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

/// Counts what is read of a source.
struct Counted {
    source: BoxedIterator,
    read: Arc<AtomicU64>,
}

impl SortedKeyValueIterator for Counted {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        let before = out.len();
        let more = self.source.next_batch(out, limit);
        self.read
            .fetch_add((out.len() - before) as u64, Ordering::Relaxed);
        more
    }

    /// Copies read the same entries again: they do not count.
    fn deep_copy(&self) -> BoxedIterator {
        self.source.deep_copy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_neither_too_large_nor_far_too_small() {
        for (bytes, threshold, least, expected) in [
            (0, 100, 2, 1),
            (100, 100, 2, 1),
            // That might be an error of the trial.
            (105, 100, 2, 1),
            (110, 100, 2, 2),
            (180, 100, 2, 2),
            // In doubt smaller.
            (195, 100, 1, 3),
            (195, 100, 2, 3),
            // As many for each thread.
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
