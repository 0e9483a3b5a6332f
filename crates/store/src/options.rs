//! Settings of a store, as plain numbers. Parts with behaviour (disk, clock, iterator classes) are
//! passed as [`Components`](crate::Components).

use std::time::Duration;

use crate::vfs::machine_memory_bytes;

/// How a store is opened. Properties of tables are set on the tables, under Accumulo's names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreOptions {
    /// Memory budget of the store, in bytes: memtables take up to six tenths, caches a quarter (and
    /// more with [`lend_unused`](Self::lend_unused)), and the rest is for compactions and scans.
    /// More memory means fewer, larger files and less compaction. Default: a quarter of the
    /// machine's memory, at least 64 MiB and at most 4 GiB.
    pub memory_budget_bytes: u64,
    /// Creates a store when the directory is empty or absent. Default: yes.
    pub create: bool,
    /// Accepts no writes and changes nothing on disk. Any number of processes may have a store open
    /// read-only at a time, as long as none has it open for writing. Default: no.
    pub read_only: bool,
    /// With [`read_only`](Self::read_only): opens a store whose log is damaged or incomplete. A
    /// table that may have lost writes ends where the log is damaged, so that the loss of a delete
    /// does not restore the entries it deleted; [`Store::damages`](crate::Store::damages) says what
    /// was lost. Without this option such a store does not open. Default: no.
    pub allow_damage: bool,
    /// Opens a store for writing although its log is damaged or incomplete, and accepts the loss for
    /// good: the tables keep what [`allow_damage`](Self::allow_damage) would read, which is written to
    /// files, and the segments of the log are moved to the directory `lost`.
    /// [`Store::damages`](crate::Store::damages) says what was lost. Without effect on a store whose
    /// log is undamaged, and with [`read_only`](Self::read_only). Default: no.
    pub accept_log_loss: bool,
    /// How long to wait for a store that is in use before the call fails with
    /// [`Locked`](ostrakon_cell::ErrorKind::Locked). Default: not at all.
    pub lock_wait: Duration,
    /// Lets the block cache use the part of the six tenths that memtables leave unused. A write
    /// reclaims it at once; three seconds after the last write it is lent again. Evicted blocks
    /// leave holes of some 32 KiB, so enable this only in processes whose allocator soon returns
    /// such memory to the system, as `ostrakon-allocator` does. The allocator of glibc does not:
    /// lent memory stays resident in addition to full memtables. Without effect if `background` is
    /// off. Default: no.
    pub lend_unused: bool,
    /// Compactions that may run at once. Default: the number of cores, at most 4.
    pub compaction_threads: usize,
    /// Threads that read for unordered scans, for all scans together. A scan that finds too few of
    /// them free reads on its caller's thread alone. Default: twice the number of cores, at least
    /// 4.
    pub scan_threads: usize,
    /// Runs flushes, compactions and splits in the background. Tests turn it off to run them
    /// explicitly. Default: yes.
    pub background: bool,
    /// Size of a log segment before the next one begins, in bytes; at most an eighth of the memory
    /// budget, since recovery reads a segment at once. Default: 256 MiB. Smaller ones are freed
    /// sooner after a flush.
    pub wal_segment_bytes: u64,
    /// Table files kept open. Default: 512. Above it the least recently used ones are closed, and
    /// reopened on demand.
    pub max_open_files: usize,
    /// Sizes at which flushes and imports start a new file. The defaults fit every machine; tests
    /// make them small, so that little data takes the code paths of large data.
    pub file_cuts: FileCuts,
}

/// Sizes at which a flush or an import starts a new file. They determine the number of files, never
/// what a scan returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileCuts {
    /// A flush ends a file at the end of a tablet once the file holds this many bytes, so that a
    /// table of a thousand small tablets is not flushed to a thousand small files. Default: 8 MiB.
    pub flush_bytes: u64,
    /// Memtables of at least this many bytes are flushed by several threads, each to its own files.
    /// Default: 32 MiB.
    pub parallel_flush_bytes: u64,
    /// A bulk import ends a file, between rows, once it holds this many bytes, so that no file is
    /// too large to compact. Default: 1 GiB.
    pub import_bytes: u64,
}

impl Default for FileCuts {
    fn default() -> Self {
        Self {
            flush_bytes: 8 << 20,
            parallel_flush_bytes: 32 << 20,
            import_bytes: 1 << 30,
        }
    }
}

impl Default for StoreOptions {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            memory_budget_bytes: default_memory_budget(),
            create: true,
            read_only: false,
            allow_damage: false,
            accept_log_loss: false,
            lock_wait: Duration::ZERO,
            lend_unused: false,
            compaction_threads: cores.min(4),
            scan_threads: (2 * cores).max(4),
            background: true,
            wal_segment_bytes: 256 << 20,
            max_open_files: 512,
            file_cuts: FileCuts::default(),
        }
    }
}

/// A larger memory budget counts as this one, so that shares of it are computed without overflow: one pebibyte.
const LARGEST_BUDGET: u64 = 1 << 50;

impl StoreOptions {
    fn budget(&self) -> u64 {
        self.memory_budget_bytes.min(LARGEST_BUDGET)
    }

    /// Limit of the bytes in all memtables together.
    #[must_use]
    pub fn memtable_bytes(&self) -> u64 {
        self.budget() * 6 / 10
    }

    /// Bytes of the largest batch that may be written, and so of the largest value: the limit of
    /// all memtables, but at least 16 MiB.
    #[must_use]
    pub fn batch_bytes(&self) -> u64 {
        self.memtable_bytes().max(16 << 20)
    }

    /// Bytes of one memtable at which it is flushed: several fit in the limit, so that writes
    /// continue meanwhile.
    #[must_use]
    pub fn flush_bytes(&self) -> u64 {
        self.memtable_bytes() * 3 / 10
    }

    /// Bytes that a table may hold in memory while its flush fails: half of the limit of all
    /// memtables. Up to it the flush is only retried; above it, the table is flushed without its
    /// iterators, and if that fails too the table rejects writes.
    #[must_use]
    pub fn failing_share_bytes(&self) -> u64 {
        self.memtable_bytes() / 2
    }

    /// Size of a log segment before the next one begins, in bytes.
    #[must_use]
    pub fn segment_bytes(&self) -> u64 {
        self.wal_segment_bytes.min(self.budget() / 8)
    }

    /// Bytes that all open scans together may read ahead; with many open scans each reads ahead
    /// less.
    #[must_use]
    pub fn scan_bytes(&self) -> u64 {
        self.budget() / 16
    }

    /// Bytes of the block and index caches, in addition to memory lent to them.
    #[must_use]
    pub fn cache_bytes(&self) -> u64 {
        self.budget() / 4
    }
}

fn default_memory_budget() -> u64 {
    (machine_memory_bytes() / 4).clamp(64 << 20, 4 << 30)
}
