//! The log's use of the disk: only the newest of its segments may have an unsynced end, failed
//! deletions of segments cause no extra work, and a check may run beside deletions.

use std::collections::HashMap;
use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostrakon_cell::{Mutation, MutationBatch, Source, TableOptions};
use ostrakon_store::error::{Error, ErrorKind, StoreResult};
use ostrakon_store::vfs::{
    DirectoryEntry, FileLock, FileSyncer, MemoryVfs, RandomAccessFile, ReadableFile, Vfs,
    WritableFile,
};
use ostrakon_store::{Components, Store, StoreOptions};

/// The bytes on the disk of each segment that was begun.
type Synced = Arc<Mutex<HashMap<PathBuf, u64>>>;

type Call = Box<dyn FnOnce() + Send>;

/// A disk on which no segment begins before those before it are on the disk to their last byte.
struct Watching {
    disk: Arc<dyn Vfs>,
    /// Called before the segments are listed the next time.
    before_list: Mutex<Option<Call>>,
    synced: Synced,
    keeps_segments: AtomicBool,
    refused: AtomicU64,
    other_syncs: Arc<AtomicU64>,
}

impl Watching {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            disk: MemoryVfs::shared(),
            before_list: Mutex::default(),
            synced: Synced::default(),
            keeps_segments: AtomicBool::new(false),
            refused: AtomicU64::new(0),
            other_syncs: Arc::default(),
        })
    }
}

impl std::fmt::Debug for Watching {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watching").finish_non_exhaustive()
    }
}

fn is_segment(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "wal")
}

macro_rules! passed_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $name(&self, $($argument: $type),*) -> $result {
            self.disk.$name($($argument),*)
        })*
    };
}

impl Vfs for Watching {
    passed_on! {
        open(path: &Path) -> StoreResult<Arc<dyn ReadableFile>>;
        rename(from: &Path, to: &Path) -> StoreResult<()>;
        hard_link(from: &Path, to: &Path) -> StoreResult<()>;
        create_dir_all(dir: &Path) -> StoreResult<()>;
        remove_dir(dir: &Path) -> StoreResult<()>;
        exists(path: &Path) -> StoreResult<bool>;
        len(path: &Path) -> StoreResult<u64>;
        sync_dir(dir: &Path) -> StoreResult<()>;
        lock(path: &Path) -> StoreResult<Box<dyn FileLock>>;
        free_space(dir: &Path) -> StoreResult<u64>;
    }

    fn list(&self, dir: &Path) -> StoreResult<Vec<DirectoryEntry>> {
        if dir.ends_with("wal") {
            let before = self.before_list.lock().unwrap().take();
            if let Some(before) = before {
                before();
            }
        }
        self.disk.list(dir)
    }

    fn remove(&self, path: &Path) -> StoreResult<()> {
        if is_segment(path) && self.keeps_segments.load(Ordering::SeqCst) {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return Err(Error::new(ErrorKind::Io, "told to fail"));
        }
        self.synced.lock().unwrap().remove(path);
        self.disk.remove(path)
    }

    fn create(&self, path: &Path) -> StoreResult<Box<dyn WritableFile>> {
        let file = self.disk.create(path)?;
        if !is_segment(path) {
            return Ok(file);
        }
        let mut synced = self.synced.lock().unwrap();
        for (before, synced) in &*synced {
            let len = self.disk.len(before).unwrap();
            assert_eq!(len, *synced, "{before:?} when {path:?} begins");
        }
        synced.insert(path.to_owned(), 0);
        Ok(Box::new(Segment {
            file,
            synced: self.synced.clone(),
        }))
    }

    fn open_random(&self, path: &Path) -> StoreResult<Arc<dyn RandomAccessFile>> {
        let file = self.disk.open_random(path)?;
        Ok(Arc::new(Settled {
            file,
            path: path.to_owned(),
            synced: self.synced.clone(),
            other_syncs: self.other_syncs.clone(),
        }))
    }
}

#[derive(Debug)]
struct Segment {
    file: Box<dyn WritableFile>,
    synced: Synced,
}

impl WritableFile for Segment {
    fn write_all(&mut self, bytes: &[u8]) -> StoreResult<()> {
        self.file.write_all(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> StoreResult<()> {
        self.file.write_vectored(slices)
    }

    fn sync_data(&mut self) -> StoreResult<()> {
        self.file.sync_data()?;
        let path = self.path().to_owned();
        self.synced.lock().unwrap().insert(path, self.position());
        Ok(())
    }

    fn syncer(&self) -> Arc<dyn FileSyncer> {
        self.file.syncer()
    }

    fn position(&self) -> u64 {
        self.file.position()
    }

    fn allocate(&mut self, bytes: u64) -> StoreResult<()> {
        self.file.allocate(bytes)
    }

    fn start_writeback(&mut self, offset: u64, bytes: u64) {
        self.file.start_writeback(offset, bytes);
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

#[derive(Debug)]
struct Settled {
    file: Arc<dyn RandomAccessFile>,
    path: PathBuf,
    synced: Synced,
    other_syncs: Arc<AtomicU64>,
}

impl RandomAccessFile for Settled {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> StoreResult<()> {
        self.file.read_at(offset, bytes)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> StoreResult<()> {
        self.file.write_at(offset, bytes)
    }

    fn set_len(&self, bytes: u64) -> StoreResult<()> {
        self.file.set_len(bytes)
    }

    fn len(&self) -> StoreResult<u64> {
        self.file.len()
    }

    fn sync_data(&self) -> StoreResult<()> {
        self.file.sync_data()?;
        if is_segment(&self.path) {
            let len = self.file.len()?;
            self.synced.lock().unwrap().insert(self.path.clone(), len);
        } else {
            self.other_syncs.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }
}

fn on(disk: &Arc<Watching>, background: bool) -> Arc<Store> {
    let components = Components {
        vfs: disk.clone(),
        ..Components::default()
    };
    let options = StoreOptions {
        background,
        memory_budget_bytes: 128 << 20,
        ..StoreOptions::default()
    };
    let store = Store::open_with(components, "/store", options).unwrap();
    if store.tables().unwrap().is_empty() {
        store.create_table("t", &TableOptions::default()).unwrap();
    }
    store
}

fn write(store: &Store, megabytes: usize) {
    for row in 0..megabytes {
        let mut mutation = Mutation::new(format!("{row:03}"));
        mutation.put("f", "q", vec![b'v'; 1 << 20]).unwrap();
        let mut batch = MutationBatch::new();
        batch.push(&mutation).unwrap();
        let table = store.table("t").unwrap();
        table.submit(batch, None).unwrap().wait().unwrap();
    }
}

#[test]
fn a_segment_begins_when_those_before_it_are_on_the_disk() {
    let disk = Watching::new();
    // A little, which closing leaves in the log, and much, of which it leaves nothing.
    for megabytes in [0, 1, 20, 1, 0, 40] {
        let store = on(&disk, false);
        write(&store, megabytes);
        store.close().unwrap();
    }
    assert!(
        !disk.synced.lock().unwrap().is_empty(),
        "segments were seen"
    );
}

#[test]
fn segments_that_cannot_be_deleted_are_given_up_once() {
    let disk = Watching::new();
    let store = on(&disk, true);
    write(&store, 20);
    disk.keeps_segments.store(true, Ordering::SeqCst);
    store.table("t").unwrap().flush(true).unwrap();
    let refused = || disk.refused.load(Ordering::SeqCst);
    while refused() == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    // The catalog was updated before the first segment was to be deleted; later commits may follow.
    std::thread::sleep(Duration::from_millis(50));
    let (before, syncs) = (refused(), disk.other_syncs.load(Ordering::SeqCst));
    while refused() < before + 4 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(disk.other_syncs.load(Ordering::SeqCst), syncs);
    disk.keeps_segments.store(false, Ordering::SeqCst);
    store.close().unwrap();
}

/// A check named segments as missing that were flushed and deleted between its look at the catalog and its look at the
/// directory.
#[test]
fn a_check_misses_no_segment_that_is_deleted_meanwhile() {
    let disk = Watching::new();
    let store = on(&disk, true);
    write(&store, 40);
    let segments = {
        let disk = Arc::clone(&disk.disk);
        move || disk.list(Path::new("/store/wal")).unwrap().len()
    };
    assert!(segments() > 1);
    let flushed = {
        let store = store.clone();
        Box::new(move || {
            store.table("t").unwrap().flush(true).unwrap();
            while segments() > 1 {
                std::thread::sleep(Duration::from_millis(1));
            }
        })
    };
    *disk.before_list.lock().unwrap() = Some(flushed);
    let report = store.check(&mut |_, _| true).unwrap();
    assert!(disk.before_list.lock().unwrap().is_none(), "it listed them");
    assert_eq!(report.problems, []);
    store.close().unwrap();
}
