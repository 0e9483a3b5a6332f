//! The traits that a source implements.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

use super::{
    CallContext, Capabilities, CheckReport, ClassInfo, ClassKind, CloneOptions, CompactOptions,
    ConditionalMutation, ConditionalStatus, DroppedFile, ImportDirectoryOptions, ImportReport,
    NamespaceInfo, Problem, Progress, Properties, PropertyChange, PropertyInfo, PropertyOwner,
    RestoredFile, ScanOptions, TableInfo, TableOptions, TabletInfo, TabletLocation,
    VersionedProperties, WriteOutcome,
};
use crate::{
    Authorizations, Batch, Capability, Durability, Error, ErrorKind, MutationBatch, Range, Result,
};

/// A set of tables: an embedded store, or a connection to a server.
///
/// Administration is linearizable: each call takes effect at one moment between its beginning and
/// its end, for names, states and listings alike. Of concurrent calls that exclude one another, one
/// succeeds. After the source is closed, every call fails with [`Closed`](ErrorKind::Closed), also
/// on its tables and scans.
///
/// Every call may be made from any thread. Calls outside [`capabilities`](Self::capabilities)
/// return [`Unsupported`](ErrorKind::Unsupported).
pub trait Source: Send + Sync {
    /// What this source can do.
    fn capabilities(&self) -> Capabilities;

    /// All tables, sorted by name.
    ///
    /// # Errors
    /// When the source cannot be reached.
    fn tables(&self) -> Result<Vec<TableInfo>>;

    /// Creates a table.
    ///
    /// # Errors
    /// The name is taken or malformed, or a property or iterator is unknown or malformed.
    fn create_table(&self, name: &str, options: &TableOptions) -> Result<()>;

    /// Deletes a table and everything in it.
    ///
    /// # Errors
    /// No such table.
    fn delete_table(&self, name: &str) -> Result<()>;

    /// Renames a table within its namespace.
    ///
    /// # Errors
    /// No such table, or the new name is taken, malformed or in another namespace.
    fn rename_table(&self, from: &str, to: &str) -> Result<()>;

    /// Makes `to` a table with the content of `from`, which may be off-line. Both share their
    /// files; [`CloneOptions::flush`] says which.
    ///
    /// # Errors
    /// No such table, or the new name is taken or malformed.
    fn clone_table(&self, from: &str, to: &str, options: &CloneOptions) -> Result<()>;

    /// A handle to one table. It follows the table when it is renamed, and fails with
    /// [`TableNotFound`](ErrorKind::TableNotFound) once the table is deleted, even if another table
    /// gets the name.
    ///
    /// # Errors
    /// No such table.
    fn table(&self, name: &str) -> Result<Arc<dyn Table>>;

    /// Takes a table off-line or brings it online; does nothing if the table is in that state
    /// already. While off-line it rejects reads and writes with [`Offline`](ErrorKind::Offline),
    /// running ones included. Acknowledged writes are kept.
    ///
    /// # Errors
    /// No such table.
    fn set_online(&self, name: &str, online: bool) -> Result<()>;

    /// All namespaces, sorted by name. Two always exist: the one of tables whose names have no dot,
    /// with the empty name, and `accumulo`, which is reserved for system tables.
    ///
    /// # Errors
    /// The source has no [`Namespaces`](Capability::Namespaces), or cannot be reached.
    fn namespaces(&self) -> Result<Vec<NamespaceInfo>> {
        Err(unsupported(Capability::Namespaces))
    }

    /// Creates a namespace. Then a table `namespace.name` can be created in it.
    ///
    /// # Errors
    /// The name is taken or malformed.
    fn create_namespace(&self, name: &str) -> Result<()> {
        let _ = name;
        Err(unsupported(Capability::Namespaces))
    }

    /// Deletes an empty namespace.
    ///
    /// # Errors
    /// [`NamespaceNotFound`](ErrorKind::NamespaceNotFound), [`NotEmpty`](ErrorKind::NotEmpty); a
    /// namespace that always exists cannot be deleted.
    fn delete_namespace(&self, name: &str) -> Result<()> {
        let _ = name;
        Err(unsupported(Capability::Namespaces))
    }

    /// Renames a namespace and thereby its tables.
    ///
    /// # Errors
    /// [`NamespaceNotFound`](ErrorKind::NamespaceNotFound); the new name is taken or malformed; a
    /// namespace that always exists cannot be renamed.
    fn rename_namespace(&self, from: &str, to: &str) -> Result<()> {
        let _ = (from, to);
        Err(unsupported(Capability::Namespaces))
    }

    /// The properties set for the whole source or for a namespace.
    ///
    /// # Errors
    /// No such namespace; the source has no [`PropertyLevels`](Capability::PropertyLevels).
    fn own_properties(&self, owner: PropertyOwner<'_>) -> Result<VersionedProperties> {
        let _ = owner;
        Err(unsupported(Capability::PropertyLevels))
    }

    /// Sets and removes properties of the whole source or of a namespace in one step. Takes effect
    /// at once in all tables that inherit them; see [`Table::change_properties`].
    ///
    /// # Errors
    /// As [`Table::change_properties`]; no such namespace; the change is invalid for a table that
    /// inherits it, which the error names.
    fn change_properties(
        &self,
        owner: PropertyOwner<'_>,
        version: Option<u64>,
        changes: &[PropertyChange],
    ) -> Result<u64> {
        let _ = (owner, version, changes);
        Err(unsupported(Capability::PropertyLevels))
    }

    /// Describes a class, given its full name or the last part of it; `None` if the source cannot
    /// run it.
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
    /// The directory exists, or the disk returns an error.
    fn checkpoint(&self, directory: &Path) -> Result<()> {
        let _ = directory;
        Err(unsupported(Capability::Checkpoint))
    }

    /// The present problems, by table; empty if there are none. Cheap: no file is read.
    ///
    /// # Errors
    /// When the source cannot be reached.
    fn problems(&self) -> Result<Vec<Problem>> {
        Ok(Vec::new())
    }

    /// Restores a table file that is damaged or missing, from a checkpoint or another copy. The
    /// candidate is verified first: it must be undamaged and identical to the file that the source
    /// knows under its name.
    ///
    /// # Errors
    /// `InvalidArgument` or `Corruption` for a different or damaged file, `NotFound` for a file
    /// that no table reads. Then nothing is changed.
    fn restore_file(&self, from: &Path) -> Result<RestoredFile> {
        let _ = from;
        Err(unsupported(Capability::Check))
    }

    /// Removes a table file that is damaged or missing, and has no other copy, from every table that
    /// reads it. Its entries are lost, so that older versions of their cells, and entries that a
    /// delete marker in it hid, may be read again. What is left of the file is kept outside of the
    /// tables.
    ///
    /// # Errors
    /// `InvalidArgument` for an undamaged file, `NotFound` for a file that no table reads. Then
    /// nothing is changed.
    fn drop_file(&self, file: &Path) -> Result<DroppedFile> {
        let _ = file;
        Err(unsupported(Capability::Check))
    }

    /// Verifies every checksum, order and reference.
    ///
    /// # Errors
    /// Only when the verification itself fails; the report lists what is wrong in the store.
    fn check(&self, progress: Progress<'_>) -> Result<CheckReport> {
        let _ = progress;
        Err(unsupported(Capability::Check))
    }
}

/// One table of a [`Source`].
pub trait Table: Send + Sync {
    /// The present name; the last name of a deleted table.
    fn name(&self) -> String;

    /// The id, equal to [`TableInfo::id`]: never changed, and never reused for another table.
    fn id(&self) -> String;

    /// What the source supports for this table.
    fn capabilities(&self) -> Capabilities;

    /// A handle to the same table whose calls are made within `context`: its principal and trace
    /// name replace those of this handle, and the earlier of the two deadlines holds.
    ///
    /// # Errors
    /// The source has no [`CallContext`](Capability::CallContext).
    fn within(&self, context: &CallContext) -> Result<Arc<dyn Table>> {
        let _ = context;
        Err(unsupported(Capability::CallContext))
    }

    /// Submits a batch. When this returns, the batch is in progress and not yet applied. Several
    /// batches may be in progress; batches that touch the same row are applied in order of
    /// submission. `durability` overrides the table's.
    ///
    /// # Errors
    /// The table does not accept writes now: closed, off-line, read-only. A label of the batch is
    /// malformed. A constraint failed. Then nothing of the batch is written.
    fn submit(
        &self,
        batch: MutationBatch,
        durability: Option<Durability>,
    ) -> Result<Box<dyn PendingWrite>>;

    /// Ends the table's current timestamp: what is submitted from now on gets a later one, where the
    /// table sets it. Of two columns with equal timestamps none is newer, and batches that follow each
    /// other quickly share one.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), or when the source cannot be reached.
    fn advance_time(&self) -> Result<()>;

    /// An empty buffer for the next batch, with a capacity of `bytes`. A source returns the buffers
    /// of finished batches here, which saves the allocator megabytes per batch.
    fn batch_buffer(&self, bytes: usize) -> Vec<u8> {
        Vec::with_capacity(bytes)
    }

    /// Calls [`Tick::tick`] every `period` from now on, on a thread of the source, until `tick` is
    /// dropped or the source closed. `false` means that the source has no timer and calls nothing.
    /// With it a writer keeps its longest latency, since this crate has neither clock nor threads.
    fn tick_every(&self, period: Duration, tick: Weak<dyn Tick>) -> bool {
        let _ = (period, tick);
        false
    }

    /// Applies each mutation whose conditions hold; checking and applying are one step. Returns one
    /// status per mutation, in the order of the mutations. Of two mutations of one row the second
    /// sees the effect of the first.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), except for labels and constraints, which are reported as a
    /// status. On an error no mutation was acknowledged. A failure after some mutations were
    /// applied is reported as [`Unknown`](ConditionalStatus::Unknown).
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
    /// Unknown iterators, invalid options, a table that is closed or off-line;
    /// [`SampleNotPresent`](ErrorKind::SampleNotPresent) for a sample that the table does not keep.
    fn scan(&self, ranges: &[Range], options: &ScanOptions) -> Result<Box<dyn Scan>>;

    /// Divides `ranges` among readers that work in parallel: at most `most` (and at least one) lists
    /// of ranges in row order, with about the same number of entries as far as that is known
    /// without reading. No row is divided. A small tablet is not divided, nor is any table for a
    /// reader that must not see its split points; this default never divides.
    ///
    /// # Errors
    /// When the source cannot be reached.
    fn divide(&self, ranges: &[Range], most: usize) -> Result<Vec<Vec<Range>>> {
        let _ = most;
        Ok(vec![Range::merge(ranges.to_vec())])
    }

    /// Starts an ordered scan for each list of ranges. All see the same snapshot, as far as one
    /// scan would; the [`interrupt`](ScanOptions::interrupt) ends all of them. This default starts
    /// one after the other, and each sees a snapshot of its own.
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    fn scan_parts(
        &self,
        parts: &[Vec<Range>],
        options: &ScanOptions,
    ) -> Result<Vec<Box<dyn Scan>>> {
        let options = ScanOptions {
            ordered: true,
            ..options.clone()
        };
        let scans = parts.iter().map(|ranges| self.scan(ranges, &options));
        scans.collect()
    }

    /// The properties in force, defaults included.
    ///
    /// # Errors
    /// When the source cannot be reached.
    fn properties(&self) -> Result<Properties>;

    /// The properties in force with the level that each comes from, and its effect.
    ///
    /// # Errors
    /// The source has no [`OwnProperties`](Capability::OwnProperties), or cannot be reached.
    fn describe_properties(&self) -> Result<BTreeMap<String, PropertyInfo>> {
        Err(unsupported(Capability::OwnProperties))
    }

    /// The properties set for this table, without defaults and inherited ones.
    ///
    /// # Errors
    /// The source has no [`OwnProperties`](Capability::OwnProperties), or cannot be reached.
    fn own_properties(&self) -> Result<VersionedProperties> {
        Err(unsupported(Capability::OwnProperties))
    }

    /// Sets and removes (`None`) properties of this table in one step; takes effect at once. Given
    /// a `version`, the change is made only if the table's own properties still have that version.
    /// Removing restores the inherited value, and does nothing if no value is set. Returns the new
    /// version.
    ///
    /// # Errors
    /// An unknown name that is not set either (with the most `similar` name, if there is one), a
    /// malformed value, an unknown class;
    /// [`ConcurrentModification`](ErrorKind::ConcurrentModification) for another version. Then
    /// nothing is changed.
    fn change_properties(&self, version: Option<u64>, changes: &[PropertyChange]) -> Result<u64>;

    /// [`change_properties`](Self::change_properties) for any version.
    ///
    /// # Errors
    /// As there.
    fn modify_properties(&self, changes: &[PropertyChange]) -> Result<()> {
        self.change_properties(None, changes).map(drop)
    }

    /// The present problems of this table; empty if there are none. A table with problems is
    /// degraded: it serves what it can, and the rest of the source works.
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

    /// The tablet that contains a row, without reading the others.
    ///
    /// # Errors
    /// The source has no [`Tablets`](Capability::Tablets), or cannot be reached.
    fn locate(&self, row: &[u8]) -> Result<TabletLocation> {
        let _ = row;
        Err(unsupported(Capability::Tablets))
    }

    /// A timestamp that no entry of the table exceeds, whatever its label; `None` if the table is empty. It
    /// may be that of an entry that was deleted. Cheap: no entry is read. Not for readers, whom the
    /// timestamps of hidden entries would disclose something.
    ///
    /// # Errors
    /// A file of the table cannot be read; the source has no [`Tablets`](Capability::Tablets), or cannot be
    /// reached.
    fn newest_timestamp(&self) -> Result<Option<i64>> {
        Err(unsupported(Capability::Tablets))
    }

    /// Adds split points; existing ones are skipped.
    ///
    /// # Errors
    /// A row too long for a split point (10 KiB by default).
    fn add_splits(&self, rows: &[Vec<u8>]) -> Result<()>;

    /// Merges the tablets that contain rows after `start` (exclusive) up to `end` (inclusive) into
    /// one.
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

    /// Writes the content of memory to files. With `wait`, returns when that is done, otherwise as
    /// soon as it is requested; a store without background threads always waits.
    ///
    /// # Errors
    /// With `wait`, why the content of memory was not written: the disk returned an error, or the
    /// table was deleted meanwhile.
    fn flush(&self, wait: bool) -> Result<()>;

    /// Merges the files of each tablet into one.
    ///
    /// # Errors
    /// Unknown iterators, an error of the disk, or [`Cancelled`](ErrorKind::Cancelled).
    fn compact(&self, options: &CompactOptions) -> Result<()>;

    /// Cancels compactions that users requested, and stops other background work of the table whose
    /// iterators read nothing for a while. May take a second if there is such work.
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

    /// Takes over all sorted files of a directory atomically. Names that begin with `_` or `.` are
    /// skipped. The files were written by other processes and are checked.
    ///
    /// # Errors
    /// `InvalidArgument` for an empty directory; the name of the first file that is not a sorted
    /// file, is damaged or has a newer format version; the source has no
    /// [`BulkImport`](Capability::BulkImport). Then nothing is imported, and the directory is
    /// unchanged.
    fn import_directory(
        &self,
        directory: &Path,
        options: &ImportDirectoryOptions,
    ) -> Result<ImportReport> {
        let _ = (directory, options);
        Err(unsupported(Capability::BulkImport))
    }
}

/// A callback of a source's timer.
pub trait Tick: Send + Sync {
    /// Does the work that is due. It may delay the ticks of other writers of the source.
    fn tick(&self);
}

/// A submitted batch.
pub trait PendingWrite: Send {
    /// Waits until the batch is applied with the requested durability.
    ///
    /// # Errors
    /// The batch, or part of it, may not be applied.
    fn wait(self: Box<Self>) -> Result<WriteOutcome>;

    /// As [`wait`](Self::wait), for a limited time. A source without a clock waits without limit.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable) after the timeout: the batch may still be applied.
    fn wait_at_most(self: Box<Self>, timeout: Duration) -> Result<WriteOutcome> {
        let _ = timeout;
        self.wait()
    }

    /// Whether [`wait`](Self::wait) would return at once.
    fn is_done(&self) -> bool;

    /// Wakes `waker` once [`is_done`](Self::is_done) is true, also if it is already. A later call
    /// replaces the waker. This default wakes at once, so that the caller asks again.
    fn wake_when_done(&self, waker: &Waker) {
        waker.wake_by_ref();
    }
}

/// A running scan.
///
/// An error is final. After [`next_batch`](Self::next_batch) or [`restart`](Self::restart) failed,
/// every call returns the same error again and no entry, until a restart succeeds. A panic of an
/// iterator is an error too: a scan that ends with `Ok(false)` has returned all its entries. A scan
/// ends soon, with an error that gives the reason, when its table is deleted or goes off-line, or
/// its source is closed.
pub trait Scan: Send {
    /// Replaces the content of `out` by the next entries. `Ok(false)` means that the scan has ended
    /// and `out` is empty. `Ok(true)` means that `out` holds at least one entry, or none if
    /// [`answer_within`](ScanOptions::answer_within) was set and the time is over.
    ///
    /// # Errors
    /// A corrupt file, a failed read, a table deleted meanwhile;
    /// [`Cancelled`](ErrorKind::Cancelled) and [`TimedOut`](ErrorKind::TimedOut), as the options
    /// say. Then `out` is empty.
    fn next_batch(&mut self, out: &mut Batch) -> Result<bool>;

    /// Starts over with other ranges, the same options and a fresh snapshot. Much cheaper than a
    /// new scan, and meant for many point reads one after another.
    ///
    /// # Errors
    /// As [`Table::scan`].
    fn restart(&mut self, ranges: &[Range]) -> Result<()>;

    /// The ranges that a scan with [`resumable`](ScanOptions::resumable) has not returned yet, for
    /// another scan with a new snapshot. Exact for an ordered scan. For an unordered scan they are
    /// larger, since a range that was read in part is included as a whole. Iterators that make new
    /// entries must support a seek to the range after each of them, as [`Range::after`] gives it.
    ///
    /// # Errors
    /// The scan was started without that option, or the source has no
    /// [`ScanResume`](Capability::ScanResume).
    fn unread(&self) -> Result<Vec<Range>> {
        Err(unsupported(Capability::ScanResume))
    }
}

/// A bulk import: sorted entries become table files and one atomic change of the catalog.
///
/// After an error, entries of earlier calls may be gone with the file that held them, so [`append`](Self::append) and
/// [`finish`](Self::finish) fail from then on. Drop the writer, and import everything again with a new one.
pub trait BulkWriter: Send {
    /// Appends entries, which must be sorted and not less than those appended before.
    ///
    /// # Errors
    /// Unsorted entries, or an error of the disk.
    fn append(&mut self, batch: &Batch) -> Result<()>;

    /// Makes everything appended visible at once; returns the number of entries. Dropping the
    /// writer instead leaves no trace.
    ///
    /// # Errors
    /// An error of the disk; then nothing is visible.
    fn finish(self: Box<Self>) -> Result<u64>;
}

fn unsupported(capability: Capability) -> Error {
    Error::new(ErrorKind::Unsupported, "this source cannot do that")
        .with("capability", format!("{capability:?}"))
}
