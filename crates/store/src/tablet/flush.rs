//! Flush (minor compaction): a memtable becomes sorted files.

use std::sync::atomic::{AtomicUsize, Ordering};

use ostrakon_cell::{ErrorKind, IteratorScope, Range};
use parking_lot::Mutex;

use super::sources::{Stacker, writer_options};
use crate::catalog::{AgeRange, Catalog, Fence, FileId, FileRecord, TableId};
use crate::compaction::{Cancel, StoppableIterator, rewrite};
use crate::error::{Error, StoreResult};
use crate::memtable::{MemtableIterator, MemtableSnapshot};
use crate::options::FileCuts;
use crate::sorted_file::{FileSummary, SortedFileWriter};
use crate::threads;
use crate::version::{FileRegistry, TableVersion};

/// Pieces a thread, where there are as many: the last ones are spread over all threads.
const PIECES_PER_THREAD: usize = 8;

/// A flush: what it reads and where it writes.
pub struct Flush<'a> {
    /// What to write.
    pub memtable: &'a MemtableSnapshot,
    /// The tablets.
    pub version: &'a TableVersion,
    /// Whose memtable it is.
    pub table: TableId,
    /// The memtable's place in the order of the table's data.
    pub ages: AgeRange,
    /// Gives names to files.
    pub catalog: &'a Catalog,
    /// Where files go.
    pub registry: &'a FileRegistry,
    /// The table's iterators.
    pub stacker: &'a Stacker,
    /// Threads that may work, this one among them.
    pub threads: usize,
    /// Where files end.
    pub cuts: FileCuts,
    /// Stops it.
    pub cancel: &'a Cancel,
}

impl Flush<'_> {
    /// Writes the memtable to files, one for each tablet or for several small neighbours. A large
    /// memtable is written by several threads; with fewer tablets than threads, each of them then
    /// gives a tablet a file of its own, and these do not overlap.
    ///
    /// # Errors
    /// Those of the disk; then no file is left behind.
    pub fn run(&self) -> StoreResult<Vec<FileRecord>> {
        let pieces = self.pieces();
        let files = Mutex::new(Vec::new());
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut own = Vec::new();
                let written = self.write_piece(piece, &mut own);
                files.lock().append(&mut own);
                if written.is_err() {
                    // The others need not go on.
                    next.store(pieces.len(), Ordering::Relaxed);
                }
                written?;
            }
            Ok(())
        };
        let panicked = || Error::new(ErrorKind::Internal, "a flushing thread panicked");
        let threads = self.threads.min(pieces.len());
        let written = threads::run_on_all(threads, panicked, work);
        let mut files: Vec<FileRecord> = files.into_inner();
        if let Err(error) = written {
            let ids: Vec<FileId> = files.iter().map(|file| file.id).collect();
            self.registry.retire(&ids);
            return Err(error);
        }
        files.sort_by(|a, b| a.first_row.cmp(&b.first_row));
        Ok(files)
    }

    /// The rows that threads take one piece at a time, as neighbouring ranges.
    fn pieces(&self) -> Vec<Vec<Fence>> {
        let tablets = self.version.tablets().iter();
        let extents: Vec<Fence> = tablets.map(|tablet| tablet.extent.clone()).collect();
        if self.threads < 2 || self.memtable.memory() < self.cuts.parallel_flush_bytes {
            return vec![extents];
        }
        if extents.len() < self.threads {
            return self.cut(&extents);
        }
        let together = extents.len().div_ceil(self.threads * PIECES_PER_THREAD);
        extents.chunks(together).map(<[Fence]>::to_vec).collect()
    }

    /// Few tablets, cut at rows that have about the same number of entries between them.
    fn cut(&self, extents: &[Fence]) -> Vec<Vec<Fence>> {
        let rows = self.memtable.middle_rows(self.threads);
        let mut pieces = Vec::new();
        for extent in extents {
            let mut rest = extent.clone();
            for row in &rows {
                let below = Fence::new(rest.after.clone(), Some(row.clone()));
                let above = Fence::new(Some(row.clone()), rest.through.clone());
                if rest.contains(row) && !above.is_empty() && !below.is_empty() {
                    pieces.push(vec![below]);
                    rest = above;
                }
            }
            pieces.push(vec![rest]);
        }
        pieces
    }

    fn write_piece(&self, extents: &[Fence], files: &mut Vec<FileRecord>) -> StoreResult<()> {
        let options = writer_options(&self.stacker.config, IteratorScope::Minc);
        let source = Box::new(MemtableIterator::new(self.memtable.clone()));
        let source = StoppableIterator::new(source, self.cancel.clone());
        let mut stack = self.stacker.minc(vec![Box::new(source)])?;
        let mut open: Option<(FileId, SortedFileWriter)> = None;
        let mut finish = |open: &mut Option<(FileId, SortedFileWriter)>| {
            let Some((id, writer)) = open.take() else {
                return Ok(());
            };
            if writer.entries() > 0 {
                let (summary, now) = (writer.finish()?, self.stacker.now_millis);
                files.push(file_record(id, summary, 0, self.ages, now));
            }
            StoreResult::Ok(())
        };
        for extent in extents {
            // Before a file is created: the store may be closed already.
            self.cancel.check()?;
            let (_, writer) = match &mut open {
                Some(open) => open,
                None => {
                    let id = self.catalog.new_file_id();
                    let (vfs, path) = (self.registry.vfs(), self.registry.path(id));
                    let options = options.clone().written_as(id, self.table);
                    let writer = SortedFileWriter::create(vfs, &path, options)?;
                    open.insert((id, writer))
                }
            };
            let range = Range::tablet(extent.after.as_deref(), extent.through.as_deref());
            rewrite(&mut stack, &range, writer, self.cancel)?;
            if writer.bytes_written() >= self.cuts.flush_bytes {
                finish(&mut open)?;
            }
        }
        finish(&mut open)
    }
}

/// The catalog's record of a finished file.
#[must_use]
pub fn file_record(
    id: FileId,
    summary: FileSummary,
    generation: u32,
    ages: AgeRange,
    created_millis: i64,
) -> FileRecord {
    FileRecord {
        id,
        bytes: summary.bytes,
        entries: summary.entries,
        deletes: summary.deletes,
        identity: summary.identity,
        first_row: summary.first_row,
        last_row: summary.last_row,
        generation,
        ages,
        created_millis,
    }
}
