//! Major compaction and splitting of a table's tablets.

mod at_end;
mod background;
mod garbage;
mod job;
mod request;
mod split_first;
mod trial;
mod with_memory;

pub(in crate::table) use background::Pressing;
pub(in crate::table) use garbage::RewritePlan;
