//! Results of the calls of the source contract.

use super::TimeType;
use crate::ErrorKind;

/// One table, as listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableInfo {
    /// The name; `namespace.table` or `table`.
    pub name: String,
    /// The id: base 36, stable under rename.
    pub id: String,
    /// The id of its namespace, as [`NamespaceInfo::id`] has it.
    pub namespace_id: String,
    /// Whether it can be read and written.
    pub online: bool,
    /// Source of its timestamps.
    pub time_type: TimeType,
}

/// One namespace, as listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceInfo {
    /// The name; empty for the namespace of tables whose names have no dot.
    pub name: String,
    /// The id, stable under rename: base 36, or `+default` and `+accumulo` for those that always
    /// exist.
    pub id: String,
}

/// One tablet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TabletInfo {
    /// Last row of the tablet before (exclusive start); `None` for the first.
    pub previous_end: Option<Vec<u8>>,
    /// Last row of this tablet (inclusive); `None` for the last.
    pub end: Option<Vec<u8>>,
    /// Files it reads.
    pub files: u64,
    /// Entries in files and in memory, estimated where files are shared between tablets. Versions
    /// and delete markers count until a compaction drops them.
    pub entries: u64,
    /// Bytes on disk, estimated where files are shared.
    pub bytes: u64,
    /// The entries that are in memory and not yet in a file.
    pub memory_entries: u64,
    /// Estimated bytes of memory of these entries.
    pub memory_bytes: u64,
    /// The server of the tablet: `local`, or `host:port`.
    pub location: String,
}

/// Why some mutations of a batch were rejected while others were applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The constraint, by class name.
    pub constraint: String,
    /// The constraint's violation code.
    pub code: i16,
    /// What the code means.
    pub description: String,
    /// How many mutations were rejected.
    pub mutations: u64,
}

/// Rows of a batch whose mutations were not all applied, for a reason other than the mutations
/// themselves. A source that applies a batch as a whole never returns one: the write fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedExtent {
    /// The rows of the tablet, as the source knew them.
    pub rows: TabletRows,
    /// How many mutations of the batch were applied there: the first ones.
    pub applied: u64,
    /// The kind of the cause.
    pub kind: ErrorKind,
    /// The cause.
    pub message: String,
}

/// The outcome of a submitted batch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WriteOutcome {
    /// Rejections by constraints, summed up; empty when everything was applied.
    pub rejections: Vec<Rejection>,
    /// The mutations that constraints rejected, by their positions in the batch, ascending.
    pub refused: Vec<u32>,
    /// Where mutations were not applied for another reason.
    pub failed: Vec<FailedExtent>,
}

/// The location of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TabletLocation {
    /// The rows of its tablet.
    pub rows: TabletRows,
    /// The server of the tablet: `local`, or `host:port`.
    pub location: String,
    /// Grows whenever the rows of any tablet of the table change, while the source is open.
    pub layout: u64,
}

/// The kind of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClassKind {
    /// Iterators.
    Iterator,
    /// Constraints.
    Constraint,
}

/// A class that a source can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassInfo {
    /// Its full name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Whether it runs in scans only.
    pub scans_only: bool,
}

/// What was imported from a directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportReport {
    /// Files that the table has taken over.
    pub files: u64,
    /// Entries in these files.
    pub entries: u64,
    /// Bytes in these files.
    pub bytes: u64,
    /// Files without entries, which were skipped.
    pub empty_files: u64,
    /// Files that were copied, whether on request or across file systems.
    pub copied_files: u64,
    /// Imported files that could not be removed from the directory. Remove them by hand: a second
    /// import would duplicate their entries.
    pub files_left: u64,
}

/// What a source was doing when something failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Activity {
    /// Reading the properties of a table.
    Properties,
    /// Writing the content of memory to files.
    Flush,
    /// Merging files.
    Compaction,
    /// Splitting a tablet.
    Split,
    /// Reading for a scan.
    Read,
    /// Reading the log.
    Log,
    /// Writing: the whole source rejects writes.
    Write,
}

impl Activity {
    /// The activity in one lower-case word, for messages and machine-readable output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Properties => "properties",
            Self::Flush => "flush",
            Self::Compaction => "compaction",
            Self::Split => "split",
            Self::Read => "read",
            Self::Log => "log",
            Self::Write => "write",
        }
    }
}

/// The rows of a tablet: the last row of the one before (exclusive) and its own last row (inclusive); `None` where there
/// is no bound.
pub type TabletRows = (Option<Vec<u8>>, Option<Vec<u8>>);

/// A present problem, of one table or tablet if that is known. It holds no data of entries. For
/// administrators: the rows at which a tablet begins and ends are split points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The table; `None` for the whole source.
    pub table: Option<String>,
    /// The tablet; `None` for the whole table.
    pub tablet: Option<TabletRows>,
    /// What fails.
    pub activity: Activity,
    /// The kind of the cause.
    pub kind: ErrorKind,
    /// The cause.
    pub message: String,
    /// What to do.
    pub way_out: String,
    /// Number of consecutive failures.
    pub times: u64,
    /// Time of the first failure, milliseconds since 1970; 0 if it is not known.
    pub since_millis: i64,
    /// Time of the next automatic attempt, milliseconds since 1970; `None` if there is none.
    pub next_try_millis: Option<i64>,
    /// Whether the table rejects writes because of it.
    pub refuses_writes: bool,
}

/// A table file that was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredFile {
    /// The file, relative to the store's directory.
    pub file: String,
    /// Its length.
    pub bytes: u64,
    /// The tables that read it.
    pub tables: Vec<String>,
}

/// A table file that was dropped because it is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedFile {
    /// The file, relative to the store's directory.
    pub file: String,
    /// Where what is left of it was moved, relative to the store's directory; `None` if it was missing.
    pub moved_to: Option<String>,
    /// Its length, according to the catalog.
    pub bytes: u64,
    /// Its entries, according to the catalog: hidden and deleted ones count, too.
    pub entries: u64,
    /// The tables that read it.
    pub tables: Vec<String>,
}

/// One problem found in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckProblem {
    /// The file, relative to the store's directory.
    pub file: String,
    /// The table, if known.
    pub table: Option<String>,
    /// What is wrong, at which offset if there is one, and what to do.
    pub message: String,
}

/// The outcome of verifying a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckReport {
    /// Files read.
    pub files: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Entries read of table files.
    pub entries: u64,
    /// Entries read of the log. Those that were flushed are in table files, too.
    pub log_entries: u64,
    /// What is wrong; empty for a sound store.
    pub problems: Vec<CheckProblem>,
    /// Findings that could not be verified and need not be errors.
    pub notes: Vec<String>,
}

/// Receives the progress of a long call: done and total, in a unit that the call chooses. Returning
/// `false` cancels the call.
pub type Progress<'a> = &'a mut (dyn FnMut(u64, u64) -> bool + Send);
