//! The engines, each behind the same small trait.

mod engine;
mod fjall;
mod ostrakon;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod ycsb;

pub(crate) use engine::{BATCH_ENTRIES, Engine, EngineKind, Scanned, Setting, open};
pub(crate) use ostrakon::Ostrakon;
pub(crate) use ycsb::{BATCH_RECORDS, YcsbEngine, open_ycsb};
