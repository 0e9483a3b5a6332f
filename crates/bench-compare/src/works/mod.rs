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
mod ycsb;

pub(crate) use dispatch::run;
pub(crate) use ingest::SPLITS;
pub(crate) use machine::touched_bytes;
pub(crate) use measuring::median;
pub(crate) use ycsb::{READS, store_options};
