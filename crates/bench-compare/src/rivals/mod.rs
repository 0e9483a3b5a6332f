//! The engines, each behind the same small trait.

mod engine;
mod fjall;
mod ostrakon;
#[cfg(feature = "rocksdb")]
mod rocksdb;

pub(crate) use engine::{BATCH_ENTRIES, Engine, EngineKind, Scanned, Setting, open};
pub(crate) use ostrakon::Ostrakon;
