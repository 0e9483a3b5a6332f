//! Open files of a failing disk.

use std::fmt;
use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ostrakon_store::error::StoreResult;
use ostrakon_store::vfs::{
    FileLock, FileSyncer, Operation, RandomAccessFile, ReadableFile, WritableFile, poisoned,
    short_file,
};
use parking_lot::Mutex;

use super::state::{ENOSPC, State, Verdict, refused};

/// One open file.
pub(super) struct Handle {
    state: Arc<Mutex<State>>,
    path: PathBuf,
    id: u64,
    generation: u64,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        if state.generation == self.generation {
            state.close(self.id);
        }
    }
}

impl Handle {
    pub(super) fn new(state: Arc<Mutex<State>>, path: PathBuf, id: u64, generation: u64) -> Self {
        Self {
            state,
            path,
            id,
            generation,
        }
    }

    fn read(&self, offset: u64, bytes: &mut [u8]) -> StoreResult<()> {
        let mut state = self.state.lock();
        state.of_handle(&self.path, self.id, self.generation)?;
        state.read(&self.path)?;
        let live = state
            .of_handle(&self.path, self.id, self.generation)?
            .content
            .live();
        let range = usize::try_from(offset).ok().and_then(|start| {
            let end = start.checked_add(bytes.len())?;
            live.get(start..end)
        });
        match range {
            Some(found) => {
                bytes.copy_from_slice(found);
                Ok(())
            }
            None => Err(short_file(
                &self.path,
                offset,
                bytes.len(),
                live.len() as u64,
            )),
        }
    }

    fn file_len(&self) -> StoreResult<u64> {
        let mut state = self.state.lock();
        let file = state.of_handle(&self.path, self.id, self.generation)?;
        Ok(file.content.live().len() as u64)
    }

    /// Writes at `offset`, or at the end. A failing write leaves a part of the bytes behind.
    fn write(&self, offset: Option<u64>, bytes: &[u8]) -> StoreResult<()> {
        let mut state = self.state.lock();
        let file = state.of_handle(&self.path, self.id, self.generation)?;
        let len = file.content.live().len();
        let offset = offset.map_or(len, |offset| offset as usize);
        let growth = (offset + bytes.len()).saturating_sub(len) as u64;
        let verdict = state.write(bytes.len(), growth);
        let file = state.of_handle(&self.path, self.id, self.generation)?;
        match verdict {
            Verdict::Whole => {
                file.content.write(offset, bytes);
                Ok(())
            }
            Verdict::Part(part, errno) => {
                file.content.write(offset, &bytes[..part]);
                Err(refused(Operation::Write, &self.path, errno))
            }
        }
    }

    fn sync(&self) -> StoreResult<()> {
        let mut state = self.state.lock();
        state.of_handle(&self.path, self.id, self.generation)?;
        let outcome = state.sync(&self.path);
        let is_dead = state.is_dead();
        let file = state.of_handle(&self.path, self.id, self.generation)?;
        match outcome {
            Ok(()) => file.content.sync(),
            Err(_) if is_dead => {}
            Err(_) => file.content.lose(),
        }
        outcome
    }
}

impl ReadableFile for Handle {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> StoreResult<()> {
        self.read(offset, bytes)
    }

    fn len(&self) -> StoreResult<u64> {
        self.file_len()
    }

    fn prefetch(&self, _offset: u64, _bytes: u64) {}

    fn path(&self) -> &Path {
        &self.path
    }
}

impl RandomAccessFile for Handle {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> StoreResult<()> {
        self.read(offset, bytes)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> StoreResult<()> {
        self.write(Some(offset), bytes)
    }

    fn set_len(&self, bytes: u64) -> StoreResult<()> {
        let mut state = self.state.lock();
        let file = state.of_handle(&self.path, self.id, self.generation)?;
        let growth = bytes.saturating_sub(file.content.live().len() as u64);
        state.change(Operation::Resize, &self.path)?;
        if growth > state.free_bytes() {
            return Err(refused(Operation::Resize, &self.path, ENOSPC));
        }
        let file = state.of_handle(&self.path, self.id, self.generation)?;
        file.content.set_len(bytes as usize);
        Ok(())
    }

    fn len(&self) -> StoreResult<u64> {
        self.file_len()
    }

    fn sync_data(&self) -> StoreResult<()> {
        self.sync()
    }
}

/// A file being appended to, and what its syncers share with it.
#[derive(Debug)]
pub(super) struct Writing {
    shared: Arc<Shared>,
    position: u64,
}

#[derive(Debug)]
struct Shared {
    handle: Handle,
    failed: AtomicBool,
}

impl Shared {
    /// Runs one operation, after which a failure is remembered.
    fn run(
        &self,
        operation: Operation,
        work: impl FnOnce(&Handle) -> StoreResult<()>,
    ) -> StoreResult<()> {
        if self.failed.load(Ordering::Acquire) {
            return Err(poisoned(operation, &self.handle.path));
        }
        let outcome = work(&self.handle);
        if outcome.is_err() {
            self.failed.store(true, Ordering::Release);
        }
        outcome
    }
}

impl FileSyncer for Shared {
    fn sync_data(&self) -> StoreResult<()> {
        self.run(Operation::Sync, Handle::sync)
    }
}

impl Writing {
    pub(super) fn new(handle: Handle) -> Self {
        Self {
            shared: Arc::new(Shared {
                handle,
                failed: AtomicBool::new(false),
            }),
            position: 0,
        }
    }
}

impl WritableFile for Writing {
    fn write_all(&mut self, bytes: &[u8]) -> StoreResult<()> {
        self.shared
            .run(Operation::Write, |handle| handle.write(None, bytes))?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> StoreResult<()> {
        // One system call, so one operation, which may fail in the middle of any slice.
        let bytes: Vec<u8> = slices
            .iter()
            .flat_map(|slice| slice.iter().copied())
            .collect();
        self.write_all(&bytes)
    }

    fn sync_data(&mut self) -> StoreResult<()> {
        self.shared.sync_data()
    }

    fn syncer(&self) -> Arc<dyn FileSyncer> {
        self.shared.clone()
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn allocate(&mut self, bytes: u64) -> StoreResult<()> {
        let free = self.shared.handle.state.lock().free_bytes();
        if bytes.saturating_sub(self.position) > free {
            return Err(refused(Operation::Resize, &self.shared.handle.path, ENOSPC));
        }
        Ok(())
    }

    fn start_writeback(&mut self, _offset: u64, _bytes: u64) {}

    fn path(&self) -> &Path {
        &self.shared.handle.path
    }
}

/// Holds a lock until dropped, or until the disk crashes.
#[derive(Debug)]
pub(super) struct Lock(Handle);

impl Lock {
    pub(super) fn new(handle: Handle) -> Self {
        Self(handle)
    }
}

impl FileLock for Lock {
    fn path(&self) -> &Path {
        &self.0.path
    }

    /// A process that was killed with the disk's power has no lock any more, and must not write.
    fn check(&self) -> StoreResult<()> {
        let mut state = self.0.state.lock();
        let file = state.of_handle(&self.0.path, self.0.id, self.0.generation);
        file.map(drop)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        if let Ok(file) = state.of_handle(&self.0.path, self.0.id, self.0.generation) {
            file.locked = false;
        }
    }
}

/// Holds a lock together with others until dropped, or until the disk crashes.
pub(super) struct SharedLock {
    state: Arc<Mutex<State>>,
    path: PathBuf,
    generation: u64,
}

impl SharedLock {
    pub(super) fn new(state: Arc<Mutex<State>>, path: PathBuf, generation: u64) -> Self {
        Self {
            state,
            path,
            generation,
        }
    }
}

impl fmt::Debug for SharedLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedLock of {}", self.path.display())
    }
}

impl FileLock for SharedLock {
    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SharedLock {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        if state.generation == self.generation {
            state.unshare(&self.path);
        }
    }
}
