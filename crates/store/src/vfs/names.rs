//! A file system wrapper that remembers failed syncs of directories, and changes no name of a store
//! that was closed.
//!
//! When a sync of a directory fails, the system may drop names and report success for the next
//! sync. The caller of the failed sync knows; a thread that created another name meanwhile and
//! syncs a moment later does not, and would publish a file that is lost in the next power failure.
//! So every name that was new when a sync failed is doubtful until it is removed or created again,
//! and as long as there is one, syncs of its directory fail. The files with those names are given
//! up, which removes them.
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
    Vfs, WritableFile,
};
use crate::error::{Error, ErrorKind, StoreResult};

/// Tracks the state of names; everything else is passed to the file system underneath.
#[derive(Debug)]
pub struct WatchedNames {
    disk: Arc<dyn Vfs>,
    directories: Mutex<HashMap<PathBuf, Arc<Directory>>>,
    /// The directory of the store, once that is closed. Changes hold it for reading.
    sealed: RwLock<Option<PathBuf>>,
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
    /// Wraps `disk`.
    #[must_use]
    pub fn on(disk: Arc<dyn Vfs>) -> Arc<Self> {
        Arc::new(Self {
            disk,
            directories: Mutex::default(),
            sealed: RwLock::default(),
        })
    }

    /// Refuses all changes of names in the store's directory from now on. A thread that outlives its
    /// store must not remove a file of the next one, which may have given the number again. Waits for
    /// changes under way.
    pub fn seal(&self, store: &Path) {
        *self.sealed.write() = Some(store.to_owned());
    }

    /// Changes names, of which these are those that it creates or removes.
    fn changing<T>(
        &self,
        names: &[&Path],
        change: impl FnOnce() -> StoreResult<T>,
    ) -> StoreResult<T> {
        let sealed = self.sealed.read();
        let inside = |store: &PathBuf| names.iter().any(|name| name.starts_with(store));
        match sealed.as_ref().is_some_and(inside) {
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
            self.forget(from);
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> StoreResult<()> {
        self.changing(&[path], || {
            self.disk.remove(path)?;
            self.forget(path);
            Ok(())
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
        self.changing(&[dir], || self.disk.create_dir_all(dir))
    }

    fn remove_dir(&self, dir: &Path) -> StoreResult<()> {
        self.changing(&[dir], || {
            self.disk.remove_dir(dir)?;
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

    fn sync_dir(&self, dir: &Path) -> StoreResult<()> {
        let directory = self.directory(dir);
        let _syncing = directory.syncing.lock();
        let under_way = {
            let mut names = directory.names.lock();
            if let Some(name) = names.doubtful.iter().next() {
                return Err(Error::new(
                    ErrorKind::Io,
                    "an earlier sync of this directory failed and may have lost names in it; files \
                     that were new then are given up and written again",
                )
                .with("directory", dir.display())
                .with("name", name.display()));
            }
            let being_made = names.being_made.iter().cloned().collect();
            std::mem::replace(&mut names.fresh, being_made)
        };
        self.disk.sync_dir(dir).inspect_err(|_| {
            let mut names = directory.names.lock();
            let fresh = std::mem::take(&mut names.fresh);
            names.doubtful.extend(under_way);
            names.doubtful.extend(fresh);
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::MemoryVfs;
    use super::*;

    /// A disk whose next sync of a directory fails, and that calls back before it creates a file.
    struct Failing(
        Arc<dyn Vfs>,
        AtomicBool,
        Mutex<Option<Box<dyn FnOnce() + Send>>>,
    );

    impl std::fmt::Debug for Failing {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_tuple("Failing")
                .field(&self.1)
                .finish_non_exhaustive()
        }
    }

    fn watched() -> (Arc<Failing>, WatchedNames) {
        let disk = Arc::new(Failing(
            MemoryVfs::shared(),
            AtomicBool::new(false),
            Mutex::new(None),
        ));
        disk.create_dir_all(Path::new("/d")).unwrap();
        let watched = WatchedNames {
            disk: disk.clone(),
            directories: Mutex::default(),
            sealed: RwLock::default(),
        };
        (disk, watched)
    }

    macro_rules! passed_on {
        ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
            $(fn $name(&self, $($argument: $type),*) -> $result {
                self.0.$name($($argument),*)
            })*
        };
    }

    impl Vfs for Failing {
        passed_on! {
            open(path: &Path) -> StoreResult<Arc<dyn ReadableFile>>;
            open_random(path: &Path) -> StoreResult<Arc<dyn RandomAccessFile>>;
            rename(from: &Path, to: &Path) -> StoreResult<()>;
            remove(path: &Path) -> StoreResult<()>;
            hard_link(from: &Path, to: &Path) -> StoreResult<()>;
            list(dir: &Path) -> StoreResult<Vec<DirectoryEntry>>;
            create_dir_all(dir: &Path) -> StoreResult<()>;
            remove_dir(dir: &Path) -> StoreResult<()>;
            exists(path: &Path) -> StoreResult<bool>;
            len(path: &Path) -> StoreResult<u64>;
            lock(path: &Path) -> StoreResult<Box<dyn FileLock>>;
            free_space(dir: &Path) -> StoreResult<u64>;
        }

        fn create(&self, path: &Path) -> StoreResult<Box<dyn WritableFile>> {
            let before = self.2.lock().take();
            if let Some(before) = before {
                before();
            }
            self.0.create(path)
        }

        fn sync_dir(&self, dir: &Path) -> StoreResult<()> {
            if self.1.swap(false, Ordering::SeqCst) {
                return Err(Error::new(ErrorKind::Io, "told to fail"));
            }
            self.0.sync_dir(dir)
        }
    }

    #[test]
    fn a_sealed_disk_changes_no_name() {
        let (disk, watched) = watched();
        let [dir, old, new] = ["/d", "/d/old", "/d/new"].map(Path::new);
        drop(watched.create(old).unwrap());
        watched.seal(dir);
        let refused = [
            watched.create(new).map(drop),
            watched.create_streaming(new).map(drop),
            watched.open_random(old).map(drop),
            watched.rename(old, new),
            watched.remove(old),
            watched.hard_link(old, new),
            watched.create_dir_all(new),
            watched.remove_dir(dir),
            watched.replace(old, b"bytes"),
        ];
        for outcome in refused {
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Closed);
        }
        assert_eq!(watched.list(dir).unwrap().len(), 1);
        // Such as a checkpoint that is being written.
        watched.hard_link(old, Path::new("/copy")).unwrap();
        assert!(watched.open(old).is_ok() && disk.exists(old).unwrap());
    }

    /// A sync between the record of a name and its creation says nothing about the name.
    #[test]
    fn a_name_is_new_until_a_sync_that_begins_after_its_creation() {
        let (disk, watched) = watched();
        let watched = Arc::new(watched);
        let (dir, one) = (Path::new("/d"), Path::new("/d/one"));
        let early = watched.clone();
        *disk.2.lock() = Some(Box::new(move || early.sync_dir(dir).unwrap()));
        drop(watched.create(one).unwrap());
        disk.1.store(true, Ordering::SeqCst);
        assert!(watched.sync_dir(dir).is_err());
        // The disk reports success, although the failed sync may have lost the name.
        assert!(watched.sync_dir(dir).is_err());
        watched.remove(one).unwrap();
        watched.sync_dir(dir).unwrap();
    }

    #[test]
    fn a_failed_creation_leaves_no_doubt_of_its_own() {
        let (disk, watched) = watched();
        let watched = Arc::new(watched);
        let (dir, one) = (Path::new("/d"), Path::new("/d/one"));
        drop(watched.create(one).unwrap());
        // The name of the first creation stays new when a second one fails.
        assert!(watched.create(one).is_err());
        disk.1.store(true, Ordering::SeqCst);
        assert!(watched.sync_dir(dir).is_err());
        assert!(watched.sync_dir(dir).is_err());
        watched.remove(one).unwrap();
        watched.sync_dir(dir).unwrap();
        // A sync fails during a creation of a name that was there for long: nobody would remove it.
        drop(watched.create(one).unwrap());
        watched.sync_dir(dir).unwrap();
        let (early, failing) = (watched.clone(), disk.clone());
        *disk.2.lock() = Some(Box::new(move || {
            failing.1.store(true, Ordering::SeqCst);
            assert!(early.sync_dir(dir).is_err());
        }));
        assert!(watched.create(one).is_err());
        watched.sync_dir(dir).unwrap();
    }

    #[test]
    fn a_name_created_during_a_failed_sync_is_doubtful_until_removed() {
        let (disk, watched) = watched();
        let (dir, old, one, other) = ("/d", "/d/old", "/d/one", "/d/other");
        let [dir, old, one, other] = [dir, old, one, other].map(Path::new);
        drop(watched.create(old).unwrap());
        watched.sync_dir(dir).unwrap();
        drop(watched.create(one).unwrap());
        drop(watched.create_streaming(other).unwrap());
        disk.1.store(true, Ordering::SeqCst);
        assert!(watched.sync_dir(dir).is_err());
        // The disk reports success, which is wrong.
        let error = watched.sync_dir(dir).unwrap_err();
        assert!(error.to_string().contains("earlier sync"), "{error}");
        watched.remove(one).unwrap();
        assert!(watched.sync_dir(dir).is_err());
        // A failed creation does not clear the doubt.
        assert!(watched.create(other).is_err());
        assert!(watched.sync_dir(dir).is_err());
        watched.rename(other, one).unwrap();
        watched.sync_dir(dir).unwrap();
        // Another directory has its own names, and old names are not affected.
        disk.1.store(true, Ordering::SeqCst);
        assert!(watched.sync_dir(Path::new("/")).is_err());
        watched.sync_dir(dir).unwrap();
        disk.1.store(true, Ordering::SeqCst);
        assert!(watched.sync_dir(dir).is_err());
        watched.sync_dir(dir).unwrap();
        assert!(watched.exists(old).unwrap());
    }
}
