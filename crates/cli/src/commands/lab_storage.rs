//! Emulates slow storage: reads of files and syncs wait as on a disk array. Everything else is the system's.

use std::fmt;
use std::io::IoSlice;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use ostrakon_lab::experiments::{DiskModel, EmulatedStorage};
use ostrakon_store::error::StoreResult;
use ostrakon_store::vfs::{
    DirectoryEntry, FileLock, FileSyncer, Job, RandomAccessFile, ReadableFile, SequentialFile,
    StreamingFile, Vfs, WritableFile,
};

/// The disk array; shared by a file system and its files.
#[derive(Default)]
pub(super) struct Disks {
    /// Whether an array is emulated. Read first, so that other experiments do not pay for a lock.
    slow: AtomicBool,
    state: Mutex<State>,
    free: Condvar,
}

#[derive(Debug, Default)]
struct State {
    model: Option<DiskModel>,
    /// Operations that are served now.
    busy: usize,
}

impl Disks {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One operation of the array. Returns at once while none is emulated.
    fn serve(&self) {
        if !self.slow.load(Ordering::Relaxed) {
            return;
        }
        let mut state = self.state();
        let model = loop {
            match state.model {
                None => return,
                Some(model) if state.busy < model.queue_depth => break model,
                Some(_) => {
                    state = self
                        .free
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                }
            }
        };
        state.busy += 1;
        drop(state);
        std::thread::sleep(model.latency);
        self.state().busy -= 1;
        self.free.notify_one();
    }
}

impl fmt::Debug for Disks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Disks").field(&*self.state()).finish()
    }
}

impl EmulatedStorage for Disks {
    fn emulate(&self, disk: Option<DiskModel>) {
        self.state().model = disk;
        self.slow.store(disk.is_some(), Ordering::Relaxed);
        self.free.notify_all();
    }
}

/// A file system on the array.
#[derive(Debug)]
pub(super) struct SlowVfs {
    inner: Arc<dyn Vfs>,
    disks: Arc<Disks>,
}

impl SlowVfs {
    /// `inner`, as slow as `disks` are at the time.
    pub(super) fn new(inner: Arc<dyn Vfs>, disks: Arc<Disks>) -> Self {
        Self { inner, disks }
    }
}

/// A file on the array.
#[derive(Debug)]
struct Slow<F> {
    inner: F,
    disks: Arc<Disks>,
}

impl<F> Slow<F> {
    fn new(inner: F, vfs: &SlowVfs) -> Self {
        Self {
            inner,
            disks: Arc::clone(&vfs.disks),
        }
    }
}

impl Vfs for SlowVfs {
    fn create(&self, path: &Path) -> StoreResult<Box<dyn WritableFile>> {
        Ok(Box::new(Slow::new(self.inner.create(path)?, self)))
    }

    fn create_streaming(&self, path: &Path) -> StoreResult<Box<dyn StreamingFile>> {
        Ok(Box::new(Slow::new(
            self.inner.create_streaming(path)?,
            self,
        )))
    }

    fn open_sequential(&self, path: &Path) -> StoreResult<Arc<dyn SequentialFile>> {
        Ok(Arc::new(Slow::new(self.inner.open_sequential(path)?, self)))
    }

    fn spawn_io(&self, job: Job) -> Result<(), Job> {
        self.inner.spawn_io(job)
    }

    fn open(&self, path: &Path) -> StoreResult<Arc<dyn ReadableFile>> {
        Ok(Arc::new(Slow::new(self.inner.open(path)?, self)))
    }

    /// The catalog, which is small and read once, stays fast.
    fn open_random(&self, path: &Path) -> StoreResult<Arc<dyn RandomAccessFile>> {
        self.inner.open_random(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> StoreResult<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> StoreResult<()> {
        self.inner.remove(path)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> StoreResult<()> {
        self.inner.hard_link(from, to)
    }

    fn has_other_names(&self, path: &Path) -> StoreResult<bool> {
        self.inner.has_other_names(path)
    }

    fn list(&self, dir: &Path) -> StoreResult<Vec<DirectoryEntry>> {
        self.inner.list(dir)
    }

    fn create_dir_all(&self, dir: &Path) -> StoreResult<()> {
        self.inner.create_dir_all(dir)
    }

    fn remove_dir(&self, dir: &Path) -> StoreResult<()> {
        self.inner.remove_dir(dir)
    }

    fn exists(&self, path: &Path) -> StoreResult<bool> {
        self.inner.exists(path)
    }

    fn len(&self, path: &Path) -> StoreResult<u64> {
        self.inner.len(path)
    }

    fn sync_dir(&self, dir: &Path) -> StoreResult<()> {
        self.inner.sync_dir(dir)
    }

    fn lock(&self, path: &Path) -> StoreResult<Box<dyn FileLock>> {
        self.inner.lock(path)
    }

    fn lock_shared(&self, path: &Path) -> StoreResult<Box<dyn FileLock>> {
        self.inner.lock_shared(path)
    }

    fn free_space(&self, dir: &Path) -> StoreResult<u64> {
        self.inner.free_space(dir)
    }
}

impl ReadableFile for Slow<Arc<dyn ReadableFile>> {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> StoreResult<()> {
        self.disks.serve();
        self.inner.read_at(offset, bytes)
    }

    fn len(&self) -> StoreResult<u64> {
        self.inner.len()
    }

    fn prefetch(&self, offset: u64, bytes: u64) {
        self.inner.prefetch(offset, bytes);
    }

    fn expect_random(&self) {
        self.inner.expect_random();
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }
}

impl SequentialFile for Slow<Arc<dyn SequentialFile>> {
    fn read(&self, offset: u64, bytes: usize, see: &mut dyn FnMut(&[u8])) -> StoreResult<()> {
        self.disks.serve();
        self.inner.read(offset, bytes, see)
    }
}

impl StreamingFile for Slow<Box<dyn StreamingFile>> {
    fn write_all(&mut self, bytes: &[u8]) -> StoreResult<()> {
        self.inner.write_all(bytes)
    }

    fn finish(self: Box<Self>) -> StoreResult<()> {
        self.disks.serve();
        self.inner.finish()
    }
}

impl WritableFile for Slow<Box<dyn WritableFile>> {
    fn write_all(&mut self, bytes: &[u8]) -> StoreResult<()> {
        self.inner.write_all(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> StoreResult<()> {
        self.inner.write_vectored(slices)
    }

    fn write_through(&mut self, slices: &[IoSlice<'_>]) -> StoreResult<()> {
        self.inner.write_through(slices)
    }

    fn sync_data(&mut self) -> StoreResult<()> {
        self.disks.serve();
        self.inner.sync_data()
    }

    fn syncer(&self) -> Arc<dyn FileSyncer> {
        Arc::new(Slow {
            inner: self.inner.syncer(),
            disks: Arc::clone(&self.disks),
        })
    }

    fn position(&self) -> u64 {
        self.inner.position()
    }

    fn allocate(&mut self, bytes: u64) -> StoreResult<()> {
        self.inner.allocate(bytes)
    }

    fn start_writeback(&mut self, offset: u64, bytes: u64) {
        self.inner.start_writeback(offset, bytes);
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }
}

impl FileSyncer for Slow<Arc<dyn FileSyncer>> {
    fn sync_data(&self) -> StoreResult<()> {
        self.disks.serve();
        self.inner.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use ostrakon_store::vfs::MemoryVfs;

    use super::*;

    #[test]
    fn reads_wait_for_a_place_and_for_the_disk() {
        let disks = Arc::new(Disks::default());
        let vfs = SlowVfs::new(Arc::new(MemoryVfs::default()), Arc::clone(&disks));
        let path = Path::new("/file");
        let mut written = vfs.create(path).unwrap();
        written.write_all(b"abc").unwrap();
        written.sync_data().unwrap();
        drop(written);
        let file = vfs.open(path).unwrap();
        disks.emulate(Some(DiskModel {
            latency: Duration::from_millis(10),
            queue_depth: 2,
        }));
        let started = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    let mut bytes = [0; 3];
                    file.read_at(0, &mut bytes).unwrap();
                    assert_eq!(&bytes, b"abc");
                });
            }
        });
        // Two at a time: never less than three rounds.
        assert!(started.elapsed() >= Duration::from_millis(30));
        assert_eq!(disks.state().busy, 0);
        disks.emulate(None);
        file.read_at(0, &mut [0; 3]).unwrap();
    }
}
