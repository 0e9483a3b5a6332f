//! The interface through which an experiment gets empty sources from its caller.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{Result, Source};
use serde::{Deserialize, Serialize};

use crate::graphs::RankCommand;

/// How a source is to be opened for an experiment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RigSettings {
    /// Memory the source may use, in bytes. `None` takes the source's default.
    pub memory_budget_bytes: Option<u64>,
}

/// A disk array, as far as it is emulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskModel {
    /// How long a read, or a sync of the log, takes.
    pub latency: Duration,
    /// How many of them are served at once; others wait.
    pub queue_depth: usize,
}

/// Storage that can be made slower while it is in use.
pub trait EmulatedStorage: Sync {
    /// From now on, reads and syncs take at least as long as on this disk array; `None` for no delay.
    fn emulate(&self, disk: Option<DiskModel>);
}

/// What the caller knows about its sources and a record must state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RigConditions {
    /// Which source: `ostrakon, embedded`.
    pub source: String,
    /// Its version.
    pub version: String,
    /// How it is reached: `in the same process`, `over a socket`.
    pub reached: String,
    /// Memory budget in force, in bytes.
    pub memory_budget_bytes: u64,
    /// Where its data lies: file system and kind of disk as far as known.
    pub storage: String,
}

/// Gives empty sources to experiments, one at a time.
pub trait Rig: Sync {
    /// Deletes what the last source kept and opens an empty one. The experiment has dropped the
    /// last source before it asks for the next.
    ///
    /// # Errors
    /// When the old data cannot be deleted or the source not be opened.
    fn fresh(&self, settings: &RigSettings) -> Result<Arc<dyn Source>>;

    /// What is to be said about sources with these settings.
    fn conditions(&self, settings: &RigSettings) -> RigConditions;

    /// A directory for verify's scratch file and for the files of ranks, on the sources' file system.
    fn scratch(&self) -> &Path;

    /// The switch of the sources' storage; `None` (the default) where it cannot be slowed down, and experiments that
    /// need it fail.
    fn storage(&self) -> Option<&dyn EmulatedStorage> {
        None
    }

    /// How processes that sort their own part are started; `None` (the default) where they are not, and experiments
    /// leave their rows empty.
    fn ranks(&self) -> Option<&dyn RankCommand> {
        None
    }
}
