//! Runs a stack of iterators to its end and writes the output.

use crossbeam_channel::bounded;
use ostrakon_cell::{Batch, BatchLimit, ColumnSelection, Range, SortedKeyValueIterator};

use super::Cancel;
use crate::error::StoreResult;
use crate::sorted_file::SortedFileWriter;
use crate::threads;

/// Size of the batches.
const LIMIT: BatchLimit = BatchLimit {
    entries: 2048,
    bytes: 256 << 10,
};

/// A batch that grew larger than this, through a large value, is not reused, and no other is read
/// at the same time.
const KEPT_BYTES: usize = 4 << 20;

/// Appends everything that `source` returns in `range` to `writer`; returns the number of entries.
///
/// # Errors
/// Those of reading and writing, and [`Cancelled`](ostrakon_cell::ErrorKind::Cancelled).
pub fn rewrite(
    source: &mut dyn SortedKeyValueIterator,
    range: &Range,
    writer: &mut SortedFileWriter,
    cancel: &Cancel,
) -> StoreResult<u64> {
    source.seek(range, &ColumnSelection::all())?;
    let mut batch = Batch::new();
    let mut entries = 0;
    loop {
        cancel.check()?;
        if batch.memory() > KEPT_BYTES {
            batch = Batch::new();
        }
        batch.clear();
        let more = source.next_batch(&mut batch, LIMIT)?;
        if !batch.is_empty() {
            writer.append(&batch, 0..batch.len())?;
            entries += batch.len() as u64;
        }
        if !more {
            return Ok(entries);
        }
    }
}

/// Batches that were read and not yet written.
const BATCHES_BETWEEN: usize = 2;

/// [`rewrite`] on two threads: this one reads and merges, the other one encodes and writes. For a
/// compaction that would otherwise leave a core idle.
///
/// # Errors
/// As [`rewrite`]; when the thread cannot be started.
pub fn rewrite_on_two_threads(
    source: &mut dyn SortedKeyValueIterator,
    range: &Range,
    writer: &mut SortedFileWriter,
    cancel: &Cancel,
) -> StoreResult<u64> {
    source.seek(range, &ColumnSelection::all())?;
    let (filled, to_write) = bounded::<Batch>(BATCHES_BETWEEN);
    let (emptied, to_fill) = bounded::<Batch>(BATCHES_BETWEEN + 2);
    let write = move || {
        let mut entries = 0;
        for mut batch in to_write {
            writer.append(&batch, 0..batch.len())?;
            entries += batch.len() as u64;
            if batch.memory() > KEPT_BYTES {
                batch = Batch::new();
            }
            batch.clear();
            // Fails if the reader has ended.
            let _ = emptied.send(batch);
        }
        StoreResult::Ok(entries)
    };
    let read = move || {
        // Number of batches that the writer has.
        let mut sent = 0;
        loop {
            cancel.check()?;
            let batch = to_fill.try_recv().inspect(|_| sent -= 1);
            let mut batch = batch.unwrap_or_default();
            let more = source.next_batch(&mut batch, LIMIT)?;
            let is_large = batch.memory() > KEPT_BYTES;
            // Sending fails after a write error.
            let taken = batch.is_empty() || filled.send(batch).inspect(|()| sent += 1).is_ok();
            while is_large && sent > 0 && to_fill.recv().is_ok() {
                sent -= 1;
            }
            if !more || !taken {
                return StoreResult::Ok(());
            }
        }
    };
    let (written, read) = threads::run_with_helper("compact-write", write, read)?;
    read.and(written)
}
