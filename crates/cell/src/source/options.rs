//! Options of the contract's calls: plain data.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Properties;
use crate::{
    Authorizations, BatchLimit, ColumnSelection, Error, Interrupt, IteratorOptions,
    IteratorSetting, Key, Range, Result,
};

/// Families by locality group.
pub type LocalityGroups = BTreeMap<String, Vec<Vec<u8>>>;

/// Where timestamps come from that the writer does not give. Fixed when the table is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TimeType {
    /// Milliseconds since 1970, never going backwards within a table.
    #[default]
    Millis,
    /// A counter, one step per mutation batch of the table.
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
    /// Rows at which the table is split before any data.
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
    /// Flushes the source first, also one that is off-line, so that the clone holds every write that was acknowledged
    /// before the call began, and perhaps later ones. Without it the clone holds what is in files: of a table that was
    /// never flushed, nothing. Default: yes.
    pub flush: bool,
    /// Properties set on the clone.
    pub set_properties: Properties,
    /// Properties that the clone does not have itself: of the source, and also of those set.
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

/// What becomes of files that a table takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImportTransfer {
    /// They leave the directory, as Accumulo's `importDirectory` has it. They get a second name in the
    /// source before the import and lose the first one after it, so that a crash between the two leaves
    /// them in both places.
    #[default]
    Move,
    /// They stay, and the source shares their bytes through a hard link where the file system can: never
    /// change such a file afterwards.
    Link,
    /// They stay, and the source has bytes of its own.
    Copy,
}

/// How the files of a directory are imported.
#[derive(Debug, Clone, Default)]
pub struct ImportDirectoryOptions {
    /// What becomes of the files. Default: they leave the directory. Across file systems they are
    /// copied, whatever this says.
    pub transfer: ImportTransfer,
    /// Reads every entry of every file before it is taken over. Default: no; then format, checksums of
    /// indexes and filters, order of the index and outermost rows are checked, and each block when it
    /// is read later.
    pub verify: bool,
    /// Accepts a directory without files. Default: no.
    pub allow_empty: bool,
}

/// How a table is scanned.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// The columns fetched. Default: all.
    pub columns: ColumnSelection,
    /// What the reader may see: entries whose label these do not satisfy are not there. Default:
    /// none, which leaves the entries without label.
    pub authorizations: Authorizations,
    /// Iterators of this scan, besides the table's.
    pub iterators: Vec<IteratorSetting>,
    /// Options for iterators by their names, over those that the table or the scan gives them; see
    /// [`IteratorSetting::merged`].
    pub iterator_options: BTreeMap<String, IteratorOptions>,
    /// Reads the sample that the table keeps by this class and these options, in place of everything. Default: no.
    pub sampler: Option<(String, BTreeMap<String, String>)>,
    /// Size of the batches handed out.
    pub batch: BatchLimit,
    /// Never shows half a row, even when a remote scan resumes. Embedded scans are isolated anyway
    /// as long as they run.
    pub isolated: bool,
    /// Entries come in key order across ranges (a Scanner). When false (a BatchScanner) ranges are
    /// read in any order, in parallel.
    pub ordered: bool,
    /// Threads of an unordered scan; 0 lets the source choose. A source may give fewer.
    pub threads: usize,
    /// Ends the scan with [`Cancelled`](crate::ErrorKind::Cancelled) when it is set, from any thread, also while a call
    /// is under way. Default: none.
    pub interrupt: Option<Interrupt>,
    /// The longest that the scan may take, from its start or restart to its end; after it calls fail with
    /// [`TimedOut`](crate::ErrorKind::TimedOut). Default: as long as it needs.
    pub timeout: Option<Duration>,
    /// The longest that one [`next_batch`](super::Scan::next_batch) may take, roughly: then it answers with what it has,
    /// if that is nothing. An iterator that computes for long before it hands on a batch delays the answer. Default: a
    /// call takes as long as it needs to find an entry.
    pub answer_within: Option<Duration>,
    /// Keeps what [`Scan::unread`](super::Scan::unread) needs, at the cost of a copied key for each batch. Default: no.
    pub resumable: bool,
    /// Lets the order and the borders of batches depend on nothing but the ranges asked for and the entries given out:
    /// an unordered scan is then not read tablet by tablet, since tablets are split by entries that its reader may
    /// not see, too. Set for every scan of a [`ReaderSource`](super::ReaderSource). Default: no.
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
