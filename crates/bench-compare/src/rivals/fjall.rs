//! fjall: a log-structured merge tree in Rust.

use std::time::Duration;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use ostrakon_cell::ColumnUpdate;

use super::engine::{BATCH_ENTRIES, Engine, Scanned, Setting, Writer};
use crate::Outcome;
use crate::workload::{KeyParts, join_key};

/// A database with one keyspace.
pub(super) struct Fjall {
    pub(super) database: Database,
    pub(super) entries: Keyspace,
}

impl Fjall {
    pub(super) fn open(setting: &Setting) -> Outcome<Self> {
        let database = Database::builder(&setting.dir)
            .cache_size(setting.store.cache_bytes())
            .open()?;
        let entries = database.keyspace("ci", KeyspaceCreateOptions::default)?;
        Ok(Self { database, entries })
    }
}

impl Engine for Fjall {
    fn writer(&self) -> Outcome<Box<dyn Writer + '_>> {
        Ok(Box::new(FjallWriter {
            engine: self,
            batch: self.database.batch(),
            key: Vec::new(),
        }))
    }

    fn settle(&self) -> Outcome<()> {
        self.entries.rotate_memtable_and_wait()?;
        self.entries.major_compact()?;
        while self.database.active_compactions() > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn file_bytes(&self) -> Outcome<u64> {
        Ok(self.entries.disk_space())
    }

    fn scan(&self) -> Outcome<Scanned> {
        let mut scanned = Scanned::default();
        for guard in self.entries.iter() {
            let (_key, value) = guard.into_inner()?;
            scanned.entries += 1;
            scanned.value_bytes += value.len() as u64;
        }
        Ok(scanned)
    }

    fn look_up(&self, keys: &[KeyParts]) -> Outcome<u64> {
        let (mut joined, mut found) = (Vec::new(), 0);
        for key in keys {
            join_key(&mut joined, &key.row, &key.family, &key.qualifier);
            found += u64::from(self.entries.get(&joined)?.is_some());
        }
        Ok(found)
    }

    /// fjall has no call for many keys.
    fn look_up_together(&self, keys: &[KeyParts]) -> Outcome<u64> {
        self.look_up(keys)
    }
}

struct FjallWriter<'a> {
    engine: &'a Fjall,
    batch: fjall::OwnedWriteBatch,
    key: Vec<u8>,
}

impl Writer for FjallWriter<'_> {
    fn put(&mut self, row: &[u8], update: ColumnUpdate<'_>) -> Outcome<()> {
        join_key(&mut self.key, row, update.family, update.qualifier);
        let value = update.value.unwrap_or_default();
        self.batch
            .insert(&self.engine.entries, self.key.as_slice(), value);
        if self.batch.len() >= BATCH_ENTRIES {
            self.finish()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Outcome<()> {
        let next = self.engine.database.batch();
        let batch = std::mem::replace(&mut self.batch, next);
        Ok(batch.durability(Some(PersistMode::SyncData)).commit()?)
    }
}
