//! fjall: a record is a value.

use ostrakon_cell::Result;
use ostrakon_lab::ycsb::Database;

use super::key_value::{KeyValue, RecordClient};
use super::{YcsbEngine, failed};
use crate::Outcome;
use crate::rivals::fjall::Fjall;

impl KeyValue for Fjall {
    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let value = self.entries.get(key).map_err(failed)?;
        Ok(value.map(|value| visit(&value)).is_some())
    }

    fn from(&self, start: &[u8], visit: &mut dyn FnMut(&[u8]) -> bool) -> Result<()> {
        for guard in self.entries.range(start..) {
            let (_key, value) = guard.into_inner().map_err(failed)?;
            if !visit(&value) {
                break;
            }
        }
        Ok(())
    }

    fn write(&self, records: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        let mut batch = self.database.batch();
        for (key, value) in records {
            batch.insert(&self.entries, key.as_slice(), value.as_slice());
        }
        let synced = batch.durability(Some(fjall::PersistMode::SyncData));
        synced.commit().map_err(failed)
    }
}

impl YcsbEngine for Fjall {
    fn client(&self) -> Result<Box<dyn Database + '_>> {
        Ok(Box::new(RecordClient::new(self)))
    }

    fn settle(&self) -> Outcome<()> {
        crate::rivals::Engine::settle(self)
    }
}
