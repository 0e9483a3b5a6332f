//! Settings of a store: plain numbers. What does work (disk, clock, iterator classes) is handed over
//! as [`Components`](crate::Components).

use crate::vfs::machine_memory_bytes;

/// How a store is opened. Properties of tables are set on the tables, by Accumulo's names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreOptions {
    /// Memory the store may hold, in bytes: memtables take up to six tenths, caches a quarter (and
    /// more with [`lend_unused`](Self::lend_unused)), the rest is for compactions and scans. More
    /// means fewer, larger files and less compaction. Default: a quarter of the machine's memory, at
    /// least 64 MiB and at most 4 GiB.
    pub memory_budget_bytes: u64,
    /// Makes the directory a store when it is empty or absent. Default: yes.
    pub create: bool,
    /// Accepts no writes and changes nothing on the disk. Damaged logs are read as far as they go.
    /// Default: no.
    pub read_only: bool,
    /// Lets the block cache use what memtables leave of their six tenths. A writer takes it back at
    /// once; three seconds after the last write it is lent again. Blocks that leave the cache leave
    /// holes of some 32 KiB, so this is only for processes whose allocator gives such memory back to
    /// the system soon, as `ostrakon-allocator` does: with glibc's, which does not, what was lent
    /// stays resident beside full memtables. Without effect where `background` is off. Default: no.
    pub lend_unused: bool,
    /// Compactions that may run at once. Default: the number of cores, at most 4.
    pub compaction_threads: usize,
    /// Runs flushes, compactions and splits by itself. Tests turn it off to decide the moment.
    /// Default: yes.
    pub background: bool,
    /// Bytes of a log segment before the next begins; at most an eighth of the memory budget, since
    /// recovery reads a segment at once. Default: 256 MiB. Smaller ones are freed sooner after a
    /// flush.
    pub wal_segment_bytes: u64,
    /// Table files kept open. Default: 512. Above it the least used are closed and reopened.
    pub max_open_files: usize,
}

impl Default for StoreOptions {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            memory_budget_bytes: default_memory_budget(),
            create: true,
            read_only: false,
            lend_unused: false,
            compaction_threads: cores.min(4),
            background: true,
            wal_segment_bytes: 256 << 20,
            max_open_files: 512,
        }
    }
}

impl StoreOptions {
    /// Bytes all memtables may hold together.
    #[must_use]
    pub fn memtable_bytes(&self) -> u64 {
        self.memory_budget_bytes * 6 / 10
    }

    /// Bytes of one memtable after which it is flushed: several fit, so that writing goes on
    /// meanwhile.
    #[must_use]
    pub fn flush_bytes(&self) -> u64 {
        self.memtable_bytes() * 3 / 10
    }

    /// Bytes of a log segment before the next begins.
    #[must_use]
    pub fn segment_bytes(&self) -> u64 {
        self.wal_segment_bytes.min(self.memory_budget_bytes / 8)
    }

    /// Bytes the block and index caches may hold, beside what is lent to them.
    #[must_use]
    pub fn cache_bytes(&self) -> u64 {
        self.memory_budget_bytes / 4
    }
}

fn default_memory_budget() -> u64 {
    (machine_memory_bytes() / 4).clamp(64 << 20, 4 << 30)
}
