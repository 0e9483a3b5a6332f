//! Major compaction and splitting of a table's tablets.

mod at_end;
mod background;
mod job;
mod request;
mod split_first;
mod trial;
mod with_memory;
