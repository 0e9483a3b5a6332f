//! The temporary files of a session.

use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::common::Result as QueryResult;
use datafusion::execution::disk_manager::{DiskManager, DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::{SpillFile, TempFileFactory};
use ostrakon_cell::Result;
use parking_lot::Mutex;

use super::change::external;
use super::spill::SpillDirectory;

/// Makes the temporary files of a session, in a directory of its own that is made when the first one is wanted, and
/// made anew if it is gone: programs that clean up directories for temporary files remove it.
#[derive(Debug)]
pub(super) struct TemporaryFiles {
    place: Place,
    /// The process that made the directory. One that was forked from it leaves the directory alone.
    process: u32,
    manager: Mutex<Option<Arc<DiskManager>>>,
}

/// Where the directory is.
#[derive(Debug)]
enum Place {
    /// In a directory that the caller has named.
    Named(PathBuf),
    /// In the directory of the process, which lives as long as this.
    Shared(Mutex<Arc<SpillDirectory>>),
}

impl TemporaryFiles {
    /// Files in a directory, or in that of the process.
    ///
    /// # Errors
    /// The directory of the process cannot be made.
    pub(super) fn new(directory: Option<PathBuf>) -> Result<Self> {
        let place = match directory {
            Some(directory) => Place::Named(directory),
            None => Place::Shared(Mutex::new(SpillDirectory::shared()?)),
        };
        Ok(Self {
            place,
            process: std::process::id(),
            manager: Mutex::default(),
        })
    }

    fn directory(&self) -> Result<PathBuf> {
        match &self.place {
            Place::Named(directory) => Ok(directory.clone()),
            Place::Shared(shared) => {
                let mut shared = shared.lock();
                if !shared.is_there() {
                    *shared = SpillDirectory::shared()?;
                }
                Ok(shared.path().to_owned())
            }
        }
    }
}

impl TempFileFactory for TemporaryFiles {
    fn create_temp_file(&self, description: &str) -> QueryResult<Arc<dyn SpillFile>> {
        let mut manager = self.manager.lock();
        if let Some(manager) = &*manager
            && manager.temp_dir_paths().iter().all(|path| path.is_dir())
        {
            return manager.create_tmp_file(description);
        }
        let directory = self.directory().map_err(external)?;
        let mode = DiskManagerMode::Directories(vec![directory]);
        let made = Arc::new(DiskManagerBuilder::default().with_mode(mode).build()?);
        manager.insert(made).create_tmp_file(description)
    }
}

impl Drop for TemporaryFiles {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // It would remove the directory.
            let _kept = ManuallyDrop::new(self.manager.get_mut().take());
        }
    }
}
