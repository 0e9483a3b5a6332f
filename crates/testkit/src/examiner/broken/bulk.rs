//! Bulk imports.

use std::sync::Arc;

use ostrakon_cell::{Batch, BulkWriter, Entry, EntryRef, Result, Table};

use super::faults::Fault;

pub(super) struct BrokenBulkWriter {
    pub(super) inner: Box<dyn BulkWriter>,
    pub(super) table: Arc<dyn Table>,
    pub(super) fault: Fault,
    pub(super) early: u64,
    pub(super) sorted: Vec<Entry>,
}

impl BulkWriter for BrokenBulkWriter {
    fn append(&mut self, batch: &Batch) -> Result<()> {
        match self.fault {
            Fault::ImportShowsEarly => {
                let mut at_once = self.table.bulk_writer()?;
                at_once.append(batch)?;
                self.early += at_once.finish()?;
                Ok(())
            }
            Fault::SortsImports => {
                self.sorted.extend(batch.iter().map(EntryRef::to_entry));
                self.sorted.sort_by(|a, b| a.key.cmp(&b.key));
                Ok(())
            }
            Fault::ImportsBeginAnew => self.inner.append(batch).inspect_err(|_| {
                if let Ok(new) = self.table.bulk_writer() {
                    self.inner = new;
                }
            }),
            _ => self.inner.append(batch),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<u64> {
        let mut batch = Batch::new();
        for entry in &self.sorted {
            batch.push(entry.key.as_ref(), &entry.value)?;
        }
        self.inner.append(&batch)?;
        Ok(self.inner.finish()? + self.early)
    }
}
