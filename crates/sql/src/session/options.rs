//! Settings of a session, as plain data.

use std::path::PathBuf;

/// Settings of a session.
#[derive(Debug, Clone)]
pub struct SqlOptions {
    /// The most bytes that sorting, joining and grouping hold in memory, over all queries of the session. What is
    /// more goes to temporary files, or fails where that is not possible. Default: 256 MiB.
    pub memory_bytes: usize,
    /// Threads of a query, and the most partitions in which a table is read. Default: those of the machine.
    pub threads: usize,
    /// Whether the reader may see into how many parts tables are divided, which tells how much is hidden: the store's owner
    /// may. Large tables are read by several threads only then. Default: no.
    pub sees_layout: bool,
    /// Where temporary files go, which hold cells. Default: a [`SpillDirectory`](crate::SpillDirectory) of the process,
    /// which only this user can read.
    pub temporary: Option<PathBuf>,
    /// Whether statements may read files of the local disk by their path. Default: no.
    pub files: bool,
    /// The label of records that are written without one, until `SET label` changes it. Default: none.
    pub label: Vec<u8>,
}

impl Default for SqlOptions {
    fn default() -> Self {
        Self {
            memory_bytes: 256 << 20,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            sees_layout: false,
            temporary: None,
            files: false,
            label: Vec::new(),
        }
    }
}
