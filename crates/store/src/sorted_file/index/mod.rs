//! The index of a locality group: for each block where it lies and a short key that separates it from the one before.
//! A large one is partitioned: its root is always in memory while its file is read, the partitions come and go as blocks do.

mod builder;
mod cursor;
mod format;
mod group;

pub(super) use builder::IndexBuilder;
pub(super) use cursor::IndexCursor;
pub(super) use format::BlockPlace;
pub(super) use group::GroupIndex;
pub(crate) use group::IndexPartition;
