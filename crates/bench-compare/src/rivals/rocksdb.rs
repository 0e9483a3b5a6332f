//! RocksDB, in two configurations: the default, and the fastest for loading.

use ostrakon_cell::ColumnUpdate;
use rocksdb::{
    BlockBasedOptions, BottommostLevelCompaction, Cache, ColumnFamilyDescriptor, CompactOptions,
    DB, DBCompressionType, MemtableFactory, Options, WaitForCompactOptions, WriteBatch,
    WriteOptions,
};

use super::engine::{BATCH_ENTRIES, Engine, Scanned, Setting, Writer};
use crate::Outcome;
use crate::workload::{KeyParts, join_key};

const FAMILY: &str = "default";

/// A database with the default column family.
pub(super) struct RocksDb {
    pub(super) database: DB,
}

impl RocksDb {
    /// The default configuration.
    pub(super) fn open(setting: &Setting) -> Outcome<Self> {
        Self::open_with(Options::default(), setting)
    }

    /// A memtable that only appends and sorts when it is flushed. It takes one writer at a time and
    /// reads slowly until then.
    pub(super) fn open_for_loading(setting: &Setting) -> Outcome<Self> {
        let mut options = Options::default();
        options.set_memtable_factory(MemtableFactory::Vector);
        options.set_allow_concurrent_memtable_write(false);
        options.prepare_for_bulk_load();
        Self::open_with(options, setting)
    }

    fn open_with(mut options: Options, setting: &Setting) -> Outcome<Self> {
        let cache = Cache::new_lru_cache(usize::try_from(setting.store.cache_bytes())?);
        let mut blocks = BlockBasedOptions::default();
        blocks.set_block_cache(&cache);
        options.set_block_based_table_factory(&blocks);
        options.set_compression_type(DBCompressionType::Lz4);
        options.create_if_missing(true);
        // Opened by name, because only such a family supports reading many keys in one call.
        let family = ColumnFamilyDescriptor::new(FAMILY, options.clone());
        Ok(Self {
            database: DB::open_cf_descriptors(&options, &setting.dir, [family])?,
        })
    }
}

impl Engine for RocksDb {
    fn writer(&self) -> Outcome<Box<dyn Writer + '_>> {
        let mut options = WriteOptions::default();
        options.set_sync(true);
        Ok(Box::new(RocksWriter {
            database: &self.database,
            options,
            batch: WriteBatch::default(),
            key: Vec::new(),
        }))
    }

    fn settle(&self) -> Outcome<()> {
        self.database.flush()?;
        let mut options = CompactOptions::default();
        options.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
        let everything: Option<&[u8]> = None;
        self.database
            .compact_range_opt(everything, everything, &options);
        Ok(self
            .database
            .wait_for_compact(&WaitForCompactOptions::default())?)
    }

    fn file_bytes(&self) -> Outcome<u64> {
        let bytes = self
            .database
            .property_int_value("rocksdb.live-sst-files-size")?;
        bytes.ok_or_else(|| "RocksDB does not know the size of its files".into())
    }

    fn scan(&self) -> Outcome<Scanned> {
        let mut scanned = Scanned::default();
        let mut entries = self.database.raw_iterator();
        entries.seek_to_first();
        while let Some((_key, value)) = entries.item() {
            scanned.entries += 1;
            scanned.value_bytes += value.len() as u64;
            entries.next();
        }
        entries.status()?;
        Ok(scanned)
    }

    fn look_up(&self, keys: &[KeyParts]) -> Outcome<u64> {
        let (mut joined, mut found) = (Vec::new(), 0);
        for key in keys {
            join_key(&mut joined, &key.row, &key.family, &key.qualifier);
            found += u64::from(self.database.get_pinned(&joined)?.is_some());
        }
        Ok(found)
    }

    fn look_up_together(&self, keys: &[KeyParts]) -> Outcome<u64> {
        let family = self
            .database
            .cf_handle(FAMILY)
            .ok_or("RocksDB has no default column family")?;
        let join = |key: &KeyParts| {
            let mut joined = Vec::new();
            join_key(&mut joined, &key.row, &key.family, &key.qualifier);
            joined
        };
        let joined: Vec<Vec<u8>> = keys.iter().map(join).collect();
        let mut found = 0;
        for value in self.database.batched_multi_get_cf(family, &joined, false) {
            found += u64::from(value?.is_some());
        }
        Ok(found)
    }
}

struct RocksWriter<'a> {
    database: &'a DB,
    options: WriteOptions,
    batch: WriteBatch,
    key: Vec<u8>,
}

impl Writer for RocksWriter<'_> {
    fn put(&mut self, row: &[u8], update: ColumnUpdate<'_>) -> Outcome<()> {
        join_key(&mut self.key, row, update.family, update.qualifier);
        let value = update.value.unwrap_or_default();
        self.batch.put(&self.key, value);
        if self.batch.len() >= BATCH_ENTRIES {
            self.finish()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Outcome<()> {
        let batch = std::mem::take(&mut self.batch);
        Ok(self.database.write_opt(batch, &self.options)?)
    }
}
