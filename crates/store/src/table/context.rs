//! What all tables of a store share.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ostrakon_cell::IteratorRegistry;
use parking_lot::{Condvar, Mutex};

use super::pressure::Pressure;
use super::write::LoggedCommit;
use crate::cache::BlockCache;
use crate::catalog::Catalog;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::metrics::Metrics;
use crate::options::StoreOptions;
use crate::tablet::FileRegistry;
use crate::vfs::Vfs;
use crate::wal::CommitGroup;

/// The shared parts of an open store.
pub struct StoreContext {
    /// The disk.
    pub vfs: Arc<dyn Vfs>,
    /// The store's directory.
    pub dir: PathBuf,
    /// Settings.
    pub options: StoreOptions,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// Tables, tablets and files on the disk.
    pub catalog: Catalog,
    /// Open table files.
    pub files: FileRegistry,
    /// Blocks in memory.
    pub cache: Arc<BlockCache>,
    /// Iterator classes.
    pub iterators: Arc<IteratorRegistry>,
    /// Batches on their way to the log.
    pub commits: CommitGroup<LoggedCommit>,
    /// Whether the store may be written.
    pub health: Health,
    /// What wakes the background threads.
    pub wakeups: Wakeups,
    /// Memory held by memtables and batches under way.
    pub pressure: Pressure,
    /// Number of the log segment that is written now.
    pub segment: AtomicU64,
    /// Sequence of the last batch.
    pub sequence: AtomicU64,
}

impl StoreContext {
    /// The next sequence number.
    pub fn next_sequence(&self) -> u64 {
        self.sequence.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// The sequence of the last batch.
    #[must_use]
    pub fn last_sequence(&self) -> u64 {
        self.sequence.load(Ordering::SeqCst)
    }
}

/// Whether the store may be written, and why not.
#[derive(Default)]
pub struct Health {
    /// The failure after which nothing may be written until the store is reopened.
    failed: Mutex<Option<Error>>,
    /// The last failure of a background thread; cleared by its next success.
    background: Mutex<Option<Error>>,
}

impl Health {
    /// An error unless the store may be written.
    pub fn check_writable(&self) -> StoreResult<()> {
        self.failed
            .lock()
            .as_ref()
            .map_or(Ok(()), |error| Err(error.duplicate()))
    }

    /// Makes the store read-only until it is reopened: the log could not be written or synced, so
    /// what it holds is not known any more.
    pub fn fail(&self, cause: Error) {
        let mut failed = self.failed.lock();
        if failed.is_none() {
            *failed = Some(
                Error::new(
                    ErrorKind::ReadOnly,
                    "the log could not be written; the store is read-only until it is closed and \
                     opened again",
                )
                .with_source(cause),
            );
        }
    }

    /// Stops writing for good because the store is closing.
    pub fn close(&self) {
        *self.failed.lock() = Some(Error::new(ErrorKind::Closed, "the store is closed"));
    }

    /// Remembers or clears the outcome of background work.
    pub fn report_background(&self, outcome: &StoreResult<()>) {
        *self.background.lock() = outcome.as_ref().err().map(Error::duplicate);
    }

    /// The last failure of background work, if it has not succeeded since.
    #[must_use]
    pub fn background_error(&self) -> Option<Error> {
        self.background.lock().as_ref().map(Error::duplicate)
    }
}

/// Wakes background threads when there may be work.
#[derive(Default)]
pub struct Wakeups {
    /// Memtables may need flushing.
    pub flush: Wakeup,
    /// Tablets may need compacting or splitting.
    pub compact: Wakeup,
    /// Memtable runs may need merging, files deleting.
    pub keep: Wakeup,
}

impl Wakeups {
    /// Wakes every thread.
    pub fn all(&self) {
        self.flush.wake();
        self.compact.wake();
        self.keep.wake();
    }
}

/// A condition variable that remembers being signalled.
#[derive(Default)]
pub struct Wakeup {
    signalled: Mutex<bool>,
    changed: Condvar,
}

impl Wakeup {
    /// Wakes those that wait.
    pub fn wake(&self) {
        *self.signalled.lock() = true;
        self.changed.notify_all();
    }

    /// Waits until woken, or for `at_most`.
    pub fn wait(&self, at_most: Duration) {
        let mut signalled = self.signalled.lock();
        if !*signalled {
            self.changed.wait_for(&mut signalled, at_most);
        }
        *signalled = false;
    }
}
