//! Empty stores for experiments, in their own directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ostrakon_cell::{Error, ErrorKind, Source};
use ostrakon_lab::experiments::{EmulatedStorage, Rig, RigConditions, RigSettings};
use ostrakon_lab::graphs::RankCommand;
use ostrakon_store::{Store, StoreOptions};

use super::access::components;
use super::lab_rank::OwnRank;
use super::lab_storage::{Disks, SlowVfs};
use crate::failure::{Failure, Result};

/// Creates one store after another in a directory of its own, and removes the directory at the end.
#[derive(Debug)]
pub(super) struct StoreRig {
    /// Created here, and named after our process id, so that no other process uses it.
    directory: PathBuf,
    store: PathBuf,
    memory: Option<u64>,
    open: Mutex<Option<Arc<Store>>>,
    disks: Arc<Disks>,
}

impl StoreRig {
    /// A rig below `work`; `memory` is the budget of every store that an experiment does not give one.
    pub(super) fn new(work: &Path, memory: Option<u64>) -> Result<Self> {
        let directory = work.join(format!("ostrakon-lab-{}", std::process::id()));
        fs::create_dir_all(work)
            .and_then(|()| fs::create_dir(&directory))
            .map_err(|error| {
                Failure::io("cannot create the directory for experiments", &error)
                    .with("directory", directory.display().to_string())
            })?;
        Ok(Self {
            store: directory.join("store"),
            directory,
            memory,
            open: Mutex::new(None),
            disks: Arc::default(),
        })
    }

    fn budget(&self, settings: &RigSettings) -> u64 {
        settings
            .memory_budget_bytes
            .or(self.memory)
            .unwrap_or_else(|| StoreOptions::default().memory_budget_bytes)
    }

    fn close(&self) -> ostrakon_cell::Result<()> {
        let open = self
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        open.map_or(Ok(()), |store| store.close())
    }
}

impl Rig for StoreRig {
    fn fresh(&self, settings: &RigSettings) -> ostrakon_cell::Result<Arc<dyn Source>> {
        self.close()?;
        let refuse = |error: std::io::Error| {
            Error::new(
                ErrorKind::Io,
                "cannot remove the store of the last experiment",
            )
            .with("directory", self.store.display())
            .with_source(error)
        };
        if self.store.try_exists().map_err(refuse)? {
            fs::remove_dir_all(&self.store).map_err(refuse)?;
        }
        let options = StoreOptions {
            memory_budget_bytes: self.budget(settings),
            lend_unused: ostrakon_allocator::GIVES_BACK,
            ..StoreOptions::default()
        };
        let mut components = components();
        components.vfs = Arc::new(SlowVfs::new(components.vfs, Arc::clone(&self.disks)));
        let store = Store::open_with(components, &self.store, options)?;
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&store));
        Ok(store)
    }

    fn conditions(&self, settings: &RigSettings) -> RigConditions {
        conditions(&self.directory, self.budget(settings))
    }

    fn scratch(&self) -> &Path {
        &self.directory
    }

    fn storage(&self) -> Option<&dyn EmulatedStorage> {
        Some(&*self.disks)
    }

    fn ranks(&self) -> Option<&dyn RankCommand> {
        Some(&OwnRank)
    }
}

/// What there is to say about a store in this directory.
pub(super) fn conditions(directory: &Path, memory_budget_bytes: u64) -> RigConditions {
    RigConditions {
        source: "ostrakon, embedded".into(),
        version: env!("OSTRAKON_VERSION").into(),
        reached: "in the same process".into(),
        memory_budget_bytes,
        storage: storage(directory),
    }
}

impl Drop for StoreRig {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            Failure::warning("the store of the last experiment did not close")
                .with("reason", error.to_string())
                .warn();
        }
        if let Err(error) = fs::remove_dir_all(&self.directory) {
            Failure::warning("the directory of the experiments cannot be removed")
                .with("directory", self.directory.display().to_string())
                .with("reason", error.to_string())
                .next("remove it yourself")
                .warn();
        }
    }
}

/// File system and device of a directory, as listed by Linux; `unknown` on other systems.
fn storage(directory: &Path) -> String {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let directory = directory.canonicalize().unwrap_or_default();
    storage_among(&mounts, &directory)
}

fn storage_among(mounts: &str, directory: &Path) -> String {
    mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let (device, place, kind) = (words.next()?, words.next()?, words.next()?);
            directory
                .starts_with(place)
                .then(|| (place.len(), format!("{kind} on {device}")))
        })
        // A later mount at the same place hides an earlier one.
        .max_by_key(|(length, _)| *length)
        .map_or_else(|| "unknown".into(), |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_mount_holds_a_directory() {
        let mounts = "rootfs / rootfs rw 0 0\n/dev/sda1 / ext4 rw 0 0\ntmpfs /mnt tmpfs rw 0 0\n";
        assert_eq!(storage_among(mounts, Path::new("/mnt/x")), "tmpfs on tmpfs");
        assert_eq!(
            storage_among(mounts, Path::new("/mntfile")),
            "ext4 on /dev/sda1"
        );
        assert_eq!(storage_among("", Path::new("/")), "unknown");
    }
}
