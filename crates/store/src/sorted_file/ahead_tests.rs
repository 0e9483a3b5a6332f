//! Reading ahead with threads, on the real disk with instrumentation.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
#![allow(clippy::disallowed_methods, reason = "the disk is under test")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ostrakon_cell::{Batch, BatchLimit, ColumnSelection, Key, Range, SortedKeyValueIterator};
use parking_lot::Mutex;

use super::{FileIterator, SortedFile, SortedFileWriter, WriterOptions};
use crate::cache::{BlockCache, CacheOptions};
use crate::catalog::Fence;
use crate::codec::Compression;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::metrics::Metrics;
use crate::vfs::{
    DirectoryEntry, FileLock, Job, Operation, RandomAccessFile, ReadableFile, RealVfs,
    SequentialFile, Vfs, WritableFile, io_error,
};

/// Injected failures and observed reads of the disk.
#[derive(Debug, Default)]
struct Watch {
    /// Bytes of each read.
    reads: Mutex<Vec<usize>>,
    running: AtomicUsize,
    /// Reads of more bytes than this fail.
    fail_above: AtomicUsize,
    slow: AtomicBool,
    /// Reads by threads of the disk.
    beside: AtomicUsize,
    /// Offsets and lengths of the ranges that the system was asked to load.
    prefetched: Mutex<Vec<(u64, u64)>>,
}

impl Watch {
    fn read(
        &self,
        path: &Path,
        bytes: usize,
        read: impl FnOnce() -> StoreResult<()>,
    ) -> StoreResult<()> {
        self.running.fetch_add(1, Ordering::SeqCst);
        self.reads.lock().push(bytes);
        let name = std::thread::current();
        if name.name().is_some_and(|name| name.starts_with("disk-")) {
            self.beside.fetch_add(1, Ordering::SeqCst);
        }
        if self.slow.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let outcome = if bytes > self.fail_above.load(Ordering::SeqCst) {
            Err(io_error(
                Operation::Read,
                path,
                io::Error::other("a scratch"),
            ))
        } else {
            read()
        };
        self.running.fetch_sub(1, Ordering::SeqCst);
        outcome
    }

    fn most_read(&self) -> usize {
        self.reads.lock().iter().copied().max().unwrap_or(0)
    }
}

/// The real disk with instrumentation.
#[derive(Debug)]
struct Watched(Arc<Watch>);

#[derive(Debug)]
struct WatchedFile<T: ?Sized> {
    watch: Arc<Watch>,
    path: PathBuf,
    file: Arc<T>,
}

impl SequentialFile for WatchedFile<dyn SequentialFile> {
    fn read(&self, offset: u64, bytes: usize, see: &mut dyn FnMut(&[u8])) -> StoreResult<()> {
        let read = || self.file.read(offset, bytes, see);
        self.watch.read(&self.path, bytes, read)
    }
}

impl ReadableFile for WatchedFile<dyn ReadableFile> {
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> StoreResult<()> {
        let len = bytes.len();
        let read = || self.file.read_at(offset, bytes);
        self.watch.read(&self.path, len, read)
    }

    fn len(&self) -> StoreResult<u64> {
        self.file.len()
    }

    fn prefetch(&self, offset: u64, bytes: u64) {
        self.watch.prefetched.lock().push((offset, bytes));
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl Vfs for Watched {
    fn create(&self, path: &Path) -> StoreResult<Box<dyn WritableFile>> {
        RealVfs.create(path)
    }

    fn open(&self, path: &Path) -> StoreResult<Arc<dyn ReadableFile>> {
        Ok(Arc::new(WatchedFile::<dyn ReadableFile> {
            watch: self.0.clone(),
            path: path.to_owned(),
            file: RealVfs.open(path)?,
        }))
    }

    fn open_sequential(&self, path: &Path) -> StoreResult<Arc<dyn SequentialFile>> {
        Ok(Arc::new(WatchedFile::<dyn SequentialFile> {
            watch: self.0.clone(),
            path: path.to_owned(),
            file: RealVfs.open_sequential(path)?,
        }))
    }

    fn spawn_io(&self, job: Job) -> Result<(), Job> {
        RealVfs.spawn_io(job)
    }

    fn open_random(&self, path: &Path) -> StoreResult<Arc<dyn RandomAccessFile>> {
        RealVfs.open_random(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> StoreResult<()> {
        RealVfs.rename(from, to)
    }

    fn remove(&self, path: &Path) -> StoreResult<()> {
        RealVfs.remove(path)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> StoreResult<()> {
        RealVfs.hard_link(from, to)
    }

    fn list(&self, dir: &Path) -> StoreResult<Vec<DirectoryEntry>> {
        RealVfs.list(dir)
    }

    fn create_dir_all(&self, dir: &Path) -> StoreResult<()> {
        RealVfs.create_dir_all(dir)
    }

    fn remove_dir(&self, dir: &Path) -> StoreResult<()> {
        RealVfs.remove_dir(dir)
    }

    fn exists(&self, path: &Path) -> StoreResult<bool> {
        RealVfs.exists(path)
    }

    fn len(&self, path: &Path) -> StoreResult<u64> {
        RealVfs.len(path)
    }

    fn sync_dir(&self, dir: &Path) -> StoreResult<()> {
        RealVfs.sync_dir(dir)
    }

    fn lock(&self, path: &Path) -> StoreResult<Box<dyn FileLock>> {
        RealVfs.lock(path)
    }

    fn free_space(&self, dir: &Path) -> StoreResult<u64> {
        RealVfs.free_space(dir)
    }
}

const ENTRIES: usize = 8000;
const VALUE: usize = 1000;
const BLOCK: usize = 32 << 10;

/// A file of 8 MB with its cache and disk.
struct Bench {
    _directory: tempfile::TempDir,
    path: PathBuf,
    watch: Arc<Watch>,
    metrics: Arc<Metrics>,
    cache: Arc<BlockCache>,
    file: Arc<SortedFile>,
}

fn row(at: usize) -> Vec<u8> {
    format!("{at:08}").into_bytes()
}

fn value(at: usize) -> Vec<u8> {
    let mut word = at as u64 + 1;
    let next = |_| {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        word as u8
    };
    // Of several lengths, so that blocks are, too.
    (0..VALUE - at % 13).map(next).collect()
}

fn bench(compression: Compression, cache_bytes: u64) -> Bench {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("1.sorted");
    let watch = Arc::new(Watch::default());
    watch.fail_above.store(usize::MAX, Ordering::SeqCst);
    let disk: Arc<dyn Vfs> = Arc::new(Watched(watch.clone()));
    let options = WriterOptions {
        compression,
        ..WriterOptions::default()
    };
    let mut writer = SortedFileWriter::create(&disk, &path, options).unwrap();
    for from in (0..ENTRIES).step_by(500) {
        let mut batch = Batch::new();
        for at in from..from + 500 {
            let key = Key::new(row(at), "f", "q");
            batch.push(key.as_ref(), &value(at)).unwrap();
        }
        writer.append(&batch, 0..batch.len()).unwrap();
    }
    writer.finish().unwrap();
    let metrics = Arc::new(Metrics::default());
    let sizes = CacheOptions {
        bytes: cache_bytes,
        ..CacheOptions::default()
    };
    let cache = BlockCache::new(sizes, metrics.clone()).unwrap();
    let file = SortedFile::open(&disk, &path, 1, &cache, &metrics).unwrap();
    // Read the file's metadata now, so that only blocks are counted later.
    file.iterator(&[Fence::ALL])
        .seek(&Range::row(row(ENTRIES - 1)), &ColumnSelection::all())
        .unwrap();
    watch.reads.lock().clear();
    Bench {
        _directory: directory,
        path,
        watch,
        metrics,
        cache,
        file,
    }
}

impl Bench {
    fn scan(&self) -> FileIterator {
        let mut iterator = self.file.iterator(&[Fence::ALL]);
        iterator
            .seek(&Range::all(), &ColumnSelection::all())
            .unwrap();
        iterator
    }

    fn read_all(&self) -> Result<usize, (usize, Error)> {
        read_on(&mut self.scan(), 0, usize::MAX)
    }

    /// Blocks read from the disk by `work`.
    fn blocks_read(&self, work: impl FnOnce()) -> u64 {
        let before = self.metrics.snapshot().blocks_read;
        work();
        self.metrics.snapshot().blocks_read - before
    }
}

/// Reads entries from number `at` up to number `to` or the end, and compares them; returns how far
/// it came.
fn read_on(iterator: &mut FileIterator, mut at: usize, to: usize) -> Result<usize, (usize, Error)> {
    let mut batch = Batch::new();
    while at < to {
        batch.clear();
        let limit = BatchLimit {
            entries: (to - at).min(100),
            bytes: usize::MAX,
        };
        let more = iterator.next_batch(&mut batch, limit);
        for entry in batch.iter() {
            assert_eq!(entry.key.row, row(at));
            assert!(entry.value == value(at), "entry {at}");
            at += 1;
        }
        if !more.map_err(|error| (at, error))? {
            break;
        }
    }
    Ok(at)
}

#[test]
fn a_scan_reads_ahead_no_more_than_it_has_read() {
    for past_cache in [false, true] {
        let bench = bench(Compression::None, 64 << 20);
        let read = || bench.watch.reads.lock().iter().sum::<usize>();
        let mut iterator = bench.file.iterator(&[Fence::ALL]);
        if past_cache {
            iterator = iterator.without_cache_fill();
        }
        iterator
            .seek(&Range::all(), &ColumnSelection::all())
            .unwrap();
        assert!(read() <= 64 << 10 | BLOCK, "{} bytes for nothing", read());
        let mut at = 0;
        while at < ENTRIES {
            at = read_on(&mut iterator, at, at + 10).unwrap();
            let come = at * VALUE;
            let most = (come + 2 * BLOCK).clamp(64 << 10, 4 << 20) + 2 * BLOCK;
            assert!(read() <= come + come / 10 + most, "{} at {come}", read());
        }
        assert!(bench.watch.most_read() >= 90 << 10);
        assert!(bench.watch.beside.load(Ordering::SeqCst) > 0);
        // Nothing was read twice.
        assert!(read() <= ENTRIES * VALUE * 11 / 10, "{}", read());
        assert_eq!(bench.cache.ahead().used(), 0);
    }
}

#[test]
fn reading_ahead_stays_inside_the_range() {
    let bench = bench(Compression::None, 64 << 20);
    for (from, to) in [(100, 101), (300, 310), (1000, 1100), (4000, 7000)] {
        let before: usize = bench.watch.reads.lock().iter().sum();
        let mut iterator = bench.file.iterator(&[Fence::ALL]);
        let range = Range::rows(row(from)..row(to));
        iterator.seek(&range, &ColumnSelection::all()).unwrap();
        assert_eq!(read_on(&mut iterator, from, usize::MAX).unwrap(), to);
        let read = bench.watch.reads.lock().iter().sum::<usize>() - before;
        let wanted = (to - from) * VALUE * 11 / 10 + 2 * BLOCK;
        assert!(read <= wanted, "{read} bytes where {wanted} are enough");
    }
}

#[test]
fn point_reads_load_each_region_of_a_file_once() {
    let bench = bench(Compression::None, 1 << 20);
    let read = |at: usize| {
        let mut iterator = bench.file.iterator(&[Fence::ALL]);
        let range = Range::row(row(at));
        iterator.seek(&range, &ColumnSelection::all()).unwrap();
        assert_eq!(read_on(&mut iterator, at, usize::MAX).unwrap(), at + 1);
    };
    // A few rows are read without anything around them.
    (0..10).for_each(|_| read(ENTRIES / 2));
    assert!(bench.watch.prefetched.lock().is_empty());
    for round in 0..3 {
        (0..ENTRIES).for_each(|at| read(at * 7 % ENTRIES));
        let mut prefetched = bench.watch.prefetched.lock().clone();
        prefetched.sort_unstable();
        let bytes: u64 = prefetched.iter().map(|(_, bytes)| bytes).sum();
        let len = fs::metadata(&bench.path).unwrap().len();
        assert!(
            bytes >= len - BLOCK as u64,
            "{bytes} of {len} in round {round}"
        );
        assert!(bytes < len + (1 << 20), "{bytes} of {len} in round {round}");
        let disjoint = |pair: &[(u64, u64)]| pair[0].0 + pair[0].1 <= pair[1].0;
        assert!(prefetched.windows(2).all(disjoint), "{prefetched:?}");
    }
}

#[test]
fn seeking_forward_wastes_no_reads() {
    let bench = bench(Compression::None, 64 << 20);
    let mut iterator = bench.scan();
    for at in (0..ENTRIES).step_by(10) {
        let onwards = Range::rows(row(at)..);
        iterator.seek(&onwards, &ColumnSelection::all()).unwrap();
        assert_eq!(read_on(&mut iterator, at, at + 10).unwrap(), at + 10);
    }
    let read: usize = bench.watch.reads.lock().iter().sum();
    assert!(read <= ENTRIES * VALUE * 11 / 10, "{read}");
    // Back to blocks that are no longer cached.
    bench.cache.clear();
    iterator
        .seek(&Range::rows(row(ENTRIES - 900)..), &ColumnSelection::all())
        .unwrap();
    assert_eq!(
        read_on(&mut iterator, ENTRIES - 900, usize::MAX).unwrap(),
        ENTRIES
    );
}

#[test]
fn nothing_runs_after_a_scan_was_dropped() {
    let bench = bench(Compression::None, 64 << 20);
    bench.watch.slow.store(true, Ordering::SeqCst);
    for entries in [10, 100, 1000, 3000] {
        let mut iterator = bench.scan();
        read_on(&mut iterator, 0, entries).unwrap();
        drop(iterator);
        assert_eq!(bench.watch.running.load(Ordering::SeqCst), 0);
        assert_eq!(bench.cache.ahead().used(), 0);
        let reads = bench.watch.reads.lock().len();
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!(bench.watch.reads.lock().len(), reads);
        // Only the test holds the file.
        assert_eq!(Arc::strong_count(&bench.file), 1);
    }
    // A seek elsewhere also discards the requests.
    let mut iterator = bench.scan();
    read_on(&mut iterator, 0, 1000).unwrap();
    iterator
        .seek(&Range::row(row(7000)), &ColumnSelection::all())
        .unwrap();
    assert_eq!(bench.cache.ahead().used(), 0);
    assert_eq!(read_on(&mut iterator, 7000, usize::MAX).unwrap(), 7001);
}

#[test]
fn a_disk_failure_names_the_file_and_can_be_retried() {
    let bench = bench(Compression::Lz4, 64 << 20);
    let fail_above = |bytes| bench.watch.fail_above.store(bytes, Ordering::SeqCst);
    for before in [0, 20, 50, 900, 3000] {
        bench.cache.clear();
        let mut iterator = bench.scan();
        read_on(&mut iterator, 0, before).unwrap();
        fail_above(0);
        let (at, error) = read_on(&mut iterator, before, usize::MAX).unwrap_err();
        assert!(at < ENTRIES && at - before <= 2000, "{before} {at}");
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        let text = error.to_string();
        assert!(text.contains(bench.path.to_str().unwrap()), "{text}");
        fail_above(usize::MAX);
        iterator
            .seek(&Range::all(), &ColumnSelection::all())
            .unwrap();
        assert_eq!(read_on(&mut iterator, 0, usize::MAX).unwrap(), ENTRIES);
    }
    // If single blocks can be read everything can.
    bench.cache.clear();
    fail_above(2 * BLOCK);
    assert_eq!(bench.read_all().unwrap(), ENTRIES);
    assert!(bench.watch.most_read() > 2 * BLOCK);
    assert_eq!(bench.cache.ahead().used(), 0);
}

#[test]
fn a_damaged_block_is_reported_when_it_is_reached() {
    for compression in [Compression::None, Compression::Lz4] {
        let bench = bench(compression, 256 << 10);
        let mut bytes = fs::read(&bench.path).unwrap();
        let rotten = 5 << 20;
        bytes[rotten] ^= 16;
        fs::write(&bench.path, &bytes).unwrap();
        let (at, error) = bench.read_all().unwrap_err();
        let place = rotten / (bytes.len() / ENTRIES);
        assert!(at < place + 100 && at + 100 > place, "{at} {place}");
        assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
        let text = error.to_string();
        assert!(
            text.contains(bench.path.to_str().unwrap()) && text.contains("offset"),
            "{text}"
        );
        // The blocks after it can be read.
        let mut iterator = bench.file.iterator(&[Fence::ALL]);
        let behind = Range::rows(row(at + 100)..);
        iterator.seek(&behind, &ColumnSelection::all()).unwrap();
        assert_eq!(
            read_on(&mut iterator, at + 100, usize::MAX).unwrap(),
            ENTRIES
        );
    }
}

#[test]
fn without_memory_nothing_is_read_ahead() {
    let bench = bench(Compression::Lz4, 64 << 10);
    let others = bench.cache.ahead().reserve(16 << 10).unwrap();
    assert_eq!(bench.read_all().unwrap(), ENTRIES);
    assert!(bench.watch.most_read() <= 2 * BLOCK);
    drop(others);
    assert_eq!(bench.cache.ahead().used(), 0);
}

#[test]
fn long_scans_do_not_evict_blocks_of_point_reads() {
    let bench = bench(Compression::Lz4, 4 << 20);
    let look_up = || {
        for at in (0..ENTRIES).step_by(ENTRIES / 50) {
            let mut iterator = bench.file.iterator(&[Fence::ALL]);
            iterator
                .seek(&Range::row(row(at)), &ColumnSelection::all())
                .unwrap();
            assert_eq!(read_on(&mut iterator, at, usize::MAX).unwrap(), at + 1);
        }
    };
    // Used only once, so that the cache has no other reason to keep them.
    assert!(bench.blocks_read(look_up) >= 50);
    for _ in 0..4 {
        let read = bench.blocks_read(|| assert_eq!(bench.read_all().unwrap(), ENTRIES));
        assert!(read > 100, "{read}");
    }
    assert_eq!(bench.blocks_read(look_up), 0);
}

#[test]
fn repeated_scans_are_cached_if_they_fit() {
    // Uncompressed blocks too: a buffer that is used again for a slightly larger block must not grow to twice its size.
    for compression in [Compression::Lz4, Compression::None] {
        let bench = bench(compression, 12 << 20);
        let scan = || bench.blocks_read(|| assert_eq!(bench.read_all().unwrap(), ENTRIES));
        let first = scan();
        assert!(first > 200, "{first}");
        assert!(scan() > first / 2);
        let third = scan();
        assert!(third < first / 20, "{third} of {first}");
    }
}
