//! Blocks that are read, checked and decompressed before a scan or a compaction reaches them.
//!
//! The requested blocks are cut into pieces of a few blocks. A piece is read by a thread of the
//! disk, or by the reader itself if it gets there first: the reader never waits for a thread that
//! has not begun. So if the disk has no threads, or all are busy, reading works as without them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use super::block::Block;
use super::bound::Bound;
use super::index::{BlockPlace, GroupIndex, IndexCursor};
use super::reader::SortedFile;
use crate::cache::Reservation;
use crate::codec::Decompressor;
use crate::error::StoreResult;
use crate::vfs::SequentialFile;

// Sizes are those of blocks in memory, as far as known. The last block read stands for all unread
// ones, so that data that compresses well on disk does not exceed the planned memory.

/// Bytes requested at first. From then on a reader is ahead by as much as it has read, up to a
/// maximum.
const FIRST_BYTES: usize = 64 << 10;

/// Maximum bytes ahead of a scan.
const SCAN_BYTES_MAX: usize = 4 << 20;

/// Maximum bytes ahead of one input of a compaction, of which there may be 32. Merging takes longer
/// than reading.
const COMPACTION_BYTES_MAX: usize = 1 << 20;

/// Minimum number of pieces ahead: one is consumed while others are decompressed and read.
const PIECES_MIN: usize = 4;

/// Bytes of a piece, unless a single block has more. An uncompressed piece fits a window of the
/// disk, including the rest of its pages.
const PIECE_BYTES: std::ops::RangeInclusive<usize> = 32 << 10..=500 << 10;

/// Maximum number of blocks of a piece.
const PIECE_BLOCKS_MAX: usize = 64;

/// Assumed size of a block before one was read.
const BLOCK_BYTES: usize = 32 << 10;

/// A reader that has come this far bypasses the page cache, and its blocks are not cached at first.
/// Data read in shorter runs may be needed again.
const LONG_BYTES: usize = 512 << 10;

/// Pieces that are shorter on disk are always read through the page cache.
const DIRECT_BYTES_MIN: usize = 64 << 10;

/// Maximum number of cached blocks skipped at a time.
const PASSED_OVER_MAX: usize = 64;

/// Buffers kept for later blocks.
const SPARE_MAX: usize = 2 * PIECE_BLOCKS_MAX;

thread_local! {
    static DECOMPRESSOR: RefCell<Decompressor> = RefCell::default();
}

/// The blocks ahead of one reader of one locality group. Dropping it waits for pieces that have
/// begun, at most one per thread of the disk.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// The rest of the piece that the reader has reached.
    ready: Ready,
    /// The pieces after it in order, perhaps with gaps of cached blocks.
    pieces: VecDeque<Arc<Piece>>,
    /// The first block that has not been requested.
    next: usize,
    /// Bytes read sequentially.
    run: usize,
    /// Bytes of a block of the last piece reached.
    block: Option<usize>,
    /// The file, when the run is long.
    disk: Option<Arc<dyn SequentialFile>>,
    spare: Vec<Vec<u8>>,
    /// The blocks ahead may be in another partition of the index than the reader.
    index: Option<IndexCursor>,
}

#[derive(Debug, Default)]
struct Ready {
    first: usize,
    blocks: VecDeque<(usize, StoreResult<Block>)>,
    reservation: Option<Reservation>,
}

/// Adjacent blocks of the file.
#[derive(Debug)]
struct Piece {
    first: usize,
    blocks: usize,
    bytes: usize,
    work: Mutex<Work>,
    landed: Condvar,
}

#[derive(Debug)]
enum Work {
    Waiting(ReadRequest),
    Running,
    ReadResult(ReadResult),
    /// Nothing could be read, or the piece was discarded.
    Nothing,
}

/// The data needed to read a piece.
#[derive(Debug)]
struct ReadRequest {
    file: Arc<SortedFile>,
    disk: Arc<dyn SequentialFile>,
    places: Vec<BlockPlace>,
    spare: Vec<Vec<u8>>,
    reservation: Reservation,
}

#[derive(Debug)]
struct ReadResult {
    /// Bytes of each block, and the block or its error.
    blocks: VecDeque<(usize, StoreResult<Block>)>,
    reservation: Reservation,
}

/// A reader's path through the blocks.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    pub(super) file: &'a Arc<SortedFile>,
    pub(super) index: &'a Arc<GroupIndex>,
    /// Where the range ends.
    pub(super) end: Option<Bound<'a>>,
    /// Whether the reader is a compaction, or another one that bypasses the cache.
    pub(super) past_cache: bool,
}

impl Ahead {
    /// Whether any requested block has not been reached.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        !self.ready.blocks.is_empty() || !self.pieces.is_empty()
    }

    /// Called when a reader moves to a block elsewhere: the sequential run ends.
    pub(super) fn jump(&mut self) {
        self.run = 0;
    }

    /// Whether so much was read sequentially that it is unlikely to be needed again soon.
    pub(super) fn is_long(&self) -> bool {
        self.run >= LONG_BYTES
    }

    /// Takes back a block's buffer after use.
    pub(super) fn recycle(&mut self, buffer: Vec<u8>) {
        if self.is_active() && self.spare.len() < SPARE_MAX {
            self.spare.push(buffer);
        }
    }

    /// A buffer for a block.
    pub(super) fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// Discards the requests, unless block `at` is among them or shortly before them, as the
    /// present block of a reader is.
    #[inline]
    pub(super) fn keep_from(&mut self, at: usize) {
        if self.is_active() && !self.is_before(at) && !self.reach(at) {
            self.give_up();
        }
    }

    /// Whether block `at` is before everything requested, perhaps with cached blocks in between.
    fn is_before(&self, at: usize) -> bool {
        let first = match self.ready.blocks.is_empty() {
            false => Some(self.ready.first),
            true => self.pieces.front().map(|piece| piece.first),
        };
        first.is_some_and(|first| at < first && first - at <= PASSED_OVER_MAX)
    }

    /// Called at the end of the range: discards everything.
    #[inline]
    pub(super) fn finish(&mut self) {
        if self.is_active() {
            self.give_up();
        }
        self.disk = None;
        self.index = None;
        if !self.spare.is_empty() {
            self.spare = Vec::new();
        }
    }

    /// Returns block `at` and requests more after it. `None`: the reader must read the block
    /// itself. New blocks are requested only if `start`.
    pub(super) fn take(
        &mut self,
        way: &Way<'_>,
        at: usize,
        start: bool,
    ) -> Option<StoreResult<Block>> {
        if !self.reach(at) {
            if self.is_before(at) {
                // It was in the cache when the pieces were planned, or the reader moved back.
                return None;
            }
            self.give_up();
            if !start {
                return None;
            }
            self.next = at;
        }
        self.ask(way, at);
        self.land();
        if self.ready.first != at {
            return None;
        }
        let Some((bytes, block)) = self.ready.blocks.pop_front() else {
            // The reader reads it itself, one block at a time: most of the piece may be intact.
            self.run = 0;
            return None;
        };
        self.ready.first += 1;
        if self.ready.blocks.is_empty() {
            self.ready.reservation = None;
        }
        self.run = self.run.saturating_add(bytes);
        Some(block)
    }

    /// Whether block `at` is the first of the ready ones, or in the first piece if none is ready.
    /// Blocks before it are dropped.
    fn reach(&mut self, at: usize) -> bool {
        while self.ready.first < at && self.ready.blocks.pop_front().is_some() {
            self.ready.first += 1;
        }
        if !self.ready.blocks.is_empty() {
            return self.ready.first == at;
        }
        while let Some(piece) = self.pieces.front() {
            if at < piece.first + piece.blocks {
                break;
            }
            piece.give_up();
            self.pieces.pop_front();
        }
        let Some(piece) = self.pieces.front() else {
            return false;
        };
        if at < piece.first {
            return false;
        }
        if at > piece.first {
            // Cached blocks were skipped within the piece.
            self.land();
            while self.ready.first < at && self.ready.blocks.pop_front().is_some() {
                self.ready.first += 1;
            }
            return self.ready.first == at && !self.ready.blocks.is_empty();
        }
        true
    }

    /// Makes the first piece ready if no block is: reads it, or waits for it.
    fn land(&mut self) {
        if !self.ready.blocks.is_empty() {
            return;
        }
        let Some(piece) = self.pieces.pop_front() else {
            return;
        };
        self.ready = piece.take();
        let bytes = self.ready.blocks.iter().map(|(bytes, _)| *bytes).max();
        self.block = bytes.or(self.block);
    }

    /// Requests as many pieces as the reader may be ahead; the first one is not handed to a thread
    /// if it is needed at once.
    fn ask(&mut self, way: &Way<'_>, at: usize) {
        let most = if way.past_cache {
            COMPACTION_BYTES_MAX
        } else {
            SCAN_BYTES_MAX
        };
        let most = most.min(way.file.cache().ahead().share()).max(FIRST_BYTES);
        let allowed = self.run.clamp(FIRST_BYTES, most);
        let size = (allowed / PIECES_MIN).clamp(*PIECE_BYTES.start(), *PIECE_BYTES.end());
        loop {
            let left = self.ready.blocks.iter().map(|(bytes, _)| bytes);
            let behind = self.pieces.iter().map(|piece| &piece.bytes);
            let asked: usize = left.chain(behind).sum();
            if asked > 0 && asked + size > allowed {
                return;
            }
            let Some(piece) = self.plan(way, at, size) else {
                return;
            };
            let piece = Arc::new(piece);
            if self.is_active() {
                let other = piece.clone();
                // If no thread takes it, the reader reads it when it gets there.
                let _ = way.file.spawn_io(Box::new(move || other.run()));
            }
            self.pieces.push_back(piece);
        }
    }

    /// The next adjacent blocks that are not cached and belong to the range.
    fn plan(&mut self, way: &Way<'_>, at: usize, size: usize) -> Option<Piece> {
        let file = way.file;
        let fill = !way.past_cache;
        let index = self
            .index
            .get_or_insert_with(|| IndexCursor::new(way.index.clone()));
        // If the index cannot be read nothing is read ahead: the reader will report the error.
        let mut inside = |block: usize| {
            let is_inside = block == at
                || match way.end {
                    _ if block >= index.blocks() => false,
                    None => true,
                    Some(end) => {
                        let order = index.compare(file, block, end, fill);
                        order.is_ok_and(|order| order == std::cmp::Ordering::Less)
                    }
                };
            match is_inside {
                true => index.place(file, block, fill).ok(),
                false => None,
            }
        };
        let is_cached = |place: BlockPlace| file.cache().has_block(file.id(), place.offset);
        let mut passed_over = 0;
        let (first, start) = loop {
            let place = inside(self.next)?;
            if self.next == at || !is_cached(place) {
                break (self.next, place);
            }
            if passed_over == PASSED_OVER_MAX {
                return None;
            }
            passed_over += 1;
            self.next += 1;
        };
        let block = self.block.unwrap_or(BLOCK_BYTES);
        let mut places = vec![start];
        let mut stored = start.bytes as usize;
        let mut bytes = stored.max(block);
        while places.len() < PIECE_BLOCKS_MAX {
            let next = first + places.len();
            let Some(place) = inside(next) else {
                break;
            };
            let more = (place.bytes as usize).max(block);
            let adjoins = place.offset == start.offset + stored as u64;
            if !(adjoins && bytes + more <= size) || is_cached(place) {
                break;
            }
            stored += place.bytes as usize;
            bytes += more;
            places.push(place);
        }
        let reservation = file.cache().ahead().reserve(bytes)?;
        let disk = self.disk(file, stored)?;
        self.next = first + places.len();
        let kept = self.spare.len().saturating_sub(places.len());
        Some(Piece {
            first,
            blocks: places.len(),
            bytes,
            work: Mutex::new(Work::Waiting(ReadRequest {
                file: file.clone(),
                disk,
                places,
                spare: self.spare.split_off(kept),
                reservation,
            })),
            landed: Condvar::new(),
        })
    }

    /// The handle to read this many stored bytes. `None` if it cannot be opened, which the reader
    /// will report.
    fn disk(&mut self, file: &SortedFile, stored: usize) -> Option<Arc<dyn SequentialFile>> {
        if self.is_long() && stored >= DIRECT_BYTES_MIN {
            if self.disk.is_none() {
                self.disk = file.sequential().ok();
            }
            if self.disk.is_some() {
                return self.disk.clone();
            }
        }
        Some(Arc::new(file.handle().ok()?))
    }

    fn give_up(&mut self) {
        for piece in self.pieces.drain(..) {
            piece.give_up();
        }
        self.ready = Ready::default();
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl Piece {
    /// Reads the piece, unless another thread does or did, or it was discarded.
    fn run(&self) {
        let mut work = self.work.lock();
        if !matches!(*work, Work::Waiting(_)) {
            return;
        }
        let Work::Waiting(request) = mem::replace(&mut *work, Work::Running) else {
            return;
        };
        drop(work);
        // A waiting thread must be woken whatever happens here.
        let mut landing = Landing {
            piece: self,
            outcome: Work::Nothing,
        };
        if let Some(landed) = request.run() {
            landing.outcome = Work::ReadResult(landed);
        }
    }

    /// The blocks; none if they cannot be read.
    fn take(&self) -> Ready {
        self.run();
        let mut work = self.work.lock();
        while matches!(*work, Work::Running) {
            self.landed.wait(&mut work);
        }
        match mem::replace(&mut *work, Work::Nothing) {
            Work::ReadResult(landed) => Ready {
                first: self.first,
                blocks: landed.blocks,
                reservation: Some(landed.reservation),
            },
            _ => Ready {
                first: self.first,
                ..Ready::default()
            },
        }
    }

    /// Discards the piece. When this returns no thread works on it.
    fn give_up(&self) {
        let mut work = self.work.lock();
        while matches!(*work, Work::Running) {
            self.landed.wait(&mut work);
        }
        *work = Work::Nothing;
    }
}

struct Landing<'a> {
    piece: &'a Piece,
    outcome: Work,
}

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        *self.piece.work.lock() = mem::replace(&mut self.outcome, Work::Nothing);
        self.piece.landed.notify_all();
    }
}

impl ReadRequest {
    /// The blocks, or `None` if the disk fails: the reader then reads a single block again, and
    /// reports the error.
    fn run(mut self) -> Option<ReadResult> {
        let (start, end) = (self.places.first()?, self.places.last()?);
        let offset = start.offset;
        let bytes = (end.offset - offset) as usize + end.bytes as usize;
        let mut blocks = VecDeque::with_capacity(self.places.len());
        let mut memory = 0;
        let (file, places, spare) = (&self.file, &self.places, &mut self.spare);
        let mut see = |found: &[u8]| {
            DECOMPRESSOR.with_borrow_mut(|decompressor| {
                for place in places {
                    let from = (place.offset - offset) as usize;
                    let stored = found.get(from..from + place.bytes as usize);
                    let buffer = spare.pop().unwrap_or_default();
                    let stored = stored.unwrap_or_default();
                    let block = file.decode_block(*place, stored, buffer, decompressor);
                    let bytes = block.as_ref().map_or(0, Block::memory);
                    memory += bytes;
                    blocks.push_back((bytes, block));
                }
            });
        };
        self.disk.read(offset, bytes, &mut see).ok()?;
        file.metrics().block_bytes_read.add(bytes as u64);
        self.reservation.correct(memory);
        Some(ReadResult {
            blocks,
            reservation: self.reservation,
        })
    }
}
