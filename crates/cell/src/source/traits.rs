//! The traits a source implements.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::{
    CallContext, Capabilities, CheckReport, ClassInfo, ClassKind, CloneOptions, CompactOptions,
    ConditionalMutation, ConditionalStatus, ImportDirectoryOptions, ImportReport, NamespaceInfo,
    Problem, Progress, Properties, PropertyChange, PropertyInfo, PropertyOwner, RestoredFile,
    ScanOptions, TableInfo, TableOptions, TabletInfo, TabletLocation, VersionedProperties,
    WriteOutcome,
};
use crate::{
    Authorizations, Batch, Capability, Durability, Error, ErrorKind, MutationBatch, Range, Result,
};

/// A set of tables: an embedded store, or a connection to a server.
///
/// Administration is linearizable: each call takes effect at one moment between its beginning and its end, for names,
/// states and listings alike, and of calls that exclude one another one succeeds. After the source was closed every
/// call, also on its tables and scans, fails with [`Closed`](ErrorKind::Closed).
///
/// Every call may be made from any thread. Errors are of the kinds that [`ErrorKind`] lists; calls
/// outside [`capabilities`](Self::capabilities) return [`Unsupported`](ErrorKind::Unsupported).
pub trait Source: Send + Sync {
    /// What this source can do.
    fn capabilities(&self) -> Capabilities;

    /// All tables, by name.
    ///
    /// # Errors
    /// When the source cannot be reached.
    fn tables(&self) -> Result<Vec<TableInfo>>;

    /// Creates a table.
    ///
    /// # Errors
    /// The name is taken or malformed, a property or iterator is unknown or malformed.
    fn create_table(&self, name: &str, options: &TableOptions) -> Result<()>;

    /// Deletes a table and everything in it.
    ///
    /// # Errors
    /// No such table.
    fn delete_table(&self, name: &str) -> Result<()>;

    /// Gives a table another name in its namespace.
    ///
    /// # Errors
    /// No such table, or the new name is taken, malformed or in another namespace.
    fn rename_table(&self, from: &str, to: &str) -> Result<()>;

    /// Makes `to` a table with the content of `from`, on-line or not, sharing its files; see
    /// [`CloneOptions::flush`] for which.
    ///
    /// # Errors
    /// No such table, or the new name is taken or malformed.
    fn clone_table(&self, from: &str, to: &str, options: &CloneOptions) -> Result<()>;

    /// A handle to one table. It follows the table when it is renamed, fails with
    /// [`TableNotFound`](ErrorKind::TableNotFound) once the table is deleted, and never reaches another table that is given the
    /// name.
    ///
    /// # Errors
    /// No such table.
    fn table(&self, name: &str) -> Result<Arc<dyn Table>>;

    /// Takes a table off-line or brings it back; a table that is there already stays so. While off-line it answers
    /// [`Offline`](ErrorKind::Offline) to reads and writes, running ones included; what was acknowledged stays.
    ///
    /// # Errors
    /// No such table.
    fn set_online(&self, name: &str, online: bool) -> Result<()>;

    /// All namespaces, by name. Two are always there: the one of tables whose names have no dot, with the empty name,
    /// and `accumulo`, which is kept for system tables.
    ///
    /// # Errors
    /// The source has no [`Namespaces`](Capability::Namespaces), or cannot be reached.
    fn namespaces(&self) -> Result<Vec<NamespaceInfo>> {
        Err(unsupported(Capability::Namespaces))
    }

    /// Creates a namespace. A table `namespace.name` can be created in it then.
    ///
    /// # Errors
    /// The name is taken or malformed.
    fn create_namespace(&self, name: &str) -> Result<()> {
        let _ = name;
        Err(unsupported(Capability::Namespaces))
    }

    /// Deletes a namespace without tables.
    ///
    /// # Errors
    /// [`NamespaceNotFound`](ErrorKind::NamespaceNotFound), [`NotEmpty`](ErrorKind::NotEmpty); one that is always
    /// there cannot be deleted.
    fn delete_namespace(&self, name: &str) -> Result<()> {
        let _ = name;
        Err(unsupported(Capability::Namespaces))
    }

    /// Gives a namespace another name, and with it its tables.
    ///
    /// # Errors
    /// [`NamespaceNotFound`](ErrorKind::NamespaceNotFound); the new name is taken or malformed; one that is always
    /// there cannot be renamed.
    fn rename_namespace(&self, from: &str, to: &str) -> Result<()> {
        let _ = (from, to);
        Err(unsupported(Capability::Namespaces))
    }

    /// What is set for the whole source or for a namespace.
    ///
    /// # Errors
    /// No such namespace; the source has no [`PropertyLevels`](Capability::PropertyLevels).
    fn own_properties(&self, owner: PropertyOwner<'_>) -> Result<VersionedProperties> {
        let _ = owner;
        Err(unsupported(Capability::PropertyLevels))
    }

    /// Sets and removes properties of the whole source or of a namespace in one step, live for all tables that inherit
    /// them; see [`Table::change_properties`].
    ///
    /// # Errors
    /// As [`Table::change_properties`]; no such namespace; the change would break a table, which is named.
    fn change_properties(
        &self,
        owner: PropertyOwner<'_>,
        version: Option<u64>,
        changes: &[PropertyChange],
    ) -> Result<u64> {
        let _ = (owner, version, changes);
        Err(unsupported(Capability::PropertyLevels))
    }

    /// What is known of a class by its full name or the last part of it; `None` if the source cannot run it.
    ///
    /// # Errors
    /// The source has no [`ClassLookup`](Capability::ClassLookup), or cannot be reached.
    fn find_class(&self, kind: ClassKind, class: &str) -> Result<Option<ClassInfo>> {
        let _ = (kind, class);
        Err(unsupported(Capability::ClassLookup))
    }

    /// Writes a copy of the whole store to a new directory while it runs.
    ///
    /// # Errors
    /// The directory exists, or the disk refuses.
    fn checkpoint(&self, directory: &Path) -> Result<()> {
        let _ = directory;
        Err(unsupported(Capability::Checkpoint))
    }

    /// What fails now, table by table; empty for a sound source. Cheap: nothing is read from files.
    ///
    /// # Errors
    /// When the source cannot be reached.
    fn problems(&self) -> Result<Vec<Problem>> {
        Ok(Vec::new())
    }

    /// Puts a table file back that is damaged or missing, from a checkpoint or another copy. The candidate is verified
    /// first: it must be sound, and the very file that the source knows under its name.
    ///
    /// # Errors
    /// `InvalidArgument` or `Corruption` for a file that is another one or damaged, `NotFound` for one that no table
    /// reads; nothing is changed then.
    fn restore_file(&self, from: &Path) -> Result<RestoredFile> {
        let _ = from;
        Err(unsupported(Capability::Check))
    }

    /// Verifies every checksum, order and reference.
    ///
    /// # Errors
    /// Only when verifying itself fails; what is wrong in the store is in the report.
    fn check(&self, progress: Progress<'_>) -> Result<CheckReport> {
        let _ = progress;
        Err(unsupported(Capability::Check))
    }
}

/// One table of a [`Source`].
pub trait Table: Send + Sync {
    /// The present name; the last one of a table that was deleted.
    fn name(&self) -> String;

    /// The id, as [`TableInfo::id`] has it: never changed, and never given to another table.
    fn id(&self) -> String;

    /// What the source can do with it.
    fn capabilities(&self) -> Capabilities;

    /// A handle to the same table whose calls are made within `context`: for its principal and under its trace name,
    /// in place of those of this handle, and until the earlier of the two deadlines.
    ///
    /// # Errors
    /// The source has no [`CallContext`](Capability::CallContext).
    fn within(&self, context: &CallContext) -> Result<Arc<dyn Table>> {
        let _ = context;
        Err(unsupported(Capability::CallContext))
    }

    /// Hands a batch over. When this returns the batch is under way, not yet applied; several may
    /// be, and they are applied in order of submission as far as they touch the same row.
    /// `durability` overrides the table's.
    ///
    /// # Errors
    /// The table cannot take it now: closed, off-line, read-only. A label of the batch is not a valid
    /// expression. A constraint failed. Nothing of the batch is written then.
    fn submit(
        &self,
        batch: MutationBatch,
        durability: Option<Durability>,
    ) -> Result<Box<dyn PendingWrite>>;

    /// An empty buffer for the next batch, with room for `bytes`. A source that is done with the
    /// buffers of earlier batches hands them out again here, which spares the system's allocator
    /// megabytes at a time.
    fn batch_buffer(&self, bytes: usize) -> Vec<u8> {
        Vec::with_capacity(bytes)
    }

    /// Calls [`Tick::tick`] every `period` from now on, on a thread of the source's, until `tick` is
    /// dropped or the source closed. `false` means that the source has no timer and calls nothing.
    /// It is how a writer keeps its longest latency, since this crate has neither clock nor threads.
    fn tick_every(&self, period: Duration, tick: Weak<dyn Tick>) -> bool {
        let _ = (period, tick);
        false
    }

    /// Applies each mutation whose conditions hold, in one step with checking them. The answers
    /// stand in the order of the mutations, each for its own: of two mutations of one row the second
    /// sees what the first did.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), but for labels and constraints, which have answers. No mutation
    /// was acknowledged then; what failed after some were applied is answered with
    /// [`Unknown`](ConditionalStatus::Unknown).
    fn write_conditionally(
        &self,
        mutations: Vec<ConditionalMutation>,
        authorizations: &Authorizations,
        durability: Option<Durability>,
    ) -> Result<Vec<ConditionalStatus>>;

    /// Starts a scan of `ranges`. An ordered scan merges overlapping ranges and reads them in key
    /// order.
    ///
    /// # Errors
    /// Unknown iterators, wrong options, a table that is closed or off-line;
    /// [`SampleNotPresent`](ErrorKind::SampleNotPresent) for a sample that the table does not keep.
    fn scan(&self, ranges: &[Range], options: &ScanOptions) -> Result<Box<dyn Scan>>;

    /// The properties in force, defaults included.
    ///
    /// # Errors
    /// When the source cannot be reached.
    fn properties(&self) -> Result<Properties>;

    /// The properties in force with the level that each comes from, and what it does.
    ///
    /// # Errors
    /// The source has no [`OwnProperties`](Capability::OwnProperties), or cannot be reached.
    fn describe_properties(&self) -> Result<BTreeMap<String, PropertyInfo>> {
        Err(unsupported(Capability::OwnProperties))
    }

    /// What is set for this table, without defaults and what it inherits.
    ///
    /// # Errors
    /// The source has no [`OwnProperties`](Capability::OwnProperties), or cannot be reached.
    fn own_properties(&self) -> Result<VersionedProperties> {
        Err(unsupported(Capability::OwnProperties))
    }

    /// Sets and removes (`None`) properties of this table in one step, live; given a `version`, only if the table's own
    /// properties still have it. Removing brings back what is inherited, also where nothing is set. Returns the new
    /// version.
    ///
    /// # Errors
    /// An unknown name (with the `similar` one, if there is one) that is not set either, a malformed value, an unknown class;
    /// [`ConcurrentModification`](ErrorKind::ConcurrentModification) for another version. Nothing is changed then.
    fn change_properties(&self, version: Option<u64>, changes: &[PropertyChange]) -> Result<u64>;

    /// [`change_properties`](Self::change_properties), whatever their version.
    ///
    /// # Errors
    /// As there.
    fn modify_properties(&self, changes: &[PropertyChange]) -> Result<()> {
        self.change_properties(None, changes).map(drop)
    }

    /// What fails now in this table; empty for a sound one. A table with problems is degraded: it answers as far as it
    /// can, and the rest of the source works.
    ///
    /// # Errors
    /// When the source cannot be reached.
    fn problems(&self) -> Result<Vec<Problem>> {
        Ok(Vec::new())
    }

    /// The tablets, in row order.
    ///
    /// # Errors
    /// When the source cannot be reached.
    fn tablets(&self) -> Result<Vec<TabletInfo>>;

    /// The tablet that a row is in, without looking at the others.
    ///
    /// # Errors
    /// The source has no [`Tablets`](Capability::Tablets), or cannot be reached.
    fn locate(&self, row: &[u8]) -> Result<TabletLocation> {
        let _ = row;
        Err(unsupported(Capability::Tablets))
    }

    /// Adds split points; those that exist are passed over.
    ///
    /// # Errors
    /// A row too long for a split point (10 KiB by default).
    fn add_splits(&self, rows: &[Vec<u8>]) -> Result<()>;

    /// Makes one tablet of those that meet the rows after `start` (exclusive) up to `end`
    /// (inclusive).
    ///
    /// # Errors
    /// An empty or swapped range.
    fn merge(&self, start: Option<&[u8]>, end: Option<&[u8]>) -> Result<()>;

    /// Deletes the rows after `start` (exclusive) up to `end` (inclusive), without writing delete
    /// markers.
    ///
    /// # Errors
    /// An empty or swapped range.
    fn delete_rows(&self, start: Option<&[u8]>, end: Option<&[u8]>) -> Result<()>;

    /// Writes what is in memory to files. With `wait` returns only when that is done, else as soon as it was asked for;
    /// a store without background threads always waits.
    ///
    /// # Errors
    /// With `wait`, what keeps the content of memory out of files: the disk refuses, the table is deleted meanwhile.
    fn flush(&self, wait: bool) -> Result<()>;

    /// Merges the files of each tablet into one.
    ///
    /// # Errors
    /// Unknown iterators, the disk refuses, or [`Cancelled`](ErrorKind::Cancelled).
    fn compact(&self, options: &CompactOptions) -> Result<()>;

    /// Cancels compactions that users asked for.
    ///
    /// # Errors
    /// When the source cannot be reached.
    fn cancel_compaction(&self) -> Result<()>;

    /// Starts a bulk import.
    ///
    /// # Errors
    /// The source has no [`BulkImport`](Capability::BulkImport).
    fn bulk_writer(&self) -> Result<Box<dyn BulkWriter>> {
        Err(unsupported(Capability::BulkImport))
    }

    /// Takes over every sorted file of a directory, all of them at once or none. Names that begin
    /// with `_` or `.` are passed over; the files were written by other processes and are checked.
    ///
    /// # Errors
    /// `InvalidArgument` for an empty directory; the first file that is no sorted file, is damaged
    /// or is of a newer version, by name; the source has no [`BulkImport`](Capability::BulkImport).
    /// Nothing is imported then, and the directory is as it was.
    fn import_directory(
        &self,
        directory: &Path,
        options: &ImportDirectoryOptions,
    ) -> Result<ImportReport> {
        let _ = (directory, options);
        Err(unsupported(Capability::BulkImport))
    }
}

/// What a source's timer calls.
pub trait Tick: Send + Sync {
    /// Does what is due. Other writers of the source may wait for it meanwhile.
    fn tick(&self);
}

/// A submitted batch.
pub trait PendingWrite: Send {
    /// Waits until the batch is applied and as durable as asked.
    ///
    /// # Errors
    /// The batch, or part of it, may not be applied.
    fn wait(self: Box<Self>) -> Result<WriteOutcome>;

    /// As [`wait`](Self::wait), for a limited time. A source without a clock waits for ever.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable) when the time is over: the batch may still be applied.
    fn wait_at_most(self: Box<Self>, timeout: Duration) -> Result<WriteOutcome> {
        let _ = timeout;
        self.wait()
    }

    /// Whether [`wait`](Self::wait) would return at once.
    fn is_done(&self) -> bool;
}

/// A running scan.
///
/// An error is final. After [`next_batch`](Self::next_batch) or [`restart`](Self::restart) failed every call gives the
/// same error again and no entry, until a restart succeeds. A panic of an iterator is an error too: a scan that ends
/// with `Ok(false)` has given everything. A scan ends soon, with the error that says why, when its table is deleted or
/// goes off-line, or its source is closed.
pub trait Scan: Send {
    /// Replaces the content of `out` by the next entries. `Ok(false)` means that the scan is over
    /// and `out` is empty; `Ok(true)` that `out` holds at least one entry, or none where
    /// [`answer_within`](ScanOptions::answer_within) was given and the time is over.
    ///
    /// # Errors
    /// A corrupt file, a failed read, a table deleted meanwhile; [`Cancelled`](ErrorKind::Cancelled) and
    /// [`TimedOut`](ErrorKind::TimedOut), as the options say. `out` is empty then.
    fn next_batch(&mut self, out: &mut Batch) -> Result<bool>;

    /// Starts over with other ranges, the same options and a fresh snapshot. Much cheaper than a
    /// new scan: the way to look up many rows one after another.
    ///
    /// # Errors
    /// As [`Table::scan`].
    fn restart(&mut self, ranges: &[Range]) -> Result<()>;

    /// What a scan with [`resumable`](ScanOptions::resumable) has not given out yet, as ranges for another scan, of
    /// whatever is in the table then. Of an ordered scan exactly that; of an unordered one more, since ranges that are
    /// read in part come as a whole. Iterators that make entries of others must be able to be sought behind each, as
    /// after [`Range::after`].
    ///
    /// # Errors
    /// The scan was started without that option, or the source has no [`ScanResume`](Capability::ScanResume).
    fn unread(&self) -> Result<Vec<Range>> {
        Err(unsupported(Capability::ScanResume))
    }
}

/// A bulk import: sorted entries become table files and one atomic change of the catalog.
pub trait BulkWriter: Send {
    /// Appends entries, which must be sorted and not below those appended before.
    ///
    /// # Errors
    /// Unsorted entries, or the disk refuses.
    fn append(&mut self, batch: &Batch) -> Result<()>;

    /// Makes everything appended visible at once; returns the number of entries. Dropping the
    /// writer instead leaves nothing behind.
    ///
    /// # Errors
    /// The disk refuses; then nothing is visible.
    fn finish(self: Box<Self>) -> Result<u64>;
}

fn unsupported(capability: Capability) -> Error {
    Error::new(ErrorKind::Unsupported, "this source cannot do that")
        .with("capability", format!("{capability:?}"))
}
