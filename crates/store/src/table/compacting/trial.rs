//! Estimates the size of a compaction's output by compacting a small part and discarding the
//! result.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, CompactOptions, IteratorScope, Range,
    SortedKeyValueIterator,
};

use super::job::Job;
use super::with_memory::in_memory;
use crate::catalog::Fence;
use crate::compaction::{Cancel, rewrite};
use crate::error::StoreResult;
use crate::memtable::{MemtableSnapshot, entry_bytes};
use crate::sorted_file::SortedFileWriter;
use crate::table::core::TableCore;
use crate::tablet::{Spread, TabletView, writer_options};
use crate::vfs::MemoryVfs;

/// Entries that are sampled to estimate how a tablet's content is spread over its rows.
const RESOLUTION: u64 = 1 << 14;

/// A trial reads one part in this many of a tablet, within the bounds below.
const TRIAL_PART: u64 = 128;
const TRIAL_BYTES_LEAST: u64 = 1 << 20;
const TRIAL_BYTES_MOST: u64 = 8 << 20;

/// Row ranges that a trial reads, evenly spaced: data may differ from one end of a tablet to the
/// other.
const STRETCHES: usize = 8;

/// The input of a compaction of one tablet.
pub(super) struct Content<'a> {
    tablet: &'a Arc<TabletView>,
    /// Newest first.
    memory: &'a [MemtableSnapshot],
    entries_in_memory: u64,
    entries_in_files: u64,
    /// Their present bytes in memory and in files.
    pub(super) bytes: u64,
}

/// How a tablet's content is distributed.
pub(super) struct ContentSpread {
    /// Over the rows, by the bytes of keys and values.
    pub(super) rows: Spread,
    /// Bytes of keys and values in memory.
    bytes_in_memory: u64,
}

impl TableCore {
    /// The estimated length of the file. 0 if the rows are so large that no part is small.
    pub(super) fn bytes_by_trial(
        &self,
        content: &Content<'_>,
        spread: &ContentSpread,
        options: &CompactOptions,
        cancel: &Cancel,
    ) -> StoreResult<u64> {
        let part = (content.bytes / TRIAL_PART).clamp(TRIAL_BYTES_LEAST, TRIAL_BYTES_MOST);
        let part = share(spread.rows.total(), part, content.bytes);
        let stretches = spread.rows.stretches(STRETCHES, part / STRETCHES as u64);
        let job = Job {
            tablet: content.tablet.clone(),
            files: content.tablet.files.clone(),
            memory: content.memory.to_vec(),
            memory_ages: None,
            user: true,
            iterators: options.iterators.clone(),
            cancel: cancel.clone(),
            helped: false,
        };
        let stacker = self.stacker();
        let (of_memory, of_files) = (Arc::new(Count::default()), Arc::new(Count::default()));
        let sources = job.sources(&stacker, |source, in_memory| {
            let count = if in_memory { &of_memory } else { &of_files };
            let count = count.clone();
            Box::new(Counted { source, count })
        })?;
        let mut stack = stacker.majc(sources, true, job.user, &job.iterators)?;
        let mut writer = SortedFileWriter::create(
            &MemoryVfs::shared(),
            Path::new("trial"),
            writer_options(&stacker.config, IteratorScope::Majc),
        )?;
        let mut entries = 0;
        for rows in &stretches {
            let range = Range::tablet(rows.after.as_deref(), rows.through.as_deref());
            rewrite(&mut stack, &range, &mut writer, cancel)?;
            entries += in_memory(content.memory, rows)?.0;
        }
        if writer.entries() == 0 {
            return Ok(0);
        }
        let written = writer.finish()?.bytes;
        // Iterators may have skipped some entries, read some twice, or read only through copies.
        let (read, bytes) = match of_memory.get() {
            (0, _) => (content.entries_in_memory, spread.bytes_in_memory),
            some => some,
        };
        let bytes_of_memory = share(entries, bytes, read);
        let (read, bytes_of_files) = of_files.get();
        let bytes_in_files = share(content.entries_in_files, bytes_of_files, read);
        let read = bytes_of_memory.saturating_add(bytes_of_files);
        if read == 0 {
            return Ok(0);
        }
        let whole = spread.bytes_in_memory.saturating_add(bytes_in_files);
        Ok(share(whole, written, read))
    }
}

impl<'a> Content<'a> {
    pub(super) fn new(
        tablet: &'a Arc<TabletView>,
        memory: &'a [MemtableSnapshot],
    ) -> StoreResult<Self> {
        let (entries_in_memory, mut bytes) = in_memory(memory, &tablet.extent)?;
        let mut entries_in_files = 0;
        for file in &tablet.files {
            if let Some(fence) = file.reference.fence.intersection(&tablet.extent) {
                let of_file = file.file.reader().estimate(&fence)?;
                bytes += of_file.0;
                entries_in_files += of_file.1;
            }
        }
        Ok(Self {
            tablet,
            memory,
            entries_in_memory,
            entries_in_files,
            bytes,
        })
    }

    /// The tablet's rows.
    pub(super) fn extent(&self) -> &Fence {
        &self.tablet.extent
    }

    /// Its distribution over the rows. Entries in files are counted with the average size of those
    /// in memory.
    pub(super) fn spread(&self) -> StoreResult<ContentSpread> {
        let extent = &self.tablet.extent;
        let (after, through) = (extent.after.as_deref(), extent.through.as_deref());
        let step = ((self.entries_in_memory + self.entries_in_files) / RESOLUTION).max(1);
        let mut weights = Vec::with_capacity(RESOLUTION as usize);
        for memtable in self.memory {
            weights.extend(memtable.sample(step, after, through)?);
        }
        let bytes_in_memory: u64 = weights.iter().map(|(_, bytes)| bytes).sum();
        let each = (bytes_in_memory / self.entries_in_memory.max(1)).max(1);
        for file in &self.tablet.files {
            if let Some(fence) = file.reference.fence.intersection(extent) {
                let reader = file.file.reader();
                let (bytes, entries) = reader.estimate(&fence)?;
                let cuts = reader.middle_rows(&fence, (entries / step) as usize)?;
                let whole = entries.saturating_mul(each);
                let weigh = |bytes_before| share(whole, bytes_before, bytes);
                weights.extend(cuts.into_iter().map(|cut| (cut.row, weigh(cut.bytes))));
            }
        }
        Ok(ContentSpread {
            rows: Spread::of(weights),
            bytes_in_memory,
        })
    }
}

/// The fraction `part / whole` of `of`; 0 if `whole` is 0.
fn share(whole: u64, part: u64, of: u64) -> u64 {
    let share = u128::from(whole) * u128::from(part) / u128::from(of.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// Counts of what sources returned.
#[derive(Default)]
struct Count {
    entries: AtomicU64,
    bytes: AtomicU64,
}

impl Count {
    /// Entries, and bytes of their keys and values.
    fn get(&self) -> (u64, u64) {
        let entries = self.entries.load(Ordering::Relaxed);
        (entries, self.bytes.load(Ordering::Relaxed))
    }
}

/// Counts what is read from a source.
struct Counted {
    source: BoxedIterator,
    count: Arc<Count>,
}

impl SortedKeyValueIterator for Counted {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        let before = out.len();
        let more = self.source.next_batch(out, limit);
        let read = before..out.len();
        let entries = read.len() as u64;
        let bytes = read
            .map(|at| entry_bytes(&out.key(at), out.value(at)))
            .sum();
        self.count.entries.fetch_add(entries, Ordering::Relaxed);
        self.count.bytes.fetch_add(bytes, Ordering::Relaxed);
        more
    }

    /// Copies read the same entries again and do not count.
    fn deep_copy(&self) -> BoxedIterator {
        self.source.deep_copy()
    }
}
