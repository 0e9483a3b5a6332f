//! Tables: how Python opens, writes, scans and administers a store.

mod arguments;
mod batches;
mod bulk;
mod coded;
mod gate;
mod labels;
mod lent;
mod plain;
mod records;
mod register;
mod scan;
mod store;
mod table;
#[cfg(feature = "sql")]
mod typed;
mod writer;

pub(crate) use arguments::Text;
pub(crate) use gate::Gate;
pub(crate) use register::register;
pub(crate) use store::NativeStore;
