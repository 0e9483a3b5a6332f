//! Ostrakon, through its public API.

use std::sync::Arc;

use ostrakon_cell::{
    Authorizations, Batch, BatchWriter, BatchWriterConfig, ColumnUpdate, CompactOptions,
    Durability, ErrorKind, Range, ScanOptions, Source, Table, TableOptions,
};
use ostrakon_lab::continuous::{RowRange, even_splits};
use ostrakon_store::{Store, StoreOptions};

use super::engine::{Engine, Scanned, Setting, Writer};
use crate::Outcome;
use crate::workload::KeyParts;

const TABLE: &str = "ci";

/// A store with one table.
pub(crate) struct Ostrakon {
    pub(crate) store: Arc<Store>,
    pub(crate) table: Arc<dyn Table>,
    writer: BatchWriterConfig,
}

impl Ostrakon {
    pub(crate) fn open(setting: &Setting) -> Outcome<Self> {
        // As the program does.
        let options = StoreOptions {
            lend_unused: ostrakon_allocator::GIVES_BACK,
            ..setting.store.clone()
        };
        let store = Store::open(&setting.dir, options)?;
        let table = match store.table(TABLE) {
            Err(error) if error.kind() == ErrorKind::TableNotFound => {
                let options = TableOptions {
                    splits: even_splits(RowRange::default(), setting.splits),
                    properties: setting.properties.iter().cloned().collect(),
                    ..TableOptions::default()
                };
                store.create_table(TABLE, &options)?;
                store.table(TABLE)?
            }
            table => table?,
        };
        let defaults = BatchWriterConfig::default();
        let writer = BatchWriterConfig {
            max_memory: setting.writer_bytes.unwrap_or(defaults.max_memory),
            durability: Some(Durability::Sync),
            ..defaults
        };
        Ok(Self {
            store,
            table,
            writer,
        })
    }

    /// Reads every entry that the authorizations allow.
    pub(crate) fn scan_with(&self, authorizations: Authorizations) -> Outcome<Scanned> {
        let options = ScanOptions {
            authorizations,
            ..ScanOptions::default()
        };
        let mut scan = self.table.scan(&[Range::all()], &options)?;
        let (mut batch, mut scanned) = (Batch::new(), Scanned::default());
        while scan.next_batch(&mut batch)? {
            for entry in batch.iter() {
                scanned.entries += 1;
                scanned.value_bytes += entry.value.len() as u64;
            }
        }
        Ok(scanned)
    }
}

impl Engine for Ostrakon {
    fn writer(&self) -> Outcome<Box<dyn Writer + '_>> {
        let writer = BatchWriter::new(Arc::clone(&self.table), self.writer.clone());
        Ok(Box::new(OstrakonWriter(writer)))
    }

    fn settle(&self) -> Outcome<()> {
        // Flushes too.
        Ok(self.table.compact(&CompactOptions::default())?)
    }

    fn file_bytes(&self) -> Outcome<u64> {
        Ok(self.store.metrics().file_bytes)
    }

    fn scan(&self) -> Outcome<Scanned> {
        self.scan_with(Authorizations::default())
    }

    fn look_up(&self, keys: &[KeyParts]) -> Outcome<u64> {
        let mut scan = self
            .table
            .scan(&[Range::row("")], &ScanOptions::default())?;
        let (mut batch, mut found) = (Batch::new(), 0);
        for key in keys {
            scan.restart(&[Range::row(key.row)])?;
            while scan.next_batch(&mut batch)? {
                found += batch.len() as u64;
            }
        }
        Ok(found)
    }

    fn look_up_together(&self, keys: &[KeyParts]) -> Outcome<u64> {
        let ranges: Vec<Range> = keys.iter().map(|key| Range::row(key.row)).collect();
        let options = ScanOptions {
            ordered: false,
            ..ScanOptions::default()
        };
        let mut scan = self.table.scan(&ranges, &options)?;
        let (mut batch, mut found) = (Batch::new(), 0);
        while scan.next_batch(&mut batch)? {
            found += batch.len() as u64;
        }
        Ok(found)
    }
}

struct OstrakonWriter(BatchWriter);

impl Writer for OstrakonWriter {
    #[inline]
    fn put(&mut self, row: &[u8], update: ColumnUpdate<'_>) -> Outcome<()> {
        Ok(self.0.put(row, update)?)
    }

    fn finish(&mut self) -> Outcome<()> {
        Ok(self.0.flush()?)
    }
}
