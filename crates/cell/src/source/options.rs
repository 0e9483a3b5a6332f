//! Options of the calls of the source contract, as plain data.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Properties;
use crate::{
    Authorizations, BatchLimit, ColumnSelection, Error, Interrupt, IteratorOptions,
    IteratorSetting, Key, Range, Result,
};

/// Families by locality group.
pub type LocalityGroups = BTreeMap<String, Vec<Vec<u8>>>;

/// Source of the timestamps that the writer does not set. Fixed when the table is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TimeType {
    /// Milliseconds since 1970, monotonic within a table.
    #[default]
    Millis,
    /// A counter that grows by one per mutation batch of the table.
    Logical,
}

impl TimeType {
    /// The type's name on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Millis => "millis",
            Self::Logical => "logical",
        }
    }
}

impl std::str::FromStr for TimeType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "millis" => Ok(Self::Millis),
            "logical" => Ok(Self::Logical),
            _ => Err(Error::invalid("a time type is one of millis, logical").with("given", text)),
        }
    }
}

/// How a table is created.
#[derive(Debug, Clone, Default)]
pub struct TableOptions {
    /// Source of timestamps.
    pub time_type: TimeType,
    /// Rows at which the table is split on creation.
    pub splits: Vec<Vec<u8>>,
    /// Properties that differ from the defaults.
    pub properties: Properties,
    /// Leaves out the default iterator (`vers`: newest version only, priority 20, all scopes).
    pub without_default_iterators: bool,
    /// Leaves out the default constraint (`DefaultKeySizeConstraint`: no key above 1 MiB).
    pub without_default_constraint: bool,
    /// Creates the table off-line.
    pub offline: bool,
}

/// How a table is cloned.
#[derive(Debug, Clone)]
pub struct CloneOptions {
    /// Flushes the source first, even if it is off-line, so that the clone holds every write that
    /// was acknowledged before the call began, and perhaps later ones. Without it the clone holds
    /// only what is in files: nothing, if the source was never flushed. Default: yes.
    pub flush: bool,
    /// Properties set on the clone.
    pub set_properties: Properties,
    /// Properties that the clone does not get, whether from the source or from those set.
    pub exclude_properties: Vec<String>,
    /// Leaves the clone off-line.
    pub keep_offline: bool,
}

impl Default for CloneOptions {
    fn default() -> Self {
        Self {
            flush: true,
            set_properties: Properties::new(),
            exclude_properties: Vec::new(),
            keep_offline: false,
        }
    }
}

/// How a table is compacted on request.
#[derive(Debug, Clone)]
pub struct CompactOptions {
    /// The rows: after `start` (exclusive) …
    pub start: Option<Vec<u8>>,
    /// … up to `end` (inclusive); `None` is infinite. Whole tablets are compacted.
    pub end: Option<Vec<u8>>,
    /// Iterators for this compaction only, besides those of scope `majc`.
    pub iterators: Vec<IteratorSetting>,
    /// Flushes first. Default: yes.
    pub flush: bool,
    /// Returns only when done. Default: yes.
    pub wait: bool,
}

impl Default for CompactOptions {
    fn default() -> Self {
        Self {
            start: None,
            end: None,
            iterators: Vec::new(),
            flush: true,
            wait: true,
        }
    }
}

/// What happens to files that a table takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImportTransfer {
    /// They leave the directory, as with Accumulo's `importDirectory`. They get a second name in
    /// the source before the import and lose the first one after it, so that a crash in between
    /// leaves them in both places.
    #[default]
    Move,
    /// They stay, and the source shares their bytes through a hard link where the file system
    /// supports it. Such a file must never be changed afterwards.
    Link,
    /// They stay, and the source makes its own copy.
    Copy,
}

/// How the files of a directory are imported.
#[derive(Debug, Clone, Default)]
pub struct ImportDirectoryOptions {
    /// What happens to the files. Default: they leave the directory. Across file systems they are
    /// always copied.
    pub transfer: ImportTransfer,
    /// Decodes every entry of every file before it is taken over, and checks order, counts and filter.
    /// Default: no. Then the format, all checksums, the order of the index, the first and last row and
    /// the distinct labels of each block are checked. Each file is read once in either case.
    pub verify: bool,
    /// Accepts a directory without files. Default: no.
    pub allow_empty: bool,
}

/// How a table is scanned.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// The columns fetched. Default: all.
    pub columns: ColumnSelection,
    /// The authorizations of the scan: entries whose label they do not satisfy are left out.
    /// Default: none, which shows only entries without a label.
    pub authorizations: Authorizations,
    /// Iterators of this scan, in addition to the table's.
    pub iterators: Vec<IteratorSetting>,
    /// Options for iterators by name, which override those that the table or the scan sets; see
    /// [`IteratorSetting::merged`].
    pub iterator_options: BTreeMap<String, IteratorOptions>,
    /// Reads the table's sample of this class with these options instead of all entries. Default:
    /// no.
    pub sampler: Option<(String, BTreeMap<String, String>)>,
    /// Size of the batches returned.
    pub batch: BatchLimit,
    /// Never returns part of a row, even when a remote scan resumes. Scans of an embedded store are
    /// always isolated while they run.
    pub isolated: bool,
    /// Entries come in key order across ranges (a Scanner). When false (a BatchScanner) ranges are
    /// read in any order, in parallel.
    pub ordered: bool,
    /// Threads of an unordered scan; 0 lets the source choose. A source may use fewer.
    pub threads: usize,
    /// Ends the scan with [`Cancelled`](crate::ErrorKind::Cancelled) when it is set, from any thread, also while a call
    /// is under way. Default: none.
    pub interrupt: Option<Interrupt>,
    /// The longest that the scan may take, from its start or restart to its end; after it, calls
    /// fail with [`TimedOut`](crate::ErrorKind::TimedOut). Default: no limit.
    pub timeout: Option<Duration>,
    /// The approximate limit of one [`next_batch`](super::Scan::next_batch): then it returns the
    /// entries it has, perhaps none. An iterator that computes for long before it passes on a batch
    /// delays the return. Default: a call takes as long as it needs to find an entry.
    pub answer_within: Option<Duration>,
    /// Keeps what [`Scan::unread`](super::Scan::unread) needs, at the cost of one copied key per
    /// batch. Default: no.
    pub resumable: bool,
    /// Makes the order and the borders of batches depend only on the requested ranges and the
    /// returned entries: an unordered scan is then not read tablet by tablet, because tablets may
    /// be split at entries that the reader may not see. Set for every scan of a
    /// [`ReaderSource`](super::ReaderSource). Default: no.
    pub confined: bool,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self {
            columns: ColumnSelection::all(),
            authorizations: Authorizations::default(),
            iterators: Vec::new(),
            iterator_options: BTreeMap::new(),
            sampler: None,
            batch: BatchLimit::default(),
            isolated: false,
            ordered: true,
            threads: 0,
            interrupt: None,
            timeout: None,
            answer_within: None,
            resumable: false,
            confined: false,
        }
    }
}

impl CompactOptions {
    /// The rows as a range.
    #[must_use]
    pub fn range(&self) -> Range {
        Range::tablet(self.start.as_deref(), self.end.as_deref())
    }
}

/// Checks that `start` lies before `end` (both may be infinite), for calls on row ranges.
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
pub fn check_row_range(start: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
    match (start, end) {
        (Some(start), Some(end)) if start >= end => Range::keys(
            Some(Key::new(start, "", "")),
            false,
            Some(Key::new(end, "", "")),
            true,
        )
        .and(Err(Error::invalid(
            "the row range is empty: its start equals its end",
        ))),
        _ => Ok(()),
    }
}
