//! What all tables of a store share.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ostrakon_cell::{ConstraintRegistry, ConstraintSet, IteratorRegistry, Properties};
use parking_lot::{Condvar, Mutex, RwLock};

use super::attention::Attention;
use super::inherited::Inherited;
use super::pressure::Pressure;
use super::running::Running;
use super::write::LoggedCommit;
use crate::catalog::{Catalog, FileId};
use crate::clock::Clock;
use crate::compaction::ChooseFiles;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::memtable::BufferPool;
use crate::metrics::Metrics;
use crate::options::StoreOptions;
use crate::properties::TableConfig;
use crate::read::{ScanMemory, ScanThreads};
use crate::tablet::FileRegistry;
use crate::timer::Timer;
use crate::vfs::{Vfs, check_process, this_process};
use crate::wal::{CommitGroup, LogOrigin};

/// The shared parts of an open store.
pub(crate) struct StoreContext {
    /// The disk.
    pub(crate) vfs: Arc<dyn Vfs>,
    /// The store's directory.
    pub(crate) dir: PathBuf,
    /// Settings.
    pub(crate) options: StoreOptions,
    /// Time.
    pub(crate) clock: Arc<dyn Clock>,
    /// Counters.
    pub(crate) metrics: Arc<Metrics>,
    /// Tables, tablets and files on the disk.
    pub(crate) catalog: Catalog,
    /// Open table files.
    pub(crate) files: FileRegistry,
    /// Iterator classes.
    pub(crate) iterators: Arc<IteratorRegistry>,
    /// Constraint classes.
    pub(crate) constraints: ConstraintRegistry,
    /// What tables inherit. Before any `structure`, after the lock of administration.
    pub(crate) inherited: RwLock<Inherited>,
    /// Chooses what background compactions merge.
    pub(crate) chooser: Arc<dyn ChooseFiles>,
    /// Batches on their way to the log.
    pub(crate) commits: CommitGroup<LoggedCommit>,
    /// Whether the store may be written.
    pub(crate) health: Health,
    /// Calls writers that may have waited too long.
    pub(crate) timer: Arc<Timer>,
    /// What wakes the background threads.
    pub(crate) wakeups: Wakeups,
    /// The memory that open scans share.
    pub(crate) scan_memory: Arc<ScanMemory>,
    /// The threads that unordered scans share.
    pub(crate) scan_threads: Arc<ScanThreads>,
    /// Which tables they have to look at.
    pub(crate) attention: Attention,
    /// Flushes and compactions under way.
    pub(crate) running: Running,
    /// Buffers of flushed batches, to be filled again.
    pub(crate) buffers: Arc<BufferPool>,
    /// Memory held by memtables and batches under way.
    pub(crate) pressure: Pressure,
    /// Whose log it is.
    pub(crate) log_origin: LogOrigin,
    /// Number of the log segment that is written now.
    pub(crate) segment: AtomicU64,
    /// Bytes of that segment that were on the disk when the log ended; 0 before, and of a new one.
    pub(crate) log_end: AtomicU64,
    /// Checksum of its last record then.
    pub(crate) log_sum: AtomicU32,
    /// From this number on there are no gaps in the log.
    pub(crate) gapless_from: AtomicU64,
    /// Log segments below this were deleted.
    pub(crate) oldest_segment: AtomicU64,
    /// Whether the next flush is of a table with an old log rather than of a large one.
    pub(crate) old_log_first: AtomicBool,
    /// The last sequence number given out.
    pub(crate) sequence: AtomicU64,
    /// Compactions that users asked for and do not wait for. Closing does.
    pub(crate) requests: Mutex<Vec<JoinHandle<()>>>,
}

impl StoreContext {
    /// The next sequence number: of a batch, or of a memtable or an import as its age.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.sequence.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Everything that is set for a table, as it is stored, read; what cannot be read is among the problems of the
    /// answer.
    pub(crate) fn table_config(&self, set: &Arc<Properties>) -> TableConfig {
        TableConfig::stored(set, &self.iterators, &self.constraints)
    }

    /// Properties that somebody wants to set, read on their own: here an unknown constraint is an error.
    pub(crate) fn new_table_config(&self, properties: &Properties) -> StoreResult<TableConfig> {
        for (name, value) in properties {
            ConstraintSet::check_property(name, value, &self.constraints)?;
        }
        TableConfig::new(properties, &self.iterators, &self.constraints)
    }

    /// Gives up files that were written and could not be published. A file that a failed commit may
    /// have published all the same is left alone: the next opening knows what to do with it.
    pub(crate) fn discard(&self, ids: &[FileId]) {
        let surely: Vec<FileId> = ids
            .iter()
            .copied()
            .filter(|id| self.catalog.surely_lacks(*id))
            .collect();
        self.files.retire(&surely);
        self.wakeups.keep.wake();
        if self.catalog.is_uncertain() {
            self.health.fail(Error::new(
                ErrorKind::Io,
                "a change of the catalog failed, and may have taken place",
            ));
        }
    }

    /// The sequence of the last batch.
    #[must_use]
    pub(crate) fn last_sequence(&self) -> u64 {
        self.sequence.load(Ordering::SeqCst)
    }
}

/// Whether the store may be written, and why not.
pub(crate) struct Health {
    /// The process that opened the store, and its directory.
    process: u32,
    dir: PathBuf,
    /// The failure after which nothing may be written until the store is reopened.
    failed: Mutex<Option<Error>>,
}

impl Health {
    /// A store in `dir` that this process opened, and may write.
    pub(crate) fn new(dir: &Path) -> Self {
        Self {
            process: this_process(),
            dir: dir.to_owned(),
            failed: Mutex::default(),
        }
    }

    /// An error in a child of the process that opened the store. Takes no lock: a thread that the child
    /// does not have may hold it.
    pub(crate) fn check_process(&self) -> StoreResult<()> {
        check_process(self.process, &self.dir)
    }

    /// An error unless the store may be written.
    pub(crate) fn check_writable(&self) -> StoreResult<()> {
        self.check_process()?;
        self.failed
            .lock()
            .as_ref()
            .map_or(Ok(()), |error| Err(error.duplicate()))
    }

    /// An error once the store was closed.
    pub(crate) fn check_open(&self) -> StoreResult<()> {
        self.check_process()?;
        match &*self.failed.lock() {
            Some(error) if error.kind() == ErrorKind::Closed => Err(error.duplicate()),
            _ => Ok(()),
        }
    }

    /// Makes the store read-only until it is reopened: the log or the catalog could not be written
    /// or synced, or the log thread ended, so what they hold is not known any more.
    pub(crate) fn fail(&self, cause: Error) {
        let what = match cause.kind() {
            ErrorKind::Internal => "an error in the program stopped the writing of the store",
            ErrorKind::OutOfSpace => "the disk was full while the store was written",
            _ => "the disk failed while the store was written",
        };
        let mut failed = self.failed.lock();
        if failed.is_none() {
            *failed = Some(
                Error::new(
                    ErrorKind::ReadOnly,
                    format!("{what}; the store is read-only until it is closed and opened again"),
                )
                .with("cause", cause.kind().as_str())
                .with_source(cause),
            );
        }
    }

    /// Lets nobody write because the store was opened for reading only.
    pub(crate) fn open_read_only(&self) {
        *self.failed.lock() = Some(Error::new(
            ErrorKind::ReadOnly,
            "the store was opened read-only: open it for writing to change it",
        ));
    }

    /// Stops writing for good because the store is closing.
    pub(crate) fn close(&self) {
        *self.failed.lock() = Some(Error::new(ErrorKind::Closed, "the store is closed"));
    }
}

/// Wakes background threads when there may be work.
#[derive(Default)]
pub(crate) struct Wakeups {
    /// Memtables may need flushing.
    pub(crate) flush: Wakeup,
    /// Tablets may need compacting or splitting.
    pub(crate) compact: Wakeup,
    /// Memtable runs may need merging, files deleting.
    pub(crate) keep: Wakeup,
}

impl Wakeups {
    /// Wakes every thread.
    pub(crate) fn all(&self) {
        self.flush.wake();
        self.compact.wake();
        self.keep.wake();
    }
}

/// A condition variable that remembers being signalled.
#[derive(Default)]
pub(crate) struct Wakeup {
    signalled: Mutex<bool>,
    changed: Condvar,
}

impl Wakeup {
    /// Wakes those that wait.
    pub(crate) fn wake(&self) {
        *self.signalled.lock() = true;
        self.changed.notify_all();
    }

    /// Waits until woken, or for `at_most`.
    pub(crate) fn wait(&self, at_most: Duration) {
        let mut signalled = self.signalled.lock();
        if !*signalled {
            self.changed.wait_for(&mut signalled, at_most);
        }
        *signalled = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A panic of the log thread was called a failure of the disk.
    #[test]
    fn the_cause_of_a_store_that_is_read_only_is_named() {
        for (kind, expected) in [
            (ErrorKind::Internal, "an error in the program"),
            (ErrorKind::OutOfSpace, "the disk was full"),
            (ErrorKind::Io, "the disk failed"),
        ] {
            let health = Health::new(Path::new("/"));
            health.fail(Error::new(kind, "the first cause"));
            health.fail(Error::new(ErrorKind::Unsupported, "a later one"));
            let error = health.check_writable().expect_err("it failed");
            assert_eq!(error.kind(), ErrorKind::ReadOnly);
            assert!(error.message().starts_with(expected), "{error}");
            let cause = std::error::Error::source(&error).expect("a cause");
            assert!(cause.to_string().contains("the first cause"), "{cause}");
        }
    }
}
