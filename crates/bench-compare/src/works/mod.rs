//! The workloads, as run by a child process.

mod dispatch;
mod first_reads;
mod ingest;
mod machine;
mod measuring;
mod memory;
mod read;
mod replay;
mod unmerged;
mod visibility;

pub(crate) use dispatch::run;
pub(crate) use ingest::SPLITS;
pub(crate) use machine::touched_bytes;
pub(crate) use measuring::median;
