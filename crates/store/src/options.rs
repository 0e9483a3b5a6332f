//! Settings of a store: plain numbers. What does work (disk, clock, iterator classes) is handed over
//! as [`Components`](crate::Components).

use std::time::Duration;

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
    /// Accepts no writes and changes nothing on the disk. Any number of processes may have a store open
    /// like this at a time, as long as none has it open for writing. Default: no.
    pub read_only: bool,
    /// With [`read_only`](Self::read_only): opens a store whose log is damaged or incomplete. A table
    /// that may have lost writes ends where the log is damaged, so that no lost delete brings back
    /// what it deleted; [`Store::damages`](crate::Store::damages) says what was lost. Without it such a store does not open.
    /// Default: no.
    pub allow_damage: bool,
    /// How long to wait for a store that is in use before [`Locked`](ostrakon_cell::ErrorKind::Locked)
    /// is answered. Default: not at all.
    pub lock_wait: Duration,
    /// Lets the block cache use what memtables leave of their six tenths. A writer takes it back at
    /// once; three seconds after the last write it is lent again. Blocks that leave the cache leave
    /// holes of some 32 KiB, so this is only for processes whose allocator gives such memory back to
    /// the system soon, as `ostrakon-allocator` does: with glibc's, which does not, what was lent
    /// stays resident beside full memtables. Without effect where `background` is off. Default: no.
    pub lend_unused: bool,
    /// Compactions that may run at once. Default: the number of cores, at most 4.
    pub compaction_threads: usize,
    /// Threads that read for unordered scans, of all scans together. A scan that finds too few of them free reads on
    /// its caller's thread alone. Default: twice the number of cores, at least 4.
    pub scan_threads: usize,
    /// Runs flushes, compactions and splits by itself. Tests turn it off to decide the moment.
    /// Default: yes.
    pub background: bool,
    /// Bytes of a log segment before the next begins; at most an eighth of the memory budget, since
    /// recovery reads a segment at once. Default: 256 MiB. Smaller ones are freed sooner after a
    /// flush.
    pub wal_segment_bytes: u64,
    /// Table files kept open. Default: 512. Above it the least used are closed and reopened.
    pub max_open_files: usize,
    /// Where flushes and imports end one file and begin the next. The defaults fit every machine;
    /// tests make them small, so that little data takes the paths of much.
    pub file_cuts: FileCuts,
}

/// Sizes at which a flush or an import goes on in another file. They decide how many files there
/// are, never what a scan shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileCuts {
    /// A flush ends a file at the end of a tablet once the file holds this many bytes: a table of a
    /// thousand small tablets is not flushed to a thousand small files. Default: 8 MiB.
    pub flush_bytes: u64,
    /// Memtables of at least this many bytes are flushed by several threads, each to files of its
    /// own. Default: 32 MiB.
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

impl StoreOptions {
    /// Bytes all memtables may hold together.
    #[must_use]
    pub fn memtable_bytes(&self) -> u64 {
        self.memory_budget_bytes * 6 / 10
    }

    /// Bytes of the largest batch that may be written, and so of the largest value: as many as memtables may hold, and
    /// 16 MiB in any case.
    #[must_use]
    pub fn batch_bytes(&self) -> u64 {
        self.memtable_bytes().max(16 << 20)
    }

    /// Bytes of one memtable after which it is flushed: several fit, so that writing goes on
    /// meanwhile.
    #[must_use]
    pub fn flush_bytes(&self) -> u64 {
        self.memtable_bytes() * 3 / 10
    }

    /// Bytes that a table may hold in memory while it cannot be flushed: half of what memtables may hold. Up to
    /// that its flush is only tried again; above it, it is written without its iterators, and if that fails too
    /// the table takes no more writes.
    #[must_use]
    pub fn failing_share_bytes(&self) -> u64 {
        self.memtable_bytes() / 2
    }

    /// Bytes of a log segment before the next begins.
    #[must_use]
    pub fn segment_bytes(&self) -> u64 {
        self.wal_segment_bytes.min(self.memory_budget_bytes / 8)
    }

    /// Bytes open scans may read ahead together; many open scans read ahead less each.
    #[must_use]
    pub fn scan_bytes(&self) -> u64 {
        self.memory_budget_bytes / 16
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
