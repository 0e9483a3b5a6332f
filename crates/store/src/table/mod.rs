//! One table: routes reads and writes to its memtables and tablets.

mod admin;
mod bulk;
mod compacting;
mod conditional;
mod context;
mod core;
mod flushing;
mod parallel;
mod pressure;
mod scan;
mod time;
mod write;

pub use self::core::TableCore;
pub(crate) use admin::TableHandle;
pub use context::{Health, StoreContext, Wakeups};
pub use pressure::Pressure;
pub use write::LoggedCommit;
