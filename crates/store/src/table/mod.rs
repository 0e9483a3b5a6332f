//! One table: routes reads and writes to its memtables and tablets.

mod admin;
mod attention;
mod bounded;
mod bulk;
mod caller;
mod compacting;
mod conditional;
mod context;
mod core;
mod flush_turn;
mod flushing;
mod import;
mod inherited;
mod labels;
mod properties;
mod reading;
mod running;
mod time;
mod trouble;
mod write;

pub(crate) use self::core::TableCore;
pub(crate) use admin::{TableHandle, capabilities};
pub(crate) use attention::Attention;
pub(crate) use bounded::{GRACE, LONGEST, LOOK, PATIENCE, looks};
pub(crate) use caller::Caller;
pub(crate) use context::StoreContext;
pub(crate) use inherited::{Inherited, is_of_tables};
pub(crate) use properties::{changed, refuse_version};
pub(crate) use running::{Running, Watch, Work};
