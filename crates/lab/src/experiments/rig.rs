//! The interface through which an experiment gets empty sources from its caller.

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{Result, Source};
use serde::{Deserialize, Serialize};

use crate::graphs::RankCommand;

/// How a source is to be opened for an experiment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RigSettings {
    /// Memory the source may use, in bytes. `None` takes the source's default.
    pub memory_budget_bytes: Option<u64>,
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

    /// How processes that sort their own part are started; `None` (the default) where they are not, and experiments
    /// leave their rows empty.
    fn ranks(&self) -> Option<&dyn RankCommand> {
        None
    }
}
