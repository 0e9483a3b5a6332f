//! Events: their types, ingest from log files, and queries.

mod files;
mod ingest;
mod question;
mod reading;
mod register;
mod rejects;
mod store;

pub(crate) use register::register;
