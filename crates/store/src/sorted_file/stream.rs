//! The blocks of one locality group, one after another.

use std::cmp::Ordering;
use std::sync::Arc;

use ostrakon_cell::{Batch, BatchLimit, ColumnSelection, Error, ErrorKind};

use super::ahead::{Ahead, Way};
use super::block::{Block, DecodeError, DecodeScratch, Home};
use super::bound::Bound;
use super::index::{BlockPlace, GroupIndex};
use super::iterator::LabelFilter;
use super::reader::SortedFile;
use crate::codec::Decompressor;
use crate::error::StoreResult;

/// A larger buffer for stored bytes is not kept.
const STORED_BYTES_MAX: usize = 1 << 20;

/// What a stream is to leave out, and how it uses the cache.
#[derive(Clone, Default)]
pub(super) struct Reading {
    pub(super) columns: ColumnSelection,
    pub(super) label_filter: Option<LabelFilter>,
    pub(super) skip_cache_fill: bool,
}

/// A position in one locality group.
#[derive(Debug)]
pub(super) struct GroupStream {
    index: Arc<GroupIndex>,
    /// The block under the position, and which one it is.
    block: Option<Arc<Block>>,
    at: usize,
    from: usize,
    to: usize,
    /// Whether later blocks may hold entries of the range.
    more: bool,
    /// The block come to last, to notice when reading is sequential.
    last: Option<usize>,
    ahead: Ahead,
    stored: Vec<u8>,
    /// The buffer of a block that left the cache.
    spare: Vec<u8>,
    decompressor: Decompressor,
    scratch: DecodeScratch,
}

impl GroupStream {
    pub(super) fn new(index: Arc<GroupIndex>) -> Self {
        Self {
            index,
            block: None,
            at: 0,
            from: 0,
            to: 0,
            more: false,
            last: None,
            ahead: Ahead::default(),
            stored: Vec::new(),
            spare: Vec::new(),
            decompressor: Decompressor::new(),
            scratch: DecodeScratch::default(),
        }
    }

    fn malformed(&self, file: &SortedFile) -> Error {
        let offset = self.index.place(self.at).map_or(0, |place| place.offset);
        file.corrupt(offset, "a block is malformed")
    }

    /// Goes to the first entry between two places.
    pub(super) fn seek(
        &mut self,
        file: &Arc<SortedFile>,
        start: Option<Bound<'_>>,
        end: Option<Bound<'_>>,
        reading: &Reading,
    ) -> StoreResult<()> {
        (self.from, self.to, self.more) = (0, 0, false);
        if self.index.blocks() == 0 {
            return Ok(());
        }
        let at = match start {
            None => 0,
            Some(bound) => self
                .index
                .find(bound)
                .ok_or_else(|| file.corrupt(0, "an index is malformed"))?,
        };
        self.ahead.keep_from(at);
        self.enter(file, at, start, end, reading)
    }

    /// Makes `at` the block under the position, the first entry behind `start` the next one.
    fn enter(
        &mut self,
        file: &Arc<SortedFile>,
        at: usize,
        start: Option<Bound<'_>>,
        end: Option<Bound<'_>>,
        reading: &Reading,
    ) -> StoreResult<()> {
        let bad_index = || file.corrupt(0, "an index is malformed");
        let row = match (start, end) {
            (Some(start), Some(end)) if is_one_row(start, end) => Some(start.key.row),
            _ => None,
        };
        if self.block.is_none() || self.at != at {
            self.load(file, at, end, row.is_some(), reading)?;
        }
        let next = at + 1;
        // How the end of this block, a place the index knows, stands to the end of the range.
        let order = match end {
            _ if next >= self.index.blocks() => Ordering::Greater,
            None => Ordering::Less,
            Some(bound) => self.index.compare(next, bound).ok_or_else(bad_index)?,
        };
        self.more = order == Ordering::Less && next < self.index.blocks();
        if !self.more {
            self.ahead.finish();
        }
        let Some(block) = &self.block else {
            return Err(Error::new(ErrorKind::Internal, "a block was not loaded"));
        };
        (self.from, self.to) = (0, 0);
        self.scratch.forget_row();
        if !wanted(block, reading) {
            return Ok(());
        }
        let malformed = || self.malformed(file);
        if let Some(row) = row
            && order == Ordering::Greater
        {
            let (from, to) = block.find_row(row).ok_or_else(malformed)?;
            (self.from, self.to) = (from, to);
            if from < to {
                block.prefetch_value(from);
                self.scratch.know_row(row, from..to);
            }
            return Ok(());
        }
        let from = match start {
            None => 0,
            Some(start) => block.find(start, 0).ok_or_else(malformed)?,
        };
        let to = match end {
            Some(end) if order == Ordering::Greater => {
                block.find(end, from).ok_or_else(malformed)?
            }
            _ => block.entries(),
        };
        (self.from, self.to) = (from, to);
        Ok(())
    }

    /// Whether the range is exhausted.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.from >= self.to && !self.more
    }

    /// Appends entries until the limit is reached or the range ends.
    pub(super) fn fill(
        &mut self,
        file: &Arc<SortedFile>,
        end: Option<Bound<'_>>,
        reading: &Reading,
        out: &mut Batch,
        limit: BatchLimit,
    ) -> StoreResult<()> {
        loop {
            while self.from < self.to {
                if out.is_full(limit) {
                    return Ok(());
                }
                self.decode(file, reading, out, limit)?;
            }
            if !self.more {
                return Ok(());
            }
            if out.is_full(limit) {
                return Ok(());
            }
            self.enter(file, self.at + 1, None, end, reading)?;
        }
    }

    fn decode(
        &mut self,
        file: &SortedFile,
        reading: &Reading,
        out: &mut Batch,
        limit: BatchLimit,
    ) -> StoreResult<()> {
        let Some(block) = &self.block else {
            return Err(Error::new(ErrorKind::Internal, "a block was not loaded"));
        };
        // The limit of bytes is kept up to one block: entries are taken to be of average size.
        let average = (block.raw_len() / block.entries())
            .saturating_add(block.row_len(self.from))
            .saturating_add(1);
        let room = limit.bytes.saturating_sub(out.content_len()) / average + 1;
        let count = (self.to - self.from)
            .min(limit.entries.saturating_sub(out.len()))
            .min(room)
            .max(1);
        let first = out.len();
        let decoded = block.decode(self.from, self.from + count, out, &mut self.scratch);
        match decoded {
            Ok(()) => {}
            Err(DecodeError::Malformed) => return Err(self.malformed(file)),
            Err(DecodeError::BatchFull) => {
                return Err(Error::invalid(
                    "a batch holds at most 4 GiB: lower the batch limit or the size of the values",
                ));
            }
        }
        self.from += count;
        file.metrics().entries_scanned.add(count as u64);
        if !reading.columns.is_all() {
            retain_families(out, first, &reading.columns);
        }
        Ok(())
    }

    /// Puts block `at` under the position, for a single row or for more.
    fn load(
        &mut self,
        file: &Arc<SortedFile>,
        at: usize,
        end: Option<Bound<'_>>,
        single: bool,
        reading: &Reading,
    ) -> StoreResult<()> {
        if single && let Some(block) = self.index.residents().get(at) {
            file.metrics().block_cache_hits.increment();
            self.block = Some(block);
            self.at = at;
            return Ok(());
        }
        let place = self
            .index
            .place(at)
            .ok_or_else(|| file.corrupt(0, "an index is malformed"))?;
        let old = self.block.take();
        self.at = at;
        let sequential = at.checked_sub(1) == self.last && at > 0;
        self.last = Some(at);
        if let Some(block) = file.cache().block(file.id(), place.offset) {
            block.prefetch_head();
            self.block = Some(block);
            return Ok(());
        }
        if !sequential {
            self.ahead.jump();
        }
        let past_cache = reading.skip_cache_fill;
        if let Some(block) = old.and_then(Arc::into_inner) {
            // Not in the cache.
            self.ahead.recycle(block.into_bytes());
        }
        // A range that ends in this block needs nothing behind it.
        let start = (sequential || past_cache) && self.goes_on_behind(at, end);
        let way = Way {
            file,
            index: &self.index,
            end,
            past_cache,
        };
        let taken = match start || self.ahead.is_active() {
            true => self.ahead.take(&way, at, start),
            false => None,
        };
        let long = taken.is_some() && self.ahead.is_long();
        let mut block = match taken {
            Some(block) => block?,
            None => self.read(file, place)?,
        };
        file.metrics().blocks_read.increment();
        // What a long read meets for the first time does not come into the cache.
        let id = file.id();
        let kept =
            !past_cache && (!long || file.cache().is_met_again(id, place.offset, block.memory()));
        if kept {
            block.settle(Home::new(self.index.residents(), at));
        }
        let block = Arc::new(block);
        if kept {
            let gone = file.cache().put_block(id, place.offset, block.clone());
            // Not one that is much too large.
            if let Some(gone) = gone
                && gone.capacity() <= STORED_BYTES_MAX.min(2 * block.raw_len())
            {
                self.spare = gone;
            }
            // After that: what is here looks used to the cache as soon as somebody comes.
            self.index.residents().put(at, &block);
        }
        self.block = Some(block);
        Ok(())
    }

    /// Whether the block behind block `at` may hold entries of the range.
    fn goes_on_behind(&self, at: usize, end: Option<Bound<'_>>) -> bool {
        let next = at + 1;
        next < self.index.blocks()
            && end.is_none_or(|end| self.index.compare(next, end) == Some(Ordering::Less))
    }

    /// Reads a single block.
    fn read(&mut self, file: &SortedFile, place: BlockPlace) -> StoreResult<Block> {
        let bytes = place.bytes as usize;
        self.stored.resize(bytes, 0);
        file.handle()?.read_at(place.offset, &mut self.stored)?;
        file.metrics().block_bytes_read.add(bytes as u64);
        let buffer = match std::mem::take(&mut self.spare) {
            spare if spare.capacity() > 0 => spare,
            _ => self.ahead.buffer(),
        };
        let block = file.decode_block(place, &self.stored, buffer, &mut self.decompressor)?;
        if self.stored.capacity() > STORED_BYTES_MAX {
            self.stored = Vec::new();
        }
        Ok(block)
    }
}

/// Whether the keys between two places are exactly those of the first one's row.
fn is_one_row(start: Bound<'_>, end: Bound<'_>) -> bool {
    start.first_of_row && end.first_of_row && end.key.row.split_last() == Some((&0, start.key.row))
}

/// Whether a block may hold something to be read; asked before it is decoded.
fn wanted(block: &Block, reading: &Reading) -> bool {
    if let Some(admits) = &reading.label_filter
        && !block.labels().any(|label| admits(label))
    {
        return false;
    }
    if !reading.columns.is_all()
        && let Some(mut families) = block.families()
    {
        return families.any(|family| reading.columns.contains_family(family));
    }
    true
}

/// Drops the entries from position `first` on whose family is not selected.
fn retain_families(out: &mut Batch, first: usize, columns: &ColumnSelection) {
    let mut judged = None;
    let mut keep = false;
    out.retain_from(first, |batch, at| {
        let Some(slot) = batch.slots().get(at) else {
            return false;
        };
        // Families from a dictionary share their span.
        if judged != Some(slot.family) {
            judged = Some(slot.family);
            keep = columns.contains_family(batch.bytes(slot.family));
        }
        keep
    });
}
