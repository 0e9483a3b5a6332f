//! RocksDB: a record is a value.

use ostrakon_cell::Result;
use ostrakon_lab::ycsb::Database;
use rocksdb::{WriteBatch, WriteOptions};

use super::key_value::{KeyValue, RecordClient};
use super::{YcsbEngine, failed};
use crate::Outcome;
use crate::rivals::rocksdb::RocksDb;

impl KeyValue for RocksDb {
    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let value = self.database.get_pinned(key).map_err(failed)?;
        Ok(value.map(|value| visit(&value)).is_some())
    }

    fn from(&self, start: &[u8], visit: &mut dyn FnMut(&[u8]) -> bool) -> Result<()> {
        let mut records = self.database.raw_iterator();
        records.seek(start);
        while let Some((_key, value)) = records.item() {
            if !visit(value) {
                break;
            }
            records.next();
        }
        records.status().map_err(failed)
    }

    fn write(&self, records: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        let mut batch = WriteBatch::default();
        for (key, value) in records {
            batch.put(key, value);
        }
        let mut options = WriteOptions::default();
        options.set_sync(true);
        self.database.write_opt(batch, &options).map_err(failed)
    }
}

impl YcsbEngine for RocksDb {
    fn client(&self) -> Result<Box<dyn Database + '_>> {
        Ok(Box::new(RecordClient::new(self)))
    }

    fn settle(&self) -> Outcome<()> {
        crate::rivals::Engine::settle(self)
    }
}
