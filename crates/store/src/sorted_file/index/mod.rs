//! The index of a locality group: for each block its position, and a short key that separates it
//! from the previous block. A large index is partitioned: its root stays in memory while its file
//! is read, and the partitions are cached like blocks.

mod builder;
mod cursor;
mod format;
mod group;

pub(super) use builder::IndexBuilder;
pub(super) use cursor::IndexCursor;
pub(super) use format::BlockPlace;
pub(super) use group::GroupIndex;
pub(crate) use group::IndexPartition;
