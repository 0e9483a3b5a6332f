//! Bulk import: sorted entries become table files and one catalog transaction, without the log.

use std::sync::Arc;

use ostrakon_cell::{Batch, BulkWriter, IteratorScope, Key};

use super::core::TableCore;
use crate::catalog::{AgeRange, FileId, FileRecord};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::sorted_file::SortedFileWriter;
use crate::tablet::{file_record, writer_options};

/// The state of one import.
pub(super) struct BulkImport {
    table: Arc<TableCore>,
    open: Option<(FileId, SortedFileWriter)>,
    finished: Vec<FileRecord>,
    last: Option<Key>,
    /// The greatest timestamp.
    newest: i64,
    entries: u64,
    /// Whether an append failed: a part of what was appended may be missing.
    failed: bool,
    published: bool,
}

impl BulkImport {
    pub(super) fn new(table: Arc<TableCore>) -> StoreResult<Self> {
        table.check_online()?;
        table.context.health.check_writable()?;
        Ok(Self {
            table,
            open: None,
            finished: Vec::new(),
            last: None,
            newest: i64::MIN,
            entries: 0,
            failed: false,
            published: false,
        })
    }

    fn close_file(&mut self) -> StoreResult<()> {
        if let Some((id, writer)) = self.open.take() {
            let now = self.table.context.clock.now_millis();
            // The age is set when the import is published.
            let age = AgeRange::default();
            self.finished
                .push(file_record(id, writer.finish()?, 0, age, now));
        }
        Ok(())
    }

    fn check_complete(&self) -> StoreResult<()> {
        match self.failed {
            true => Err(Error::new(
                ErrorKind::Closed,
                "this bulk import failed before: drop its writer, and import everything again with a new one",
            )),
            false => Ok(()),
        }
    }

    fn write(&mut self, batch: &Batch) -> StoreResult<()> {
        self.table.check_entry_labels(batch)?;
        let longest = self.table.context.options.file_cuts.import_bytes;
        let mut begin = 0;
        for at in 0..batch.len() {
            let key = batch.key(at);
            self.newest = self.newest.max(key.timestamp);
            let unsorted = match at.checked_sub(1) {
                Some(before) => batch.key(before) > key,
                None => self.last.as_ref().is_some_and(|last| last.as_ref() > key),
            };
            if unsorted {
                return Err(Error::invalid(
                    "bulk imports take sorted entries, and this one lies before the last; sort \
                     them, or write them with a batch writer",
                )
                .with("row", ostrakon_cell::Escaped(key.row)));
            }
            let new_row = at > begin && batch.row(at - 1) != key.row;
            let full = self
                .open
                .as_ref()
                .is_some_and(|(_, file)| file.bytes_written() > longest);
            if new_row && full {
                if let Some((_, writer)) = &mut self.open {
                    writer.append(batch, begin..at)?;
                }
                begin = at;
                self.close_file()?;
            }
            if self.open.is_none() {
                let context = &self.table.context;
                let id = context.catalog.new_file_id();
                let options = writer_options(&self.table.config(), IteratorScope::Majc);
                let options = options.written_as(id, self.table.id);
                let path = context.files.path(id);
                self.open = Some((id, SortedFileWriter::create(&context.vfs, &path, options)?));
            }
        }
        if let Some((_, writer)) = &mut self.open {
            writer.append(batch, begin..batch.len())?;
        }
        self.entries += batch.len() as u64;
        if let Some(last) = batch.len().checked_sub(1) {
            self.last.get_or_insert_default().set(batch.key(last));
        }
        Ok(())
    }
}

impl BulkWriter for BulkImport {
    fn append(&mut self, batch: &Batch) -> StoreResult<()> {
        self.check_complete()?;
        // A panic ends in an error for the caller, too.
        self.failed = true;
        self.write(batch)?;
        self.failed = false;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> StoreResult<u64> {
        self.check_complete()?;
        self.close_file()?;
        self.table.publish_import(&mut self.finished, self.newest)?;
        self.published = true;
        Ok(self.entries)
    }
}

impl Drop for BulkImport {
    fn drop(&mut self) {
        // A forked child inherits the import, which is its parent's.
        if !self.published && self.table.context.health.check_process().is_ok() {
            self.open = None;
            let ids: Vec<FileId> = self.finished.iter().map(|file| file.id).collect();
            self.table.context.discard(&ids);
        }
    }
}
