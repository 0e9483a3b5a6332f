//! A file system wrapper that remembers failed syncs of directories, and changes no name of a store
//! that was closed.
//!
//! When a sync of a directory fails, the system may drop names and report success for the next
//! sync. The caller of the failed sync knows; a thread that created another name meanwhile and
//! syncs a moment later does not, and would publish a file that is lost in the next power failure.
//! So the name of every file that was new when a sync failed is doubtful until it is removed or
//! created again. A sync fails if its caller needs a doubtful name; those of other callers succeed.
//!
//! A name is new from before its creation begins until a sync that begins after its creation has
//! ended.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::contract::{
    DirectoryEntry, FileLock, Job, RandomAccessFile, ReadableFile, SequentialFile, StreamingFile,
    Vfs, WritableFile, create_dir_durably,
};
use crate::error::{Error, ErrorKind, StoreResult};

/// Tracks the state of names; everything else is passed to the file system underneath.
#[derive(Debug)]
pub struct WatchedNames {
    disk: Arc<dyn Vfs>,
    directories: Mutex<HashMap<PathBuf, Arc<Directory>>>,
    /// Held while a directory is made, synced, and removed again if the sync fails.
    making_directories: Mutex<()>,
    /// The directory of the store, if it is on this file system.
    store: Option<PathBuf>,
    /// Whether the store is closed. Held for reading while a name in its directory changes.
    sealed: RwLock<bool>,
}

#[derive(Debug, Default)]
struct Directory {
    /// One sync at a time, so that each knows the result of the previous one.
    syncing: Mutex<()>,
    names: Mutex<Names>,
}

#[derive(Debug, Default)]
struct Names {
    /// Created since the last sync began.
    fresh: HashSet<OsString>,
    /// Those whose creation has not ended: a sync may come too early for them, so they stay fresh.
    being_made: Vec<OsString>,
    doubtful: HashSet<OsString>,
}

impl Names {
    fn made(&mut self, name: &OsStr) {
        if let Some(at) = self.being_made.iter().position(|one| one == name) {
            self.being_made.swap_remove(at);
        }
    }
}

impl WatchedNames {
    /// Wraps `disk` for the store in the directory `store`.
    #[must_use]
    pub fn on(disk: Arc<dyn Vfs>, store: &Path) -> Arc<Self> {
        Self::with(disk, Some(store.to_owned()))
    }

    /// Wraps `disk`, to which a store in another place writes its checkpoints.
    #[must_use]
    pub fn outside(disk: Arc<dyn Vfs>) -> Arc<Self> {
        Self::with(disk, None)
    }

    fn with(disk: Arc<dyn Vfs>, store: Option<PathBuf>) -> Arc<Self> {
        Arc::new(Self {
            disk,
            directories: Mutex::default(),
            making_directories: Mutex::default(),
            store,
            sealed: RwLock::default(),
        })
    }

    /// Refuses all changes of names in the store's directory from now on: the next opening may give the number of a file
    /// again, and a thread that outlives the store must not remove that file. Waits for such changes that have begun.
    pub fn seal(&self) {
        *self.sealed.write() = true;
    }

    /// Runs `change`, which creates or removes these names.
    fn changing<T>(
        &self,
        names: &[&Path],
        change: impl FnOnce() -> StoreResult<T>,
    ) -> StoreResult<T> {
        let is_ours = |name: &&Path| {
            self.store
                .as_ref()
                .is_some_and(|store| name.starts_with(store))
        };
        if !names.iter().any(is_ours) {
            // Another file system may hang, which must not keep the store from closing.
            return change();
        }
        let sealed = self.sealed.read();
        match *sealed {
            true => Err(Error::new(ErrorKind::Closed, "the store was closed")),
            false => change(),
        }
    }

    fn directory(&self, dir: &Path) -> Arc<Directory> {
        let mut directories = self.directories.lock();
        if let Some(known) = directories.get(dir) {
            return known.clone();
        }
        let new = Arc::<Directory>::default();
        directories.insert(dir.to_owned(), new.clone());
        new
    }

    fn with_name(&self, path: &Path, change: impl FnOnce(&mut Names, &OsStr)) {
        if let (Some(dir), Some(name)) = (path.parent(), path.file_name()) {
            change(&mut self.directory(dir).names.lock(), name);
        }
    }

    /// Runs `make`, which creates the name `path`. The name is recorded first, since a concurrent
    /// sync may lose it.
    fn making<T>(&self, path: &Path, make: impl FnOnce() -> StoreResult<T>) -> StoreResult<T> {
        let (mut was_doubtful, mut was_fresh) = (false, false);
        self.with_name(path, |names, name| {
            was_doubtful = names.doubtful.remove(name);
            was_fresh = !names.fresh.insert(name.to_owned());
            names.being_made.push(name.to_owned());
        });
        let made = make();
        self.with_name(path, |names, name| {
            names.made(name);
            if made.is_err() {
                // What this call has not created is as it was before.
                if !was_fresh {
                    names.fresh.remove(name);
                    names.doubtful.remove(name);
                }
                if was_doubtful {
                    names.doubtful.insert(name.to_owned());
                }
            }
        });
        made
    }

    /// Syncs a directory unless one of its doubtful names is needed.
    fn sync(&self, dir: &Path, is_needed: impl Fn(&OsStr) -> bool) -> StoreResult<()> {
        let directory = self.directory(dir);
        let _syncing = directory.syncing.lock();
        let under_way = {
            let mut names = directory.names.lock();
            if let Some(name) = names.doubtful.iter().find(|name| is_needed(name)) {
                return Err(Error::new(
                    ErrorKind::Io,
                    "an earlier sync of this directory failed and may have lost this name, which was new; the file is \
                     given up and written again",
                )
                .with("directory", dir.display())
                .with("name", name.display()));
            }
            let being_made = names.being_made.iter().cloned().collect();
            std::mem::replace(&mut names.fresh, being_made)
        };
        self.disk.sync_dir(dir).inspect_err(|error| {
            let mut names = directory.names.lock();
            names.fresh.extend(under_way);
            if may_have_lost_names(error) {
                let fresh = std::mem::take(&mut names.fresh);
                names.doubtful.extend(fresh);
            }
        })
    }

    /// Removes `dir` and its parents as far as their names are doubtful, so that they can be made again. A failed sync leaves
    /// such a directory if its removal failed as well.
    fn remove_doubtful_directories(&self, dir: &Path) -> StoreResult<()> {
        for dir in dir.ancestors() {
            let mut is_doubtful = false;
            self.with_name(dir, |names, name| {
                is_doubtful = names.doubtful.contains(name);
            });
            if !is_doubtful {
                continue;
            }
            match self.remove_dir(dir) {
                Err(error) if error.kind() == ErrorKind::NotFound => self.forget(dir),
                removed => removed.map_err(|error| {
                    error.with("directory", dir.display()).with(
                        "hint",
                        "an earlier sync failed and may have lost this new directory, so it is made again: move away \
                         what is in it",
                    )
                })?,
            }
        }
        Ok(())
    }

    /// The name was removed, and is no longer doubtful.
    fn forget(&self, path: &Path) {
        self.with_name(path, |names, name| {
            names.fresh.remove(name);
            names.doubtful.remove(name);
        });
    }
}

impl Vfs for WatchedNames {
    fn create(&self, path: &Path) -> StoreResult<Box<dyn WritableFile>> {
        self.changing(&[path], || self.making(path, || self.disk.create(path)))
    }

    fn create_streaming(&self, path: &Path) -> StoreResult<Box<dyn StreamingFile>> {
        self.changing(&[path], || {
            self.making(path, || self.disk.create_streaming(path))
        })
    }

    fn open_sequential(&self, path: &Path) -> StoreResult<Arc<dyn SequentialFile>> {
        self.disk.open_sequential(path)
    }

    fn spawn_io(&self, job: Job) -> Result<(), Job> {
        self.disk.spawn_io(job)
    }

    fn open(&self, path: &Path) -> StoreResult<Arc<dyn ReadableFile>> {
        self.disk.open(path)
    }

    fn open_random(&self, path: &Path) -> StoreResult<Arc<dyn RandomAccessFile>> {
        self.changing(&[path], || match self.disk.exists(path)? {
            true => self.disk.open_random(path),
            false => self.making(path, || self.disk.open_random(path)),
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> StoreResult<()> {
        self.changing(&[from, to], || {
            self.making(to, || self.disk.rename(from, to))?;
            // Whether the new name of what a failed sync may have lost is kept is not documented either.
            let mut is_doubtful = false;
            self.with_name(from, |names, name| {
                is_doubtful = names.doubtful.contains(name);
            });
            if is_doubtful {
                self.with_name(to, |names, name| {
                    names.doubtful.insert(name.to_owned());
                });
            }
            self.forget(from);
            // It may have been a directory.
            let mut directories = self.directories.lock();
            directories.retain(|dir, _| !dir.starts_with(from));
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> StoreResult<()> {
        self.changing(&[path], || {
            let removed = self.disk.remove(path);
            let is_gone = match &removed {
                Ok(()) => true,
                Err(error) => error.kind() == ErrorKind::NotFound,
            };
            if is_gone {
                self.forget(path);
            }
            removed
        })
    }

    fn hard_link(&self, from: &Path, to: &Path) -> StoreResult<()> {
        self.changing(&[to], || self.making(to, || self.disk.hard_link(from, to)))
    }

    fn has_other_names(&self, path: &Path) -> StoreResult<bool> {
        self.disk.has_other_names(path)
    }

    fn list(&self, dir: &Path) -> StoreResult<Vec<DirectoryEntry>> {
        self.disk.list(dir)
    }

    fn create_dir_all(&self, dir: &Path) -> StoreResult<()> {
        self.changing(&[dir], || match self.disk.exists(dir)? {
            true => self.disk.create_dir_all(dir),
            false => self.making(dir, || self.disk.create_dir_all(dir)),
        })
    }

    fn create_dir_durably(&self, dir: &Path) -> StoreResult<()> {
        let _making = self.making_directories.lock();
        self.remove_doubtful_directories(dir)?;
        create_dir_durably(self, dir)
    }

    fn remove_dir(&self, dir: &Path) -> StoreResult<()> {
        self.changing(&[dir], || {
            self.disk.remove_dir(dir)?;
            self.forget(dir);
            self.directories.lock().remove(dir);
            Ok(())
        })
    }

    fn exists(&self, path: &Path) -> StoreResult<bool> {
        self.disk.exists(path)
    }

    fn len(&self, path: &Path) -> StoreResult<u64> {
        self.disk.len(path)
    }

    /// Needs every name of the directory.
    fn sync_dir(&self, dir: &Path) -> StoreResult<()> {
        self.sync(dir, |_| true)
    }

    fn sync_names(&self, dir: &Path, needed: &[&Path]) -> StoreResult<()> {
        self.sync(dir, |name| {
            needed.iter().any(|path| path.file_name() == Some(name))
        })
    }

    fn lock(&self, path: &Path) -> StoreResult<Box<dyn FileLock>> {
        self.disk.lock(path)
    }

    fn lock_shared(&self, path: &Path) -> StoreResult<Box<dyn FileLock>> {
        self.disk.lock_shared(path)
    }

    fn free_space(&self, dir: &Path) -> StoreResult<u64> {
        self.disk.free_space(dir)
    }
}

/// Whether a sync of a directory began before it failed, on a file system that has such syncs.
fn may_have_lost_names(error: &Error) -> bool {
    !matches!(
        error.kind(),
        ErrorKind::NotFound
            | ErrorKind::PermissionDenied
            | ErrorKind::TooManyOpenFiles
            | ErrorKind::Unsupported
    )
}

#[cfg(test)]
mod tests;
