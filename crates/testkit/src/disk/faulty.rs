//! The disk itself: names and files, and the levers that make it fail.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostrakon_store::error::{Error, ErrorKind, StoreResult};
use ostrakon_store::vfs::{
    DirectoryEntry, FileLock, Operation, RandomAccessFile, ReadableFile, Vfs, WritableFile,
    io_error,
};
use parking_lot::Mutex;

use super::faults::{Counters, Crash, Faults};
use super::handles::{Handle, Lock, SharedLock, Writing};
use super::names::Node;
use super::state::{State, named};

/// A disk in memory that remembers what was synced, file by file and directory by directory, and
/// fails on demand. Cheap to clone; clones are the same disk.
///
/// It is as forgetful as the contract of [`Vfs`] allows: a file whose directory was not synced is
/// gone after a loss of power, even if its content was synced, and so is a directory whose parent
/// was not synced. Everything random follows from the seed.
#[derive(Clone)]
pub struct FaultyVfs {
    state: Arc<Mutex<State>>,
}

impl fmt::Debug for FaultyVfs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyVfs")
            .field("counters", &self.counters())
            .finish_non_exhaustive()
    }
}

impl FaultyVfs {
    /// An empty disk without faults.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            state: Arc::new(Mutex::new(State::new(seed))),
        }
    }

    /// The disk as the store takes it.
    #[must_use]
    pub fn shared(&self) -> Arc<dyn Vfs> {
        Arc::new(self.clone())
    }

    /// Says what goes wrong from now on; counts begin anew, earlier faults end.
    pub fn set_faults(&self, faults: Faults) {
        self.state.lock().set_faults(faults);
    }

    /// Ends all faults.
    pub fn heal(&self) {
        self.set_faults(Faults::default());
    }

    /// The lights go out and on again: faults end, locks are free, and every handle opened before
    /// is dead.
    pub fn crash(&self, crash: Crash) {
        self.state.lock().crash(crash);
    }

    /// What was done since the disk was made.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.state.lock().counters
    }

    /// Changes one bit of a file, where it lies. `false` if the file ends before that.
    ///
    /// # Errors
    /// There is no such file.
    pub fn flip_bit(&self, path: &Path, offset: u64, bit: u32) -> StoreResult<bool> {
        let mut state = self.state.lock();
        let id = state.file_id(Operation::Write, path)?;
        let file = state.files.get_mut(&id);
        Ok(file.is_some_and(|file| file.content.flip(offset as usize, bit)))
    }

    /// The bytes of a file, as programs see them.
    ///
    /// # Errors
    /// There is no such file.
    pub fn content(&self, path: &Path) -> StoreResult<Vec<u8>> {
        let state = self.state.lock();
        let id = state.file_id(Operation::Read, path)?;
        let file = state.files.get(&id);
        Ok(file.map_or_else(Vec::new, |file| file.content.live().to_vec()))
    }

    /// Gives a file other bytes, where it lies.
    ///
    /// # Errors
    /// There is no such file.
    pub fn overwrite(&self, path: &Path, bytes: &[u8]) -> StoreResult<()> {
        let mut state = self.state.lock();
        let id = state.file_id(Operation::Write, path)?;
        if let Some(file) = state.files.get_mut(&id) {
            file.content.replace(bytes);
        }
        Ok(())
    }

    /// Removes a file for good.
    ///
    /// # Errors
    /// There is no such file.
    pub fn take_away(&self, path: &Path) -> StoreResult<()> {
        let mut state = self.state.lock();
        state.file_id(Operation::Remove, path)?;
        state.names.take_away(path);
        state.forget_unnamed();
        Ok(())
    }

    /// All files below a directory, at any depth, sorted: where rot may strike.
    #[must_use]
    pub fn files_below(&self, dir: &Path) -> Vec<PathBuf> {
        let state = self.state.lock();
        let files = state
            .names
            .below(dir)
            .filter(|(_, node)| matches!(node, Node::File(_)));
        files.map(|(path, _)| path.clone()).collect()
    }

    fn handle(&self, state: &State, path: &Path, id: u64) -> Handle {
        Handle::new(
            Arc::clone(&self.state),
            path.to_owned(),
            id,
            state.generation,
        )
    }
}

impl Vfs for FaultyVfs {
    fn create(&self, path: &Path) -> StoreResult<Box<dyn WritableFile>> {
        let mut state = self.state.lock();
        state.check_parent(Operation::Create, path)?;
        if state.names.get(path).is_some() {
            return Err(named(Operation::Create, path, io::ErrorKind::AlreadyExists));
        }
        state.change(Operation::Create, path)?;
        // The limit on open files is asked first, since a refused creation makes no file.
        state.open(Operation::Create, path, 0)?;
        let id = state.new_file(path);
        if let Some(file) = state.files.get_mut(&id) {
            file.handles += 1;
        }
        Ok(Box::new(Writing::new(self.handle(&state, path, id))))
    }

    fn open(&self, path: &Path) -> StoreResult<Arc<dyn ReadableFile>> {
        let mut state = self.state.lock();
        let id = state.file_id(Operation::Open, path)?;
        if let Some((end, errno)) = state.faults.refuses
            && path.to_string_lossy().ends_with(end)
        {
            let refused = io::Error::from_raw_os_error(errno);
            return Err(io_error(Operation::Open, path, refused));
        }
        state.open(Operation::Open, path, id)?;
        Ok(Arc::new(self.handle(&state, path, id)))
    }

    fn open_random(&self, path: &Path) -> StoreResult<Arc<dyn RandomAccessFile>> {
        let mut state = self.state.lock();
        state.check_parent(Operation::Create, path)?;
        // Opening for writing is refused on a read-only disk, whether the file exists or not.
        state.change(Operation::Create, path)?;
        let id = match state.names.get(path) {
            None => state.new_file(path),
            Some(_) => state.file_id(Operation::Create, path)?,
        };
        state.open(Operation::Create, path, id)?;
        Ok(Arc::new(self.handle(&state, path, id)))
    }

    fn rename(&self, from: &Path, to: &Path) -> StoreResult<()> {
        let mut state = self.state.lock();
        state.check_parent(Operation::Rename, to)?;
        match (state.names.get(from), state.names.get(to)) {
            (None, _) => return Err(named(Operation::Rename, from, io::ErrorKind::NotFound)),
            (Some(Node::File(_)), Some(Node::Directory)) => {
                return Err(named(Operation::Rename, to, io::ErrorKind::IsADirectory));
            }
            (Some(Node::Directory), Some(_)) => {
                return Err(named(Operation::Rename, to, io::ErrorKind::AlreadyExists));
            }
            _ => {}
        }
        state.change(Operation::Rename, from)?;
        state.names.rename(from, to);
        state.forget_unnamed();
        Ok(())
    }

    fn remove(&self, path: &Path) -> StoreResult<()> {
        let mut state = self.state.lock();
        state.file_id(Operation::Remove, path)?;
        state.change(Operation::Remove, path)?;
        state.names.remove(path);
        state.forget_unnamed();
        Ok(())
    }

    fn hard_link(&self, from: &Path, to: &Path) -> StoreResult<()> {
        let mut state = self.state.lock();
        let id = state.file_id(Operation::Link, from)?;
        state.check_parent(Operation::Link, to)?;
        if state.names.get(to).is_some() {
            return Err(named(Operation::Link, to, io::ErrorKind::AlreadyExists));
        }
        if state.faults.no_links {
            let refused = io::ErrorKind::CrossesDevices;
            return Err(named(Operation::Link, from, refused));
        }
        state.change(Operation::Link, from)?;
        state.names.put(to, Node::File(id));
        Ok(())
    }

    fn has_other_names(&self, path: &Path) -> StoreResult<bool> {
        let state = self.state.lock();
        let id = state.file_id(Operation::Inspect, path)?;
        let names = state.names.live_files().filter(|file| *file == id);
        Ok(names.count() > 1)
    }

    fn list(&self, dir: &Path) -> StoreResult<Vec<DirectoryEntry>> {
        let state = self.state.lock();
        match state.names.get(dir) {
            Some(Node::Directory) => {}
            Some(Node::File(_)) => {
                return Err(named(Operation::List, dir, io::ErrorKind::NotADirectory));
            }
            None => return Err(named(Operation::List, dir, io::ErrorKind::NotFound)),
        }
        let inside = state
            .names
            .below(dir)
            .filter(|(path, _)| path.parent() == Some(dir));
        let entries = inside.filter_map(|(path, node)| {
            let name = path.file_name()?.to_owned();
            Some(DirectoryEntry {
                name,
                is_dir: node == Node::Directory,
            })
        });
        Ok(entries.collect())
    }

    fn create_dir_all(&self, dir: &Path) -> StoreResult<()> {
        let mut state = self.state.lock();
        let mut missing = Vec::new();
        for ancestor in dir.ancestors() {
            match state.names.get(ancestor) {
                Some(Node::Directory) => break,
                Some(Node::File(_)) => {
                    let kind = io::ErrorKind::NotADirectory;
                    return Err(named(Operation::CreateDirectory, ancestor, kind));
                }
                None => missing.push(ancestor),
            }
        }
        for ancestor in missing.into_iter().rev() {
            state.change(Operation::CreateDirectory, ancestor)?;
            state.names.put(ancestor, Node::Directory);
        }
        Ok(())
    }

    fn remove_dir(&self, dir: &Path) -> StoreResult<()> {
        let mut state = self.state.lock();
        match state.names.get(dir) {
            Some(Node::Directory) if state.names.below(dir).next().is_some() => Err(named(
                Operation::Remove,
                dir,
                io::ErrorKind::DirectoryNotEmpty,
            )),
            Some(Node::Directory) => {
                state.change(Operation::Remove, dir)?;
                state.names.remove(dir);
                Ok(())
            }
            Some(Node::File(_)) => Err(named(Operation::Remove, dir, io::ErrorKind::NotADirectory)),
            None => Err(named(Operation::Remove, dir, io::ErrorKind::NotFound)),
        }
    }

    fn exists(&self, path: &Path) -> StoreResult<bool> {
        Ok(self.state.lock().names.get(path).is_some())
    }

    fn len(&self, path: &Path) -> StoreResult<u64> {
        let state = self.state.lock();
        let id = state.file_id(Operation::Inspect, path)?;
        Ok(state
            .files
            .get(&id)
            .map_or(0, |file| file.content.live().len() as u64))
    }

    fn sync_dir(&self, dir: &Path) -> StoreResult<()> {
        let mut state = self.state.lock();
        if state.names.get(dir) != Some(Node::Directory) {
            return Err(named(Operation::Sync, dir, io::ErrorKind::NotFound));
        }
        match state.sync(dir) {
            Ok(()) => {
                state.names.sync(dir);
                Ok(())
            }
            Err(error) => {
                if !state.is_dead() {
                    state.names.lose(dir);
                }
                Err(error)
            }
        }
    }

    fn lock(&self, path: &Path) -> StoreResult<Box<dyn FileLock>> {
        let mut state = self.state.lock();
        state.check_parent(Operation::Lock, path)?;
        state.change(Operation::Lock, path)?;
        let id = match state.names.get(path) {
            None => state.new_file(path),
            Some(_) => state.file_id(Operation::Lock, path)?,
        };
        if state.files.get(&id).is_some_and(|file| file.locked) || state.is_shared(path) {
            return Err(Error::new(
                ErrorKind::Locked,
                "the store is in use through another handle of this process; close that one first",
            )
            .with("file", path.display()));
        }
        state.open(Operation::Lock, path, id)?;
        if let Some(file) = state.files.get_mut(&id) {
            file.locked = true;
        }
        Ok(Box::new(Lock::new(self.handle(&state, path, id))))
    }

    fn lock_shared(&self, path: &Path) -> StoreResult<Box<dyn FileLock>> {
        let mut state = self.state.lock();
        let id = match state.names.get(path) {
            None => None,
            Some(_) => Some(state.file_id(Operation::Lock, path)?),
        };
        let file = id.and_then(|id| state.files.get(&id));
        if file.is_some_and(|file| file.locked) {
            return Err(Error::new(
                ErrorKind::Locked,
                "the store is in use through another handle of this process; close that one first",
            )
            .with("file", path.display()));
        }
        state.share(path);
        Ok(Box::new(SharedLock::new(
            Arc::clone(&self.state),
            path.to_owned(),
            state.generation,
        )))
    }

    fn free_space(&self, dir: &Path) -> StoreResult<u64> {
        let state = self.state.lock();
        match state.names.get(dir) {
            Some(_) => Ok(state.free_bytes()),
            None => Err(named(Operation::Inspect, dir, io::ErrorKind::NotFound)),
        }
    }
}
