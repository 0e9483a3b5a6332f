//! The block cache.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, Lifecycle, OptionsBuilder, UnitWeighter, Weighter};

use super::ahead::AheadBudget;
use super::ghost_list::GhostList;
use super::read_around::ReadAround;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::metrics::Metrics;
use crate::sorted_file::{Block, Bloom, IndexPartition};
use crate::vfs::ReadableFile;

/// Limits of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheOptions {
    /// Bytes of uncompressed blocks, partitions of indexes and of filters; default 256 MiB.
    /// Descriptions of files and roots of indexes, which are small, use up to half of it. Blocks
    /// read ahead by scans and compactions are not counted here; they take up to a quarter as much
    /// in addition.
    pub bytes: u64,
    /// Table files kept open; default 512. Opening a file costs a few microseconds. The limit of
    /// the process (`ulimit -n`) must leave enough for its other files. Running scans may hold some
    /// more.
    pub open_files: usize,
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self {
            bytes: 256 << 20,
            open_files: 512,
        }
    }
}

/// File and offset.
type PartId = (u64, u64);

/// Partitioned objects, of which only some pieces are in memory.
#[derive(Clone)]
enum Held {
    Block(Arc<Block>),
    Partition(Arc<IndexPartition>),
    Filter(Arc<Bloom>),
}

impl Held {
    fn memory(&self) -> usize {
        match self {
            Self::Block(block) => block.memory(),
            Self::Partition(partition) => partition.memory(),
            Self::Filter(filter) => filter.memory(),
        }
    }
}

/// A description or the root of an index, in the type that its reader knows.
#[derive(Clone)]
struct Part {
    value: Arc<dyn Any + Send + Sync>,
    bytes: u64,
}

#[derive(Clone)]
struct BlockWeigher;

impl Weighter<PartId, Held> for BlockWeigher {
    fn weight(&self, _: &PartId, held: &Held) -> u64 {
        allocated(held.memory() as u64) + ENTRY_BYTES
    }
}

#[derive(Clone)]
struct PartWeigher;

impl Weighter<PartId, Part> for PartWeigher {
    fn weight(&self, _: &PartId, part: &Part) -> u64 {
        part.bytes + ENTRY_BYTES
    }
}

/// The evicted objects.
type Gone = [Option<Held>; 2];

/// Returns evicted objects to the thread that inserts.
#[derive(Clone, Default)]
struct HandBack;

impl Lifecycle<PartId, Held> for HandBack {
    /// Evicted objects, freed once the cache is unlocked. Usually one block replaces one.
    type RequestState = Gone;

    fn on_evict(&self, state: &mut Self::RequestState, _: PartId, held: Held) {
        if let Some(place) = state.iter_mut().find(|place| place.is_none()) {
            *place = Some(held);
        }
    }
}

/// Approximate memory that the cache itself needs per entry.
const ENTRY_BYTES: u64 = 96;

/// The size that allocators with size classes, four per doubling, use for this many bytes.
fn allocated(bytes: u64) -> u64 {
    let class = bytes
        .checked_next_power_of_two()
        .map_or(1, |power| power / 8);
    bytes.next_multiple_of(class.max(1))
}

/// Minimum size of a shard, so that large blocks fit.
const SHARD_BYTES: u64 = 8 << 20;

/// Blocks, indexes, filters and open files of all tables of a store. Shared by all threads.
///
/// Blocks are evicted by a clock algorithm that distinguishes reused blocks from those read once.
/// Of the blocks of a long scan only those are cached that another long scan read shortly before,
/// so that scans do not evict blocks that point reads need.
pub struct BlockCache {
    blocks: Cache<PartId, Held, BlockWeigher, DefaultHashBuilder, HandBack>,
    parts: Cache<PartId, Part, PartWeigher>,
    files: Cache<u64, Arc<dyn ReadableFile>>,
    ahead: Arc<AheadBudget>,
    seen: GhostList,
    around: ReadAround,
    /// The own budget of blocks and parts.
    bytes: u64,
    /// Memory that is lent to them in addition.
    lent: AtomicU64,
    /// The present budget of blocks; locked while it changes.
    room: Mutex<u64>,
    /// Blocks inserted, so that the sizes are reported only now and then.
    puts: AtomicU64,
    shards: u64,
    metrics: Arc<Metrics>,
}

impl fmt::Debug for BlockCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockCache")
            .field("bytes", &self.bytes)
            .field("blocks", &self.blocks.len())
            .field("parts", &self.parts.len())
            .field("files", &self.files.len())
            .finish_non_exhaustive()
    }
}

impl BlockCache {
    /// An empty cache that counts in `metrics`.
    ///
    /// # Errors
    /// `Internal` if the cache's library rejects the sizes.
    pub fn new(options: CacheOptions, metrics: Arc<Metrics>) -> StoreResult<Arc<Self>> {
        let shards = (options.bytes / SHARD_BYTES).clamp(1, 64) as usize;
        let sized = |bytes: u64, typical: u64, shards: usize| {
            OptionsBuilder::new()
                .weight_capacity(bytes)
                .estimated_items_capacity((bytes / typical) as usize + 16)
                .shards(shards)
                .build()
                .map_err(|e| {
                    Error::new(ErrorKind::Internal, "cannot set up a cache").with_source(e)
                })
        };
        let files = options.open_files.max(1);
        Ok(Arc::new(Self {
            blocks: Cache::with_options(
                sized(options.bytes, 32 << 10, shards)?,
                BlockWeigher,
                DefaultHashBuilder::default(),
                HandBack,
            ),
            // The index of an old file may be large: one shard, so that it fits.
            parts: Cache::with_options(
                sized(options.bytes / 2, 256 << 10, 1)?,
                PartWeigher,
                DefaultHashBuilder::default(),
                DefaultLifecycle::default(),
            ),
            files: Cache::with_options(
                sized(files as u64, 1, if files < 64 { 1 } else { 4 })?,
                UnitWeighter,
                DefaultHashBuilder::default(),
                DefaultLifecycle::default(),
            ),
            ahead: AheadBudget::new(options.bytes / 4),
            seen: GhostList::new(options.bytes),
            around: ReadAround::of_machine(),
            bytes: options.bytes,
            lent: AtomicU64::new(0),
            room: Mutex::new(options.bytes),
            puts: AtomicU64::new(0),
            shards: shards as u64,
            metrics,
        }))
    }

    /// Bytes held: by blocks and partitions, and by descriptions and roots.
    #[must_use]
    pub fn usage(&self) -> (u64, u64) {
        (self.blocks.weight(), self.parts.weight())
    }

    /// Bytes lent.
    #[cfg(test)]
    pub(crate) fn lent(&self) -> u64 {
        self.lent.load(Ordering::Relaxed)
    }

    /// Number of files held open.
    #[must_use]
    pub fn open_files(&self) -> usize {
        self.files.len()
    }

    /// Clears the cache, for measurements.
    pub fn clear(&self) {
        self.blocks.clear();
        self.parts.clear();
        self.files.clear();
        self.report();
    }

    #[inline]
    pub(crate) fn block(&self, file: u64, offset: u64) -> Option<Arc<Block>> {
        if let Some(Held::Block(block)) = self.blocks.get(&(file, offset)) {
            self.metrics.block_cache_hits.increment();
            return Some(block);
        }
        self.metrics.block_cache_misses.increment();
        None
    }

    /// The budget for reading ahead.
    pub(crate) fn ahead(&self) -> &Arc<AheadBudget> {
        &self.ahead
    }

    /// What to load around blocks that were read from the disk.
    pub(crate) fn around(&self) -> &ReadAround {
        &self.around
    }

    /// Whether a block is cached; counts neither as a use nor in the metrics.
    pub(crate) fn has_block(&self, file: u64, offset: u64) -> bool {
        self.blocks.peek(&(file, offset)).is_some()
    }

    /// Adds a block. Returns the buffer of an evicted block, if it has no other user: the next
    /// block to be read needs one of that size.
    pub(crate) fn put_block(&self, file: u64, offset: u64, block: Arc<Block>) -> Option<Vec<u8>> {
        match self.put(file, offset, Held::Block(block)) {
            [Some(Held::Block(gone)), _] => Arc::into_inner(gone).map(Block::into_bytes),
            _ => None,
        }
    }

    fn put(&self, file: u64, offset: u64, held: Held) -> Gone {
        let mut gone = Gone::default();
        self.blocks
            .insert_with_lifecycle((file, offset), held, &mut gone);
        // The sizes of the shards are not summed each time, which would cost more than the
        // insertion.
        if self
            .puts
            .fetch_add(1, Ordering::Relaxed)
            .is_multiple_of(self.shards)
        {
            self.report();
        }
        gone
    }

    /// A partition of an index.
    pub(crate) fn index_partition(&self, file: u64, offset: u64) -> Option<Arc<IndexPartition>> {
        match self.blocks.get(&(file, offset)) {
            Some(Held::Partition(partition)) => Some(partition),
            _ => None,
        }
    }

    /// Adds a partition of an index.
    pub(crate) fn put_index_partition(
        &self,
        file: u64,
        offset: u64,
        partition: Arc<IndexPartition>,
    ) {
        drop(self.put(file, offset, Held::Partition(partition)));
    }

    /// A partition of a filter; loaded by `load` if it is not cached.
    pub(crate) fn filter(
        &self,
        file: u64,
        offset: u64,
        load: impl FnOnce() -> StoreResult<Bloom>,
    ) -> StoreResult<Arc<Bloom>> {
        if let Some(Held::Filter(filter)) = self.blocks.get(&(file, offset)) {
            return Ok(filter);
        }
        let filter = Arc::new(load()?);
        self.metrics.index_loads.increment();
        drop(self.put(file, offset, Held::Filter(filter.clone())));
        Ok(filter)
    }

    /// Sets how many bytes may be held in addition to the cache's own. If that is less than before,
    /// they are free on return, except for blocks that are in use.
    pub(crate) fn lend(&self, bytes: u64) {
        self.lent.store(bytes, Ordering::Relaxed);
        self.resize();
        self.report();
    }

    /// Gives blocks and partitions the memory that descriptions and roots leave.
    fn resize(&self) {
        let mut room = self.room.lock();
        // In steps, because the cache rounds down the size of its history each time.
        let step = (self.bytes / 64).max(1);
        let parts = self.parts.weight().div_ceil(step).saturating_mul(step);
        let left = self.bytes.saturating_sub(parts).max(self.bytes / 2);
        let new = left.saturating_add(self.lent.load(Ordering::Relaxed));
        if *room != new {
            *room = new;
            self.blocks.set_capacity(new);
        }
    }

    /// Whether a block of this many bytes, seen in a long read, should be cached: when a long read
    /// sees it the second time, and not too late.
    pub(crate) fn is_met_again(&self, file: u64, offset: u64, bytes: usize) -> bool {
        self.seen.again(file, offset, bytes as u64)
    }

    /// A description or a root; if it is not cached it is loaded by `load`, which also returns its
    /// bytes.
    pub(crate) fn part<T: Any + Send + Sync>(
        &self,
        file: u64,
        offset: u64,
        load: impl FnOnce() -> StoreResult<(T, usize)>,
    ) -> StoreResult<Arc<T>> {
        let known = self.parts.get(&(file, offset));
        if let Some(value) = known.and_then(|part| part.value.downcast::<T>().ok()) {
            return Ok(value);
        }
        let (value, bytes) = load()?;
        self.metrics.index_loads.increment();
        let value = Arc::new(value);
        let part = Part {
            value: value.clone(),
            bytes: bytes as u64,
        };
        self.parts.insert((file, offset), part);
        self.resize();
        self.report();
        Ok(value)
    }

    /// An open file; opened by `open` if it is not cached. If no more files can be opened, the
    /// cached ones are closed first.
    pub(crate) fn file(
        &self,
        file: u64,
        open: impl Fn() -> StoreResult<Arc<dyn ReadableFile>>,
    ) -> StoreResult<Arc<dyn ReadableFile>> {
        if let Some(known) = self.files.get(&file) {
            return Ok(known);
        }
        let opened = match open() {
            Err(error) if error.kind() == ErrorKind::TooManyOpenFiles => {
                self.files.clear();
                open()?
            }
            other => other?,
        };
        self.files.insert(file, opened.clone());
        self.metrics.open_files.set(self.files.len() as u64);
        Ok(opened)
    }

    /// Removes a deleted file. Its blocks are evicted as others come.
    pub(crate) fn forget_file(&self, file: u64) {
        self.files.remove(&file);
        self.metrics.open_files.set(self.files.len() as u64);
    }

    fn report(&self) {
        let (blocks, parts) = self.usage();
        self.metrics.block_cache_bytes.set(blocks + parts);
    }
}
