//! Ostrakon: each field is an entry of its own.

use std::sync::Arc;

use ostrakon_cell::{CompactOptions, Durability, ErrorKind, Result, Source, Table, TableOptions};
use ostrakon_lab::ycsb::{Database, TableAccess, TableClient, Writes};
use ostrakon_store::{Store, StoreOptions};

use super::super::engine::Setting;
use super::YcsbEngine;
use crate::Outcome;

const TABLE: &str = "usertable";

/// A store with one table.
pub(super) struct OstrakonTable {
    store: Arc<Store>,
    table: Arc<dyn Table>,
}

impl OstrakonTable {
    pub(super) fn open(setting: &Setting) -> Outcome<Self> {
        // As the program does.
        let options = StoreOptions {
            lend_unused: ostrakon_allocator::GIVES_BACK,
            ..setting.store.clone()
        };
        let store = Store::open(&setting.dir, options)?;
        let splits = setting.splits;
        let split = |at: usize| format!("user{}", 1000 + 8223 * at / (splits + 1)).into_bytes();
        let options = TableOptions {
            splits: (1..=splits).map(split).collect(),
            ..TableOptions::default()
        };
        match store.create_table(TABLE, &options) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error.into()),
            _ => {}
        }
        let table = store.table(TABLE)?;
        Ok(Self { store, table })
    }
}

impl YcsbEngine for OstrakonTable {
    fn client(&self) -> Result<Box<dyn Database + '_>> {
        let access = TableAccess {
            writes: Writes::Buffered,
            durability: Some(Durability::Sync),
            ..TableAccess::default()
        };
        Ok(Box::new(TableClient::new(Arc::clone(&self.table), access)))
    }

    fn settle(&self) -> Outcome<()> {
        // Flushes too.
        Ok(self.table.compact(&CompactOptions::default())?)
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(self.store.close()?)
    }
}
