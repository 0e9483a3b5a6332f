//! Tables: how Python opens, writes, scans and administers a store.

mod store;

pub(crate) use store::register;
