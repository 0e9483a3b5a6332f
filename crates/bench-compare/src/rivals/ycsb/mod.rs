//! The engines behind the interface of the lab's YCSB workloads.

mod fjall;
mod key_value;
#[cfg(feature = "rocksdb")]
mod rocksdb;
#[cfg(feature = "sqlite")]
mod sqlite;
mod table;

use ostrakon_cell::{Error, ErrorKind, Result};
use ostrakon_lab::ycsb::Database;

use super::engine::{EngineKind, Setting};
use crate::Outcome;

/// Records that a rival writes per sync in a load: 10,000 entries of ten fields.
pub(crate) const BATCH_RECORDS: usize = 1_000;

/// An open engine.
pub(crate) trait YcsbEngine: Sync {
    /// A client for one thread.
    fn client(&self) -> Result<Box<dyn Database + '_>>;

    /// Flushes memory, and compacts the files as far as the engine does.
    fn settle(&self) -> Outcome<()>;

    /// Ends. Everything that was acknowledged is there when it is opened again.
    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}

/// Opens an engine, and creates it if it does not exist.
pub(crate) fn open_ycsb(kind: EngineKind, setting: &Setting) -> Outcome<Box<dyn YcsbEngine>> {
    Ok(match kind {
        EngineKind::Ostrakon => Box::new(table::OstrakonTable::open(setting)?),
        EngineKind::Fjall => Box::new(super::fjall::Fjall::open(setting)?),
        #[cfg(feature = "rocksdb")]
        EngineKind::Rocksdb => Box::new(super::rocksdb::RocksDb::open(setting)?),
        #[cfg(feature = "sqlite")]
        EngineKind::Sqlite => Box::new(sqlite::Sqlite::open(setting)?),
        other => {
            return Err(format!("{} has no YCSB client", other.title()).into());
        }
    })
}

/// An error of an engine, as the lab reports it.
pub(super) fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Io, "the engine failed").with_source(error)
}
