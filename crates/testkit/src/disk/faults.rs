//! What can be asked of a failing disk.

/// How the lights go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// The process dies, the machine stays up: every write that returned is kept.
    Process,
    /// Power is lost and nothing survives that was not synced.
    PowerLost,
    /// Power is lost while the disk was writing in order: of each file a random prefix of the
    /// unsynced writes survives, the last of them torn; of the changes to names a random prefix.
    PowerLostTorn,
    /// Power is lost while the disk was writing in any order: each 512-byte sector of an unsynced
    /// write survives or not; of the changes to names a random prefix.
    PowerLostScattered,
}

impl Crash {
    /// All ways, for tests that try each.
    pub const ALL: [Self; 4] = [
        Self::Process,
        Self::PowerLost,
        Self::PowerLostTorn,
        Self::PowerLostScattered,
    ];
}

/// What goes wrong from now on. The default is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// So many changing operations (see [`Counters::operations`]) succeed; every later one fails.
    pub fail_after_operations: Option<u64>,
    /// So many changing operations succeed; then the process is killed: none of the later ones takes place, and a sync
    /// that does not take place loses nothing.
    pub die_after_operations: Option<u64>,
    /// So many changing operations succeed; the next one fails, and those after it succeed.
    pub fail_operation: Option<u64>,
    /// So many syncs succeed; the next one fails, and what it should have made durable never will
    /// be. Those after it succeed, as they do on Linux.
    pub fail_sync_after: Option<u64>,
    /// So many reads succeed; every later one fails.
    pub fail_after_reads: Option<u64>,
    /// So many reads succeed; the next one fails, and those after it succeed.
    pub fail_read: Option<u64>,
    /// The disk holds so many bytes.
    pub capacity_bytes: Option<u64>,
    /// So many files may be open at a time.
    pub open_files_max: Option<u64>,
    /// Files whose names end so cannot be opened, for the reason with this number of the system.
    pub refuses: Option<(&'static str, i32)>,
    /// No file gets a second name, as across file systems.
    pub no_links: bool,
    /// Nothing can be changed, as on a file system mounted read-only.
    pub read_only: bool,
}

/// What was done so far. Count in one run, then fail at a chosen place in the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Changing operations: creations, writes, changes of length, renames, removals, links, new
    /// directories, and syncs.
    pub operations: u64,
    /// Syncs of files and directories.
    pub syncs: u64,
    /// Reads of files.
    pub reads: u64,
    /// Bytes written.
    pub bytes_written: u64,
}
