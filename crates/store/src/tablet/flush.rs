//! Flush (minor compaction): writes a memtable to sorted files.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use ostrakon_cell::{ErrorKind, IteratorScope, Range};
use parking_lot::Mutex;

use super::sources::{IteratorStackBuilder, writer_options};
use crate::catalog::{AgeRange, Catalog, Fence, FileId, FileRecord, FileReference, TableId};
use crate::compaction::{Cancel, StoppableIterator, rewrite};
use crate::error::{Error, StoreResult};
use crate::memtable::{MemtableIterator, MemtableSnapshot};
use crate::options::FileCuts;
use crate::sorted_file::{FileSummary, SortedFileWriter};
use crate::threads;
use crate::version::{FileRegistry, TableVersion};

/// Pieces per thread, if there are enough: the last ones keep all threads busy.
const PIECES_PER_THREAD: usize = 8;

/// With this many tablets per entry, checking all of them would take longer than reading the
/// entries.
const TABLETS_PER_ENTRY: usize = 4;

/// A flush: its input and output.
pub struct Flush<'a> {
    /// The memtable to write.
    pub memtable: &'a MemtableSnapshot,
    /// The tablets.
    pub version: &'a TableVersion,
    /// The table of the memtable.
    pub table: TableId,
    /// The memtable's position in the order of the table's data.
    pub ages: AgeRange,
    /// Issues ids of files.
    pub catalog: &'a Catalog,
    /// Creates files.
    pub registry: &'a FileRegistry,
    /// The table's iterators.
    pub stacker: &'a IteratorStackBuilder,
    /// Number of threads, including the calling one.
    pub threads: usize,
    /// Sizes at which files end.
    pub cuts: FileCuts,
    /// Stops the flush.
    pub cancel: &'a Cancel,
}

/// A file that a flush wrote.
#[derive(Debug)]
pub struct FlushedFile {
    /// The record of it for the catalog.
    pub record: FileRecord,
    /// The tablets with entries in it, with neighbours joined: only these will read it.
    pub rows: Vec<Fence>,
}

impl FlushedFile {
    /// The tablets that will read the file, according to `version`: by end row. Its size is divided
    /// evenly among them.
    #[must_use]
    pub fn shares(&self, version: &TableVersion) -> Vec<(Option<Vec<u8>>, FileReference)> {
        let (record, tablets) = (&self.record, version.tablets());
        let mut found: Vec<&Fence> = Vec::new();
        for rows in &self.rows {
            let mut at = match &rows.after {
                Some(row) => version.position(row),
                None => 0,
            };
            while let Some(tablet) = tablets.get(at) {
                let extent = &tablet.extent;
                let is_before = rows.after.is_some() && extent.through == rows.after;
                if !is_before && extent.intersection(rows).is_none() {
                    break;
                }
                let is_new = found.last().is_none_or(|last| *last != extent);
                if !is_before && is_new && extent.meets(&record.first_row, &record.last_row) {
                    found.push(extent);
                }
                at += 1;
            }
        }
        let count = found.len().max(1) as u64;
        let share = FileReference {
            file: record.id,
            fence: Fence::ALL,
            bytes: record.bytes / count,
            entries: record.entries / count,
        };
        let found = found.into_iter();
        found
            .map(|extent| (extent.through.clone(), share.clone()))
            .collect()
    }
}

impl Flush<'_> {
    /// Writes the memtable to files, one per tablet or per group of small neighbours. A large
    /// memtable is written by several threads. With fewer tablets than threads, each thread then
    /// writes its own file for a tablet, and these files do not overlap.
    ///
    /// # Errors
    /// Those of the disk; then no file remains.
    pub fn run(&self) -> StoreResult<Vec<FlushedFile>> {
        let pieces = self.pieces()?;
        let files = Mutex::new(Vec::new());
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut own = Vec::new();
                let written = self.write_piece(piece, &mut own);
                files.lock().append(&mut own);
                if written.is_err() {
                    // The other threads stop.
                    next.store(pieces.len(), Ordering::Relaxed);
                }
                written?;
            }
            Ok(())
        };
        let panicked = || Error::new(ErrorKind::Internal, "a flushing thread panicked");
        let threads = self.threads.min(pieces.len());
        let written = threads::run_on_all(threads, panicked, work);
        let mut files: Vec<FlushedFile> = files.into_inner();
        if let Err(error) = written {
            let ids: Vec<FileId> = files.iter().map(|file| file.record.id).collect();
            self.registry.retire(&ids);
            return Err(error);
        }
        files.sort_by(|a, b| a.record.first_row.cmp(&b.record.first_row));
        Ok(files)
    }

    /// The rows that threads take one piece at a time, as contiguous ranges.
    fn pieces(&self) -> StoreResult<Vec<Vec<Fence>>> {
        let extents = self.extents()?;
        if self.threads < 2 || self.memtable.memory() < self.cuts.parallel_flush_bytes {
            return Ok(vec![extents]);
        }
        if extents.len() < self.threads {
            return Ok(self.cut(&extents));
        }
        let together = extents.len().div_ceil(self.threads * PIECES_PER_THREAD);
        Ok(extents.chunks(together).map(<[Fence]>::to_vec).collect())
    }

    /// The tablets to write for: if there are many more than entries, only those with entries.
    fn extents(&self) -> StoreResult<Vec<Fence>> {
        let tablets = self.version.tablets();
        let runs = self.memtable.runs();
        let entries: usize = runs.iter().map(|run| run.len()).sum();
        if entries >= tablets.len() / TABLETS_PER_ENTRY {
            return Ok(tablets.iter().map(|tablet| tablet.extent.clone()).collect());
        }
        let mut found = BTreeSet::new();
        for run in runs {
            for at in 0..run.len() {
                found.insert(self.version.position(run.entry(at)?.0.row));
            }
        }
        let found = found.into_iter().filter_map(|at| tablets.get(at));
        Ok(found.map(|tablet| tablet.extent.clone()).collect())
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

    fn write_piece(&self, extents: &[Fence], files: &mut Vec<FlushedFile>) -> StoreResult<()> {
        let options = writer_options(&self.stacker.config, IteratorScope::Minc);
        let source = Box::new(MemtableIterator::new(self.memtable.clone()));
        let source = StoppableIterator::new(source, self.cancel.clone());
        let mut stack = self.stacker.minc(vec![Box::new(source)])?;
        let mut open: Option<(FileId, SortedFileWriter)> = None;
        let mut rows: Vec<Fence> = Vec::new();
        let mut finish = |open: &mut Option<(FileId, SortedFileWriter)>, rows: &mut Vec<Fence>| {
            let Some((id, writer)) = open.take() else {
                return Ok(());
            };
            if writer.entries() > 0 {
                let (summary, now) = (writer.finish()?, self.stacker.now_millis);
                files.push(FlushedFile {
                    record: file_record(id, summary, 0, self.ages, now),
                    rows: std::mem::take(rows),
                });
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
            if rewrite(&mut stack, &range, writer, self.cancel)? > 0 {
                match rows.last_mut() {
                    Some(last) if last.through.is_some() && last.through == extent.after => {
                        last.through.clone_from(&extent.through);
                    }
                    _ => rows.push(extent.clone()),
                }
            }
            if writer.bytes_written() >= self.cuts.flush_bytes {
                finish(&mut open, &mut rows)?;
            }
        }
        finish(&mut open, &mut rows)
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
