//! Tables: how Python opens, writes, scans and administers a store.

mod arguments;
mod batches;
mod bulk;
mod gate;
mod register;
mod scan;
mod store;
mod table;
mod writer;

pub(crate) use arguments::Text;
pub(crate) use register::register;
pub(crate) use store::NativeStore;
