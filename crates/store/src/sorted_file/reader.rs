//! A sorted file that is open for reading.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering as Atomic};
use std::sync::{Arc, OnceLock};

use super::block::{Block, Home};
use super::bound::Bound;
use super::filter::Bloom;
use super::format::{Description, FRAME_HEAD_BYTES, Footer, PartPlace, Partition, read_frame};
use super::identity::Expected;
use super::index::{BlockPlace, GroupIndex, IndexCursor, IndexPartition};
use super::iterator::FileIterator;
use super::writer::FileSummary;
use crate::cache::BlockCache;
use crate::catalog::{Fence, FileRecord};
use crate::codec::{BlockCodec, Decompressor};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::metrics::Metrics;
use crate::vfs::{Job, ReadableFile, SequentialFile, Vfs};

/// The description is cached under this offset, which no part can have.
const DESCRIPTION: u64 = u64::MAX;

/// The end of a piece of a file; see [`SortedFile::middle_rows`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowCut {
    /// Last row of the piece. It may be a shortened row that no entry has.
    pub row: Vec<u8>,
    /// Approximate number of bytes in the piece.
    pub bytes: u64,
}

/// A sorted file. Everything is read on demand and belongs to the cache: an instance takes a few
/// hundred bytes.
#[derive(Debug)]
pub struct SortedFile {
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    id: u64,
    cache: Arc<BlockCache>,
    metrics: Arc<Metrics>,
    remove: AtomicBool,
    /// What the catalog knows about it, if anything.
    pub(super) expected: Option<Expected>,
    /// The identity in the file; set before anything else of it is read.
    pub(super) identity: OnceLock<u64>,
}

impl SortedFile {
    /// Stores the path and reads nothing, so that a missing or damaged file is detected when it is
    /// used. `id` identifies the file in the cache: it must be unique among the files of a store
    /// and never be reused.
    ///
    /// # Errors
    /// None at present.
    pub fn open(
        vfs: &Arc<dyn Vfs>,
        path: &Path,
        id: u64,
        cache: &Arc<BlockCache>,
        metrics: &Arc<Metrics>,
    ) -> StoreResult<Arc<Self>> {
        Self::expecting(vfs, path, id, None, cache, metrics)
    }

    /// As [`open`](Self::open), for a file that the catalog knows. Whenever it is opened on the
    /// disk its identity is compared, and no part of another file passes its checksum: a different
    /// file in its place is an error.
    ///
    /// # Errors
    /// None at present.
    pub fn open_known(
        vfs: &Arc<dyn Vfs>,
        path: &Path,
        record: &FileRecord,
        cache: &Arc<BlockCache>,
        metrics: &Arc<Metrics>,
    ) -> StoreResult<Arc<Self>> {
        let expected = Some(Expected::of(record));
        Self::expecting(vfs, path, record.id.0, expected, cache, metrics)
    }

    fn expecting(
        vfs: &Arc<dyn Vfs>,
        path: &Path,
        id: u64,
        expected: Option<Expected>,
        cache: &Arc<BlockCache>,
        metrics: &Arc<Metrics>,
    ) -> StoreResult<Arc<Self>> {
        Ok(Arc::new(Self {
            expected,
            identity: OnceLock::new(),
            vfs: vfs.clone(),
            path: path.to_owned(),
            id,
            cache: cache.clone(),
            metrics: metrics.clone(),
            remove: AtomicBool::new(false),
        }))
    }

    /// A handle to read long pieces of the file once, bypassing cache and open handles.
    pub(super) fn sequential(&self) -> StoreResult<Arc<dyn SequentialFile>> {
        self.vfs.open_sequential(&self.path)
    }

    /// Runs `job` on another thread, if the disk has threads for that.
    pub(super) fn spawn_io(&self, job: Job) -> Result<(), Job> {
        self.vfs.spawn_io(job)
    }

    /// The path given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The id given.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// An iterator over the rows inside `fences`, which must be disjoint; none given means no row.
    #[must_use]
    pub fn iterator(self: &Arc<Self>, fences: &[Fence]) -> FileIterator {
        FileIterator::new(self.clone(), fences)
    }

    /// The file's summary.
    ///
    /// # Errors
    /// `Corruption`, `NewerFormat`, those of the disk.
    pub fn summary(&self) -> StoreResult<FileSummary> {
        let bytes = self.handle()?.len()?;
        let identity = self.identity()?;
        Ok(self.description()?.summary(bytes, identity))
    }

    /// Number of entries.
    ///
    /// # Errors
    /// As [`summary`](Self::summary).
    pub fn entries(&self) -> StoreResult<u64> {
        Ok(self.description()?.entries)
    }

    /// Removes the file from the disk when its last user drops it. The directory is not synced:
    /// after a power failure the file may exist again.
    pub fn remove_when_unused(&self) {
        self.remove.store(true, Atomic::Release);
    }

    /// Approximate number of bytes and entries of the file inside a fence, exact up to the blocks
    /// at its ends.
    ///
    /// # Errors
    /// As [`summary`](Self::summary).
    pub fn estimate(&self, fence: &Fence) -> StoreResult<(u64, u64)> {
        let description = self.description()?;
        if description.entries == 0
            || fence.is_empty()
            || !fence.meets(&description.first_row, &description.last_row)
        {
            return Ok((0, 0));
        }
        let (mut low, mut high, mut entries) = (u64::MAX, 0, 0);
        for group in 0..description.groups.len() {
            let mut index = IndexCursor::new(self.index(&description, group)?);
            let Some((first, last)) = self.blocks_inside(&mut index, fence)? else {
                continue;
            };
            low = low.min(index.place(self, first, true)?.offset);
            let before = index.entries_before(self, first)?;
            let end = index.place(self, last, true)?;
            high = high.max(end.offset + u64::from(end.bytes));
            entries += index.entries_before(self, last + 1)?.saturating_sub(before);
        }
        Ok((high.saturating_sub(low), entries))
    }

    /// Rows that cut the part of the file inside a fence into at most `pieces` pieces of about the
    /// same size, taken from the index: ascending, inside the fence, each the last row of its
    /// piece. The last piece, after the last cut, is not included. Empty if the part is too small
    /// or one single row.
    ///
    /// # Errors
    /// As [`summary`](Self::summary).
    pub fn middle_rows(&self, fence: &Fence, pieces: usize) -> StoreResult<Vec<RowCut>> {
        let description = self.description()?;
        let mut cuts: Vec<RowCut> = Vec::new();
        if fence.is_empty()
            || description.entries == 0
            || !fence.meets(&description.first_row, &description.last_row)
        {
            return Ok(cuts);
        }
        // The group with the most entries represents all.
        let largest = (0..description.groups.len())
            .max_by_key(|&at| description.groups.get(at).map_or(0, |group| group.entries));
        let Some(group) = largest else {
            return Ok(cuts);
        };
        let mut index = IndexCursor::new(self.index(&description, group)?);
        let Some((first, last)) = self.blocks_inside(&mut index, fence)? else {
            return Ok(cuts);
        };
        let blocks = last + 1 - first;
        let mut begin = index.place(self, first, true)?.offset;
        for piece in 1..pieces.max(1) {
            let block = first + blocks * piece / pieces.max(1);
            if block <= first {
                continue;
            }
            let row = index.separator_row(self, block)?;
            let rises = cuts.last().is_none_or(|cut| cut.row < row);
            // A cut at or after the last row would leave an empty piece.
            let inside = fence.contains(&row)
                && row < description.last_row
                && fence.through.as_ref().is_none_or(|through| row < *through);
            if rises && inside {
                let offset = index.place(self, block, true)?.offset;
                cuts.push(RowCut {
                    row,
                    bytes: offset.saturating_sub(begin),
                });
                begin = offset;
            }
        }
        Ok(cuts)
    }

    /// The first and last block of a group that may hold rows inside a fence.
    fn blocks_inside(
        &self,
        index: &mut IndexCursor,
        fence: &Fence,
    ) -> StoreResult<Option<(usize, usize)>> {
        if index.blocks() == 0 {
            return Ok(None);
        }
        let first = match &fence.after {
            None => 0,
            Some(after) => index.find(self, Bound::before_row(&row_after(after)), true)?,
        };
        let last = match &fence.through {
            None => index.blocks() - 1,
            Some(through) => {
                let row = row_after(through);
                let bound = Bound::before_row(&row);
                let mut block = index.find(self, bound, true)?;
                if block > 0 && index.compare(self, block, bound, true)? == Ordering::Equal {
                    block -= 1;
                }
                block
            }
        };
        Ok((first <= last).then_some((first, last)))
    }

    pub(super) fn cache(&self) -> &BlockCache {
        &self.cache
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// An open handle.
    pub(super) fn handle(&self) -> StoreResult<Arc<dyn ReadableFile>> {
        self.cache.file(self.id, || {
            let file = self.vfs.open(&self.path)?;
            self.recognize(&*file)?;
            file.expect_random();
            Ok(file)
        })
    }

    /// The identity in the file.
    #[inline]
    fn identity(&self) -> StoreResult<u64> {
        match self.identity.get() {
            Some(identity) => Ok(*identity),
            None => Ok(self.footer()?.identity),
        }
    }

    /// The footer, read anew.
    pub(super) fn footer(&self) -> StoreResult<Footer> {
        self.recognize(&*self.handle()?)
    }

    /// Makes the next reader reopen the file.
    pub(super) fn forget_handle(&self) {
        self.cache.forget_file(self.id);
    }

    /// A handle for reading block after block, for which the system may read ahead.
    pub(super) fn handle_of_its_own(&self) -> StoreResult<Arc<dyn ReadableFile>> {
        self.vfs.open(&self.path)
    }

    pub(super) fn corrupt(&self, offset: u64, what: &'static str) -> Error {
        let error = Error::corruption(what).with("file", self.path.display());
        if offset == DESCRIPTION {
            error
        } else {
            error.with("offset", offset)
        }
    }

    pub(super) fn bad_index(&self, description: &Description, group: usize) -> Error {
        let offset = description
            .groups
            .get(group)
            .map_or(DESCRIPTION, |group| group.index.offset);
        self.corrupt(offset, "an index is malformed")
    }

    pub(super) fn description(&self) -> StoreResult<Arc<Description>> {
        self.cache.part(self.id, DESCRIPTION, || {
            let footer = self.footer()?;
            let description = self.read_description(&footer)?;
            // Rows and names take several times their size on disk.
            Ok((description, 4 * footer.description.bytes as usize + 256))
        })
    }

    pub(super) fn read_description(&self, footer: &Footer) -> StoreResult<Description> {
        let place = footer.description;
        let description = Description::decode(&self.part(place)?, footer.version)
            .ok_or_else(|| self.corrupt(place.offset, "the description is malformed"))?;
        self.recognize_description(footer, &description)?;
        Ok(description)
    }

    pub(super) fn index(
        &self,
        description: &Description,
        group: usize,
    ) -> StoreResult<Arc<GroupIndex>> {
        let offset = description
            .groups
            .get(group)
            .map(|group| group.index.offset);
        self.cache.part(self.id, offset.unwrap_or_default(), || {
            let index = self.read_index(description, group)?;
            let bytes = index.memory();
            Ok((index, bytes))
        })
    }

    pub(super) fn read_index(
        &self,
        description: &Description,
        group: usize,
    ) -> StoreResult<GroupIndex> {
        let Some(described) = description.groups.get(group) else {
            return Err(Error::new(ErrorKind::Internal, "no such locality group"));
        };
        GroupIndex::parse(self.part(described.index)?, described.partitioned)
            .filter(|index| {
                index.blocks() as u64 == described.blocks && index.entries() == described.entries
            })
            .ok_or_else(|| self.bad_index(description, group))
    }

    /// A partition of an index; `fill` adds it to the cache.
    pub(super) fn partition(
        &self,
        index: &GroupIndex,
        number: usize,
        fill: bool,
    ) -> StoreResult<Arc<IndexPartition>> {
        let (Some(residents), Some(place)) = (index.cached(), index.place_of(number)) else {
            return match index.one() {
                Some(one) => Ok(one.clone()),
                None => Err(self.corrupt(DESCRIPTION, "an index is malformed")),
            };
        };
        if let Some(known) = residents.get(number) {
            return Ok(known);
        }
        if let Some(known) = self.cache.index_partition(self.id, place.offset) {
            return Ok(known);
        }
        let mut partition = self.read_partition(index, number)?;
        self.metrics.index_loads.increment();
        if !fill {
            return Ok(Arc::new(partition));
        }
        partition.settle(Home::new(residents, number));
        let partition = Arc::new(partition);
        self.cache
            .put_index_partition(self.id, place.offset, partition.clone());
        residents.put(number, &partition);
        Ok(partition)
    }

    /// A partition of a partitioned index, from the disk.
    pub(super) fn read_partition(
        &self,
        index: &GroupIndex,
        number: usize,
    ) -> StoreResult<IndexPartition> {
        let place = index.place_of(number).map(PartPlace::from);
        let place = place.ok_or_else(|| self.corrupt(DESCRIPTION, "an index is malformed"))?;
        let blocks = index.blocks_of(number).map(|blocks| blocks.len());
        let entries = index.entries_of(number);
        let entries = entries.and_then(|of| of.end.checked_sub(of.start));
        IndexPartition::parse(self.part(place)?)
            .filter(|partition| {
                Some(partition.blocks()) == blocks && Some(partition.entries()) == entries
            })
            .ok_or_else(|| self.corrupt(place.offset, "an index is malformed"))
    }

    pub(super) fn bloom(&self, partition: &Partition) -> StoreResult<Arc<Bloom>> {
        let load = || self.read_bloom(partition);
        self.cache.filter(self.id, partition.place.offset, load)
    }

    pub(super) fn read_bloom(&self, partition: &Partition) -> StoreResult<Bloom> {
        Bloom::parse(self.part(partition.place)?)
            .ok_or_else(|| self.corrupt(partition.place.offset, "a filter is malformed"))
    }

    /// The payload of a part that is not compressed.
    fn part(&self, place: PartPlace) -> StoreResult<Vec<u8>> {
        self.part_of(&*self.handle()?, place, self.identity()?)
            .map_err(|error| self.explain(error))
    }

    /// As [`part`](Self::part), for an open file.
    pub(super) fn part_of(
        &self,
        file: &dyn ReadableFile,
        place: PartPlace,
        identity: u64,
    ) -> StoreResult<Vec<u8>> {
        let inside = place
            .offset
            .checked_add(place.bytes)
            .is_some_and(|end| file.len().is_ok_and(|len| end <= len));
        if !inside {
            return Err(self.corrupt(place.offset, "a part lies outside the file"));
        }
        let mut bytes = vec![0; place.bytes as usize];
        file.read_at(place.offset, &mut bytes)?;
        let frame = read_frame(&bytes, place.offset, identity)
            .filter(|frame| frame.codec == BlockCodec::None)
            .ok_or_else(|| self.corrupt(place.offset, "a part has a wrong checksum"))?;
        bytes.truncate(FRAME_HEAD_BYTES + frame.raw_len);
        bytes.drain(..FRAME_HEAD_BYTES);
        Ok(bytes)
    }

    /// Decodes a block from its stored bytes. `stored` may be taken, and is empty then.
    pub(super) fn decode_block(
        &self,
        place: BlockPlace,
        stored: &[u8],
        buffer: Vec<u8>,
        decompressor: &mut Decompressor,
    ) -> StoreResult<Block> {
        let frame = read_frame(stored, place.offset, self.identity()?).ok_or_else(|| {
            self.explain(self.corrupt(place.offset, "a block has a wrong checksum"))
        })?;
        let payload = stored
            .get(FRAME_HEAD_BYTES..stored.len() - 4)
            .unwrap_or_default();
        let mut raw = buffer;
        decompressor
            .decompress(frame.codec, payload, frame.raw_len, &mut raw)
            .map_err(|error| {
                error
                    .with("file", self.path.display())
                    .with("offset", place.offset)
            })?;
        Block::parse(raw, 0, frame.raw_len)
            .map_err(|_| self.corrupt(place.offset, "a block is malformed"))
    }
}

impl Drop for SortedFile {
    fn drop(&mut self) {
        self.cache.forget_file(self.id);
        if self.remove.load(Atomic::Acquire) {
            match self.vfs.remove(&self.path) {
                Ok(()) => self.metrics.files_deleted.increment(),
                Err(error) => {
                    tracing::warn!(%error, "cannot remove a file that nothing refers to; it will be removed later");
                }
            }
        }
    }
}

/// The smallest row greater than `row`.
pub(super) fn row_after(row: &[u8]) -> Vec<u8> {
    let mut next = Vec::with_capacity(row.len() + 1);
    next.extend_from_slice(row);
    next.push(0);
    next
}
