//! Flush (minor compaction): a memtable becomes sorted files.

use ostrakon_cell::{IteratorScope, Range};

use super::files::FileRegistry;
use super::layout::Layout;
use super::sources::{Stacker, writer_options};
use crate::catalog::{Catalog, FileId, FileRecord};
use crate::compaction::{Cancel, rewrite};
use crate::error::StoreResult;
use crate::memtable::{MemtableIterator, MemtableSnapshot};
use crate::sorted_file::{FileSummary, SortedFileWriter};

/// Files are cut at a tablet's end once they hold this much: a table of a thousand small tablets is
/// not flushed to a thousand small files, and neighbours share one instead.
const SHARED_FILE_BYTES: u64 = 8 << 20;

/// Writes `memtable` to files, one for each tablet of `layout` or for several small neighbours.
/// `sequence` is that of the memtable's last batch.
///
/// # Errors
/// Those of the disk; then no file is left behind.
pub fn flush(
    memtable: &MemtableSnapshot,
    layout: &Layout,
    sequence: u64,
    catalog: &Catalog,
    registry: &FileRegistry,
    stacker: &Stacker,
) -> StoreResult<Vec<FileRecord>> {
    let mut files = Vec::new();
    let written = flush_into(
        &mut files, memtable, layout, sequence, catalog, registry, stacker,
    );
    if written.is_err() {
        registry.retire(
            &files
                .iter()
                .map(|file: &FileRecord| file.id)
                .collect::<Vec<_>>(),
        );
    }
    written.map(|()| files)
}

fn flush_into(
    files: &mut Vec<FileRecord>,
    memtable: &MemtableSnapshot,
    layout: &Layout,
    sequence: u64,
    catalog: &Catalog,
    registry: &FileRegistry,
    stacker: &Stacker,
) -> StoreResult<()> {
    let options = writer_options(&stacker.config, IteratorScope::Minc);
    let source = Box::new(MemtableIterator::new(memtable.clone()));
    let mut stack = stacker.minc(vec![source])?;
    let mut open: Option<(FileId, SortedFileWriter)> = None;
    let mut finish = |open: &mut Option<(FileId, SortedFileWriter)>| {
        let Some((id, writer)) = open.take() else {
            return Ok(());
        };
        if writer.entries() > 0 {
            let summary = writer.finish()?;
            files.push(file_record(id, summary, 0, sequence, stacker.now_millis));
        }
        StoreResult::Ok(())
    };
    for tablet in layout.tablets() {
        let (_, writer) = match &mut open {
            Some(open) => open,
            None => {
                let id = catalog.new_file_id();
                let path = registry.path(id);
                let writer = SortedFileWriter::create(registry.vfs(), &path, options.clone())?;
                open.insert((id, writer))
            }
        };
        let extent = &tablet.extent;
        let range = Range::tablet(extent.after.as_deref(), extent.through.as_deref());
        rewrite(&mut stack, &range, writer, &Cancel::default())?;
        if writer.bytes_written() >= SHARED_FILE_BYTES {
            finish(&mut open)?;
        }
    }
    finish(&mut open)
}

/// The catalog's record of a finished file.
#[must_use]
pub fn file_record(
    id: FileId,
    summary: FileSummary,
    generation: u32,
    sequence: u64,
    created_millis: i64,
) -> FileRecord {
    FileRecord {
        id,
        bytes: summary.bytes,
        entries: summary.entries,
        deletes: summary.deletes,
        first_row: summary.first_row,
        last_row: summary.last_row,
        generation,
        sequence,
        created_millis,
    }
}
