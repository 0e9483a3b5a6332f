//! State shared by all tables of a store.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use ostrakon_cell::{ConstraintRegistry, ConstraintSet, IteratorRegistry, Properties};
use parking_lot::{Mutex, RwLock};

use super::attention::Attention;
use super::inherited::Inherited;
use super::running::Running;
use crate::catalog::{Catalog, FileId};
use crate::clock::Clock;
use crate::commit::CommitQueue;
use crate::compaction::ChooseFiles;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::memtable::BufferPool;
use crate::metrics::Metrics;
use crate::options::StoreOptions;
use crate::properties::TableConfig;
use crate::read::{ScanMemory, ScanThreads};
use crate::runtime::{Health, LogState, Pressure, Wakeups};
use crate::tablet::FileRegistry;
use crate::timer::Timer;
use crate::vfs::Vfs;

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
    /// Inherited properties. Locked before any `structure`, after the lock of administration.
    pub(crate) inherited: RwLock<Inherited>,
    /// Chooses the files that background compactions merge.
    pub(crate) chooser: Arc<dyn ChooseFiles>,
    /// Batches waiting for the log.
    pub(crate) commits: Arc<CommitQueue>,
    /// Whether the store may be written.
    pub(crate) health: Arc<Health>,
    /// Ticks the writers whose batches may be due.
    pub(crate) timer: Arc<Timer>,
    /// Wakes the background threads.
    pub(crate) wakeups: Arc<Wakeups>,
    /// The memory that open scans share.
    pub(crate) scan_memory: Arc<ScanMemory>,
    /// The threads that unordered scans share.
    pub(crate) scan_threads: Arc<ScanThreads>,
    /// Which tables the background threads have to check.
    pub(crate) attention: Attention,
    /// Running flushes and compactions.
    pub(crate) running: Running,
    /// Buffers of flushed batches, for reuse.
    pub(crate) buffers: Arc<BufferPool>,
    /// Memory of memtables and batches in progress.
    pub(crate) pressure: Arc<Pressure>,
    /// The state of the log.
    pub(crate) log: Arc<LogState>,
    /// Flushes and compactions requested by users that do not, or no longer, wait for them. Closing
    /// the store does.
    pub(crate) requests: Mutex<Vec<JoinHandle<()>>>,
}

impl StoreContext {
    /// Registers a thread that was started for a caller that does not wait for it.
    pub(crate) fn add_request(&self, request: JoinHandle<()>) {
        let mut requests = self.requests.lock();
        requests.retain(|request| !request.is_finished());
        requests.push(request);
    }

    /// Parses all properties set for a table, as stored; errors are among the problems of the
    /// result.
    pub(crate) fn table_config(&self, set: &Arc<Properties>) -> TableConfig {
        TableConfig::stored(set, &self.iterators, &self.constraints)
    }

    /// Parses properties that a user sets, on their own: here an unknown constraint is an error.
    pub(crate) fn new_table_config(&self, properties: &Properties) -> StoreResult<TableConfig> {
        for (name, value) in properties {
            ConstraintSet::check_property(name, value, &self.constraints)?;
        }
        TableConfig::new(properties, &self.iterators, &self.constraints)
    }

    /// Deletes files that were written and could not be published. A file that a failed commit may
    /// have published is kept: the next opening decides.
    pub(crate) fn discard(&self, ids: &[FileId]) {
        let surely: Vec<FileId> = ids
            .iter()
            .copied()
            .filter(|id| self.catalog.surely_lacks(*id))
            .collect();
        self.files.retire(&surely);
        self.wakeups.maintenance.wake();
        if self.catalog.is_uncertain() {
            self.health.fail(Error::new(
                ErrorKind::Io,
                "a change of the catalog failed, and may have taken place",
            ));
        }
    }
}
