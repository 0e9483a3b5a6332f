//! Runs a stack of iterators to its end and writes what comes out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ostrakon_cell::{Batch, BatchLimit, ColumnSelection, ErrorKind, Range, SortedKeyValueIterator};

use crate::error::{Error, StoreResult};
use crate::sorted_file::SortedFileWriter;

/// Stops a running compaction from another thread.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks the compaction to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether this is the same switch as `other`.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// An error once it was asked.
    pub fn check(&self) -> StoreResult<()> {
        if self.is_cancelled() {
            return Err(Error::new(
                ErrorKind::Cancelled,
                "the compaction was cancelled",
            ));
        }
        Ok(())
    }
}

/// Appends everything `source` gives in `range` to `writer`; returns the number of entries.
///
/// # Errors
/// Those of reading and writing, and [`ErrorKind::Cancelled`].
pub fn rewrite(
    source: &mut dyn SortedKeyValueIterator,
    range: &Range,
    writer: &mut SortedFileWriter,
    cancel: &Cancel,
) -> StoreResult<u64> {
    source.seek(range, &ColumnSelection::all())?;
    let limit = BatchLimit {
        entries: 2048,
        bytes: 256 << 10,
    };
    let mut batch = Batch::new();
    let mut entries = 0;
    loop {
        cancel.check()?;
        batch.clear();
        let more = source.next_batch(&mut batch, limit)?;
        if !batch.is_empty() {
            writer.append(&batch, 0..batch.len())?;
            entries += batch.len() as u64;
        }
        if !more {
            return Ok(entries);
        }
    }
}
