//! What every engine must do, and how one is opened.

use std::path::PathBuf;

use clap::ValueEnum;
use ostrakon_cell::ColumnUpdate;
use ostrakon_store::StoreOptions;
use serde::{Deserialize, Serialize};

use super::fjall::Fjall;
use super::ostrakon::Ostrakon;
use crate::Outcome;
use crate::workload::KeyParts;

/// Entries that a rival writes per sync. Ostrakon's batch writer submits 1 MiB, which is about as many.
pub(crate) const BATCH_ENTRIES: usize = 10_000;

/// An engine in one configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EngineKind {
    /// Ours.
    Ostrakon,
    /// fjall 3 in its default configuration.
    Fjall,
    /// RocksDB in its default configuration.
    Rocksdb,
    /// RocksDB with its options for loading: the vector memtable, and no automatic compaction.
    RocksdbVector,
    /// SQLite with a write-ahead log.
    Sqlite,
}

impl EngineKind {
    /// The engines of this build.
    pub(crate) fn compiled() -> impl Iterator<Item = Self> {
        let all = Self::value_variants().iter().copied();
        all.filter(|kind| match kind {
            Self::Ostrakon | Self::Fjall => true,
            Self::Rocksdb | Self::RocksdbVector => cfg!(feature = "rocksdb"),
            Self::Sqlite => cfg!(feature = "sqlite"),
        })
    }

    /// Whether the engine does the workloads of YCSB, or else the others.
    pub(crate) fn takes_part(self, ycsb: bool) -> bool {
        match self {
            Self::Ostrakon | Self::Fjall | Self::Rocksdb => true,
            Self::RocksdbVector => !ycsb,
            Self::Sqlite => ycsb,
        }
    }

    /// The name in tables.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Ostrakon => "Ostrakon",
            Self::Fjall => "fjall",
            Self::Rocksdb => "RocksDB",
            Self::RocksdbVector => "RocksDB vector",
            Self::Sqlite => "SQLite",
        }
    }

    /// How it differs from its default configuration.
    pub(crate) fn configuration(self) -> &'static str {
        match self {
            Self::Ostrakon => {
                "table defaults: LZ4, versioning iterator on, visibility checked, a timestamp and a \
                 label kept with each entry; batch writer of 1 MiB with several batches under way"
            }
            Self::Fjall => {
                "defaults (LZ4 below the upper levels); one batch at a time for each thread, \
                 committed with fdatasync"
            }
            Self::Rocksdb => {
                "defaults (skip list, leveled compaction, no filters), and LZ4; one WriteBatch at a \
                 time for each thread, written with sync"
            }
            Self::RocksdbVector => {
                "vector memtable, prepared for bulk load (compacts only when told to), and LZ4; \
                 writes as RocksDB's"
            }
            Self::Sqlite => {
                "a table with a key and a record; write-ahead log, synchronous = FULL, a connection and a cache for each \
                 client; one transaction at a time"
            }
        }
    }
}

/// How an engine is opened.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setting {
    pub(crate) dir: PathBuf,
    /// Ostrakon's options. Rivals take the size of the block cache from here and nothing else.
    pub(crate) store: StoreOptions,
    /// Split points of Ostrakon's table when it is created. Rivals have no tablets.
    pub(crate) splits: usize,
    /// Properties of Ostrakon's table when it is created.
    pub(crate) properties: Vec<(String, String)>,
    /// Maximum number of unacknowledged bytes of one of Ostrakon's batch writers; the default if `None`.
    pub(crate) writer_bytes: Option<usize>,
}

/// What a scan returned. Lengths of keys are summed over their parts, so that engines must agree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Scanned {
    pub(crate) entries: u64,
    /// Bytes of values.
    pub(crate) value_bytes: u64,
}

/// The writer of one thread.
pub(crate) trait Writer {
    /// Adds an entry; a full batch is submitted to the engine.
    fn put(&mut self, row: &[u8], update: ColumnUpdate<'_>) -> Outcome<()>;

    /// Returns when everything is durable.
    fn finish(&mut self) -> Outcome<()>;
}

/// An open engine.
pub(crate) trait Engine: Sync {
    /// A writer for one thread.
    fn writer(&self) -> Outcome<Box<dyn Writer + '_>>;

    /// Flushes memory, and compacts the files as far as the engine does.
    fn settle(&self) -> Outcome<()>;

    /// Bytes of the files that hold the entries, logs left out.
    fn file_bytes(&self) -> Outcome<u64>;

    /// Reads every entry in order, on one thread.
    fn scan(&self) -> Outcome<Scanned>;

    /// Point reads, one per call, on one thread; returns how many keys were found.
    fn look_up(&self, keys: &[KeyParts]) -> Outcome<u64>;

    /// Point reads in one call, in the way that is best for the engine; returns how many keys were found.
    fn look_up_together(&self, keys: &[KeyParts]) -> Outcome<u64>;
}

/// Opens an engine, and creates it if it does not exist.
pub(crate) fn open(kind: EngineKind, setting: &Setting) -> Outcome<Box<dyn Engine>> {
    Ok(match kind {
        EngineKind::Ostrakon => Box::new(Ostrakon::open(setting)?),
        EngineKind::Fjall => Box::new(Fjall::open(setting)?),
        #[cfg(feature = "rocksdb")]
        EngineKind::Rocksdb => Box::new(super::rocksdb::RocksDb::open(setting)?),
        #[cfg(feature = "rocksdb")]
        EngineKind::RocksdbVector => Box::new(super::rocksdb::RocksDb::open_for_loading(setting)?),
        #[cfg(not(feature = "rocksdb"))]
        EngineKind::Rocksdb | EngineKind::RocksdbVector => {
            return Err("RocksDB is not in this build; `make bench-compare` puts it in".into());
        }
        EngineKind::Sqlite => return Err("SQLite does the workloads of YCSB only".into()),
    })
}
