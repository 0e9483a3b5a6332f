//! One table: routes reads and writes to its memtables and tablets.

mod admin;
mod bulk;
mod compacting;
mod conditional;
mod context;
mod core;
mod flush_turn;
mod flushing;
mod import;
mod parallel;
mod pressure;
mod ranges;
mod scan;
mod time;
mod write;

pub(crate) use self::core::TableCore;
pub(crate) use admin::TableHandle;
pub(crate) use context::{Health, StoreContext, Wakeups};
pub(crate) use pressure::Pressure;
pub(crate) use write::LoggedCommit;
