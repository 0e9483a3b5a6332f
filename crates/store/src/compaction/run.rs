//! Runs a stack of iterators to its end and writes what comes out.

use crossbeam_channel::bounded;
use ostrakon_cell::{Batch, BatchLimit, ColumnSelection, Range, SortedKeyValueIterator};

use super::Cancel;
use crate::error::StoreResult;
use crate::sorted_file::SortedFileWriter;
use crate::threads;

/// How much is read at a time.
const LIMIT: BatchLimit = BatchLimit {
    entries: 2048,
    bytes: 256 << 10,
};

/// Appends everything `source` gives in `range` to `writer`; returns the number of entries.
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
/// compaction that would leave a core idle.
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
            batch.clear();
            let _ = emptied.try_send(batch);
        }
        StoreResult::Ok(entries)
    };
    let read = move || {
        loop {
            cancel.check()?;
            let mut batch = to_fill.try_recv().unwrap_or_default();
            let more = source.next_batch(&mut batch, LIMIT)?;
            // Nobody takes batches any more after writing failed.
            let taken = batch.is_empty() || filled.send(batch).is_ok();
            if !more || !taken {
                return StoreResult::Ok(());
            }
        }
    };
    let (written, read) = threads::run_beside("compact-write", write, read)?;
    read.and(written)
}
