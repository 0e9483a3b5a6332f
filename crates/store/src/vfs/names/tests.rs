//! Names that failed syncs may have lost, and stores that were closed.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(clippy::disallowed_methods, reason = "a thread of a test")]

use std::sync::mpsc;
use std::time::Duration;

use super::super::MemoryVfs;
use super::*;

/// A disk whose next sync of a directory may fail, and that calls back before it creates a file.
struct Failing {
    disk: Arc<dyn Vfs>,
    failure: Mutex<Option<ErrorKind>>,
    second: Mutex<Option<ErrorKind>>,
    before: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// Called by a sync that is told to fail.
    before_sync: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// Directories whose names were synced since they were made.
    durable: Mutex<HashSet<PathBuf>>,
}

impl Failing {
    fn fail(&self, kind: ErrorKind) {
        *self.failure.lock() = Some(kind);
    }

    /// The sync after the next one fails.
    fn fail_second(&self, kind: ErrorKind) {
        *self.second.lock() = Some(kind);
    }

    /// Before a sync that is told to fail.
    fn before_sync(&self, call: impl FnOnce() + Send + 'static) {
        *self.before_sync.lock() = Some(Box::new(call));
    }

    fn before_creation(&self, call: impl FnOnce() + Send + 'static) {
        *self.before.lock() = Some(Box::new(call));
    }
}

impl std::fmt::Debug for Failing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Failing")
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}

fn watched() -> (Arc<Failing>, Arc<WatchedNames>) {
    let disk = Arc::new(Failing {
        disk: MemoryVfs::shared(),
        failure: Mutex::default(),
        second: Mutex::default(),
        before: Mutex::default(),
        before_sync: Mutex::default(),
        durable: Mutex::default(),
    });
    disk.create_dir_all(Path::new("/d")).unwrap();
    (disk.clone(), WatchedNames::on(disk, Path::new("/d")))
}

macro_rules! passed_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $name(&self, $($argument: $type),*) -> $result {
            self.disk.$name($($argument),*)
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
        exists(path: &Path) -> StoreResult<bool>;
        len(path: &Path) -> StoreResult<u64>;
        lock(path: &Path) -> StoreResult<Box<dyn FileLock>>;
        free_space(dir: &Path) -> StoreResult<u64>;
    }

    fn create(&self, path: &Path) -> StoreResult<Box<dyn WritableFile>> {
        let before = self.before.lock().take();
        if let Some(before) = before {
            before();
        }
        self.disk.create(path)
    }

    fn create_dir_all(&self, dir: &Path) -> StoreResult<()> {
        if !self.disk.exists(dir)? {
            self.durable.lock().remove(dir);
        }
        self.disk.create_dir_all(dir)
    }

    fn remove_dir(&self, dir: &Path) -> StoreResult<()> {
        self.durable.lock().remove(dir);
        self.disk.remove_dir(dir)
    }

    fn sync_dir(&self, dir: &Path) -> StoreResult<()> {
        let failure = self.failure.lock().take();
        *self.failure.lock() = self.second.lock().take();
        if let Some(kind) = failure {
            let before = self.before_sync.lock().take();
            if let Some(before) = before {
                before();
            }
            return Err(Error::new(kind, "told to fail"));
        }
        self.disk.sync_dir(dir)?;
        let names = self.disk.list(dir)?;
        let paths = names.iter().map(|entry| dir.join(&entry.name));
        self.durable.lock().extend(paths);
        Ok(())
    }
}

#[test]
fn a_sealed_disk_changes_no_name() {
    let (disk, watched) = watched();
    let [dir, old, new] = ["/d", "/d/old", "/d/new"].map(Path::new);
    drop(watched.create(old).unwrap());
    watched.seal();
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
    let (dir, one) = (Path::new("/d"), Path::new("/d/one"));
    let early = watched.clone();
    disk.before_creation(move || early.sync_dir(dir).unwrap());
    drop(watched.create(one).unwrap());
    disk.fail(ErrorKind::Io);
    assert!(watched.sync_dir(dir).is_err());
    // The disk reports success, although the failed sync may have lost the name.
    assert!(watched.sync_dir(dir).is_err());
    watched.remove(one).unwrap();
    watched.sync_dir(dir).unwrap();
}

#[test]
fn a_failed_creation_leaves_no_doubt_of_its_own() {
    let (disk, watched) = watched();
    let (dir, one) = (Path::new("/d"), Path::new("/d/one"));
    drop(watched.create(one).unwrap());
    // The name of the first creation stays new when a second one fails.
    assert!(watched.create(one).is_err());
    disk.fail(ErrorKind::Io);
    assert!(watched.sync_dir(dir).is_err());
    assert!(watched.sync_dir(dir).is_err());
    watched.remove(one).unwrap();
    watched.sync_dir(dir).unwrap();
    // A sync fails during a creation of a name that was there for long: nobody would remove it.
    drop(watched.create(one).unwrap());
    watched.sync_dir(dir).unwrap();
    let (early, failing) = (watched.clone(), disk.clone());
    disk.before_creation(move || {
        failing.fail(ErrorKind::Io);
        assert!(early.sync_dir(dir).is_err());
    });
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
    disk.fail(ErrorKind::Io);
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
    assert!(watched.sync_names(dir, &[one]).is_err());
    watched.sync_names(dir, &[other]).unwrap();
    watched.remove(one).unwrap();
    watched.sync_dir(dir).unwrap();
    // Another directory has its own names, and old names are not affected.
    disk.fail(ErrorKind::Io);
    assert!(watched.sync_dir(Path::new("/")).is_err());
    watched.sync_dir(dir).unwrap();
    disk.fail(ErrorKind::Io);
    assert!(watched.sync_dir(dir).is_err());
    watched.sync_dir(dir).unwrap();
    assert!(watched.exists(old).unwrap());
}

#[test]
fn a_doubtful_name_concerns_only_those_who_need_it() {
    let (disk, watched) = watched();
    let [dir, one, other] = ["/d", "/d/one", "/d/other"].map(Path::new);
    drop(watched.create(one).unwrap());
    disk.fail(ErrorKind::Io);
    assert!(watched.sync_names(dir, &[other]).is_err());
    drop(watched.create(other).unwrap());
    watched.sync_names(dir, &[other]).unwrap();
    watched.sync_names(dir, &[]).unwrap();
    watched.replace(other, b"bytes").unwrap();
    watched.create_dir_durably(Path::new("/d/more")).unwrap();
    assert!(watched.sync_names(dir, &[other, one]).is_err());
    // The system has dropped the name: it cannot be removed, and there is nothing left to lose.
    disk.remove(one).unwrap();
    assert!(watched.remove(one).is_err());
    watched.sync_dir(dir).unwrap();
}

/// Such as a lack of file descriptors, which is over a moment later.
#[test]
fn a_sync_that_did_not_begin_loses_no_name() {
    let (disk, watched) = watched();
    let [dir, one, other] = ["/d", "/d/one", "/d/other"].map(Path::new);
    for kind in [
        ErrorKind::TooManyOpenFiles,
        ErrorKind::PermissionDenied,
        ErrorKind::NotFound,
        ErrorKind::Unsupported,
    ] {
        drop(watched.create(one).unwrap());
        disk.fail(kind);
        assert_eq!(watched.sync_dir(dir).unwrap_err().kind(), kind);
        // It is still new: the next sync may lose it.
        disk.fail(ErrorKind::Io);
        assert!(watched.sync_dir(dir).is_err());
        assert!(watched.sync_dir(dir).is_err());
        watched.remove(one).unwrap();
        drop(watched.create(other).unwrap());
        disk.fail(kind);
        assert!(watched.sync_dir(dir).is_err());
        watched.sync_dir(dir).unwrap();
        watched.remove(other).unwrap();
    }
}

#[test]
fn names_of_renamed_directories_are_forgotten() {
    let (disk, watched) = watched();
    let before = watched.directories.lock().len();
    for round in 0..3 {
        let partial = PathBuf::from(format!("/copy{round}.partial"));
        watched.create_dir_all(&partial.join("store")).unwrap();
        drop(watched.create(&partial.join("store/one")).unwrap());
        let copy = PathBuf::from(format!("/copy{round}"));
        // `MemoryVfs` renames files only.
        disk.remove(&partial.join("store/one")).unwrap();
        disk.remove_dir(&partial.join("store")).unwrap();
        drop(disk.create(&partial.join("store")).unwrap());
        watched.rename(&partial.join("store"), &copy).unwrap();
    }
    // The root, and the directory in which each was built.
    let known = watched.directories.lock();
    assert!(
        !known.keys().any(|dir| dir.ends_with("store")),
        "{before} {known:?}"
    );
}

#[test]
fn a_change_outside_that_hangs_does_not_keep_the_store_from_closing() {
    let (disk, watched) = watched();
    let (begun, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    disk.before_creation(move || {
        begun.send(()).unwrap();
        may_go_on.recv().unwrap();
    });
    let outside = watched.clone();
    let hanging = std::thread::spawn(move || outside.create(Path::new("/copy")).map(drop));
    has_begun.recv().unwrap();
    watched.seal();
    let closed = watched.remove(Path::new("/d/one")).unwrap_err();
    assert_eq!(closed.kind(), ErrorKind::Closed);
    go_on.send(()).unwrap();
    hanging.join().unwrap().unwrap();
}

/// As two threads that write checkpoints below a new directory: the sync of the second may lose it.
#[test]
fn a_directory_of_two_creators_is_durable_for_both_or_lost_for_both() {
    let (disk, watched) = watched();
    let [dir, shared] = ["/d", "/d/shared"].map(Path::new);
    watched.create_dir_all(shared).unwrap();
    disk.fail(ErrorKind::Io);
    assert!(watched.create_dir_durably(shared).is_err());
    assert!(watched.sync_names(dir, &[shared]).is_err());
    watched.remove_dir(shared).unwrap();
    watched.create_dir_durably(shared).unwrap();
    watched.sync_names(dir, &[shared]).unwrap();
}

/// The first one's sync fails, and it removes the directory that the second one has found.
#[test]
fn a_directory_that_its_creator_removes_again_is_made_durable_by_the_next_one() {
    let (disk, watched) = watched();
    let new = Path::new("/d/new");
    let (begins, begun) = mpsc::channel();
    let (send, second) = mpsc::channel();
    let other = watched.clone();
    // While the first one syncs, the second one begins.
    disk.before_sync(move || {
        let thread = std::thread::spawn(move || {
            begins.send(()).unwrap();
            other.create_dir_durably(new)
        });
        begun.recv().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        send.send(thread).unwrap();
    });
    disk.fail_second(ErrorKind::TooManyOpenFiles);
    assert!(watched.create_dir_durably(new).is_err());
    second.recv().unwrap().join().unwrap().unwrap();
    assert!(disk.durable.lock().contains(new));
}

/// The sync of a new directory's name failed, and then its removal, as on a disk that comes back later.
#[test]
fn a_directory_that_could_not_be_removed_after_a_failed_sync_is_made_again() {
    let (disk, watched) = watched();
    let [outer, inner, file] = ["/d/outer", "/d/outer/inner", "/d/outer/file"].map(Path::new);
    let below = disk.clone();
    disk.before_sync(move || drop(below.disk.create(file).unwrap()));
    disk.fail_second(ErrorKind::Io);
    assert!(watched.create_dir_durably(inner).is_err());
    let error = watched.create_dir_durably(inner).unwrap_err().to_string();
    assert!(error.contains("move away what is in it"), "{error}");
    disk.disk.remove(file).unwrap();
    watched.create_dir_durably(inner).unwrap();
    for dir in [outer, inner] {
        assert!(disk.durable.lock().contains(dir));
    }
    // One that someone else has removed is made again, too.
    let other = Path::new("/d/other");
    let below = disk.clone();
    disk.before_sync(move || below.disk.remove_dir(other).unwrap());
    disk.fail_second(ErrorKind::Io);
    assert!(watched.create_dir_durably(other).is_err());
    watched.create_dir_durably(other).unwrap();
}

/// The directory is there already, and the sync of its parent may be impossible; that of a new one may not fail.
#[test]
fn the_parent_of_an_existing_directory_may_be_out_of_reach() {
    let (disk, watched) = watched();
    let [dir, new] = ["/d", "/d/new"].map(Path::new);
    for kind in [
        ErrorKind::PermissionDenied,
        ErrorKind::ReadOnly,
        ErrorKind::Unsupported,
    ] {
        disk.fail(kind);
        watched.create_dir_durably(dir).unwrap();
    }
    disk.fail(ErrorKind::Io);
    assert!(watched.create_dir_durably(dir).is_err());
    watched.create_dir_durably(new).unwrap();
    watched.remove_dir(new).unwrap();
    disk.fail_second(ErrorKind::ReadOnly);
    assert!(watched.create_dir_durably(new).is_err());
    // The next attempt makes it anew.
    assert!(!disk.exists(new).unwrap());
}
