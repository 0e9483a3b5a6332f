//! What all tables of a store share.

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
    /// What tables inherit. Before any `structure`, after the lock of administration.
    pub(crate) inherited: RwLock<Inherited>,
    /// Chooses what background compactions merge.
    pub(crate) chooser: Arc<dyn ChooseFiles>,
    /// Batches on their way to the log.
    pub(crate) commits: Arc<CommitQueue>,
    /// Whether the store may be written.
    pub(crate) health: Arc<Health>,
    /// Calls writers that may have waited too long.
    pub(crate) timer: Arc<Timer>,
    /// What wakes the background threads.
    pub(crate) wakeups: Arc<Wakeups>,
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
    pub(crate) pressure: Arc<Pressure>,
    /// How far the log is.
    pub(crate) log: Arc<LogState>,
    /// Flushes and compactions that users asked for and do not wait for, or no more. Closing does.
    pub(crate) requests: Mutex<Vec<JoinHandle<()>>>,
}

impl StoreContext {
    /// Leaves a thread to run that a caller started and does not wait for.
    pub(crate) fn add_request(&self, request: JoinHandle<()>) {
        let mut requests = self.requests.lock();
        requests.retain(|request| !request.is_finished());
        requests.push(request);
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
        self.wakeups.maintenance.wake();
        if self.catalog.is_uncertain() {
            self.health.fail(Error::new(
                ErrorKind::Io,
                "a change of the catalog failed, and may have taken place",
            ));
        }
    }
}
