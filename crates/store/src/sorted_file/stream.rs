//! Reads the blocks of one locality group in order.

use std::cmp::Ordering;
use std::sync::Arc;

use ostrakon_cell::{Batch, BatchLimit, ColumnSelection, Error, ErrorKind, Key};

use super::ahead::{Ahead, Way};
use super::block::{Block, ChoiceScratch, Chosen, DecodeError, DecodeScratch, Home};
use super::bound::Bound;
use super::index::{BlockPlace, GroupIndex, IndexCursor};
use super::iterator::LabelFilter;
use super::reader::SortedFile;
use crate::codec::Decompressor;
use crate::error::StoreResult;
use crate::iterator::first_wanted;

/// A larger buffer for stored bytes is freed.
const STORED_BYTES_MAX: usize = 1 << 20;

/// After this many blocks without a selected column one other entry is returned, so that the call
/// ends: between calls a scan can be stopped, and it returns within the time it was given.
const BARREN_MAX: usize = 64;

/// Entries of one row in a block, up to which the block's labels are not looked at.
const FEW_OF_ROW: usize = 64;

/// What a stream leaves out, and how it uses the cache.
#[derive(Clone, Default)]
pub(super) struct Reading {
    pub(super) columns: ColumnSelection,
    pub(super) label_filter: Option<LabelFilter>,
    pub(super) skip_cache_fill: bool,
}

/// A position in one locality group.
#[derive(Debug)]
pub(super) struct GroupStream {
    index: IndexCursor,
    /// The present block, and its number.
    block: Option<Arc<Block>>,
    at: usize,
    /// Its remaining entries: either these,
    from: usize,
    to: usize,
    /// or those at these positions, from `picked` on.
    picks: Vec<u32>,
    picked: usize,
    /// Number of blocks without a selected column since the last entry.
    barren: usize,
    /// Whether later blocks may hold entries of the range.
    more: bool,
    /// The last block read, to detect sequential reading.
    last: Option<usize>,
    ahead: Ahead,
    stored: Vec<u8>,
    /// The buffer of a block that was evicted from the cache.
    spare: Vec<u8>,
    decompressor: Decompressor,
    scratch: DecodeScratch,
    choice: ChoiceScratch,
    /// The first key that may be selected, for look-ups in the index.
    target: Key,
}

impl GroupStream {
    pub(super) fn new(index: Arc<GroupIndex>) -> Self {
        Self {
            index: IndexCursor::new(index),
            block: None,
            at: 0,
            from: 0,
            to: 0,
            picks: Vec::new(),
            picked: 0,
            barren: 0,
            more: false,
            last: None,
            ahead: Ahead::default(),
            stored: Vec::new(),
            spare: Vec::new(),
            decompressor: Decompressor::new(),
            scratch: DecodeScratch::default(),
            choice: ChoiceScratch::default(),
            target: Key::default(),
        }
    }

    #[cold]
    fn malformed(&mut self, file: &SortedFile) -> Error {
        let place = self.index.place(file, self.at, false);
        file.corrupt(
            place.map_or(0, |place| place.offset),
            "a block is malformed",
        )
    }

    /// Moves to the first entry between two places.
    pub(super) fn seek(
        &mut self,
        file: &Arc<SortedFile>,
        start: Option<Bound<'_>>,
        end: Option<Bound<'_>>,
        reading: &Reading,
    ) -> StoreResult<()> {
        (self.from, self.to, self.more) = (0, 0, false);
        self.leave_picks();
        if self.index.blocks() == 0 {
            return Ok(());
        }
        let fill = !reading.skip_cache_fill;
        let at = match start {
            None => 0,
            Some(bound) if reading.columns.is_all() => self.index.find(file, bound, fill)?,
            Some(bound) => {
                // The part of the first row before the columns is skipped.
                self.target.set(bound.key);
                let wanted = match first_wanted(&reading.columns, &mut self.target) {
                    true => Bound::new(self.target.as_ref(), false),
                    false => bound,
                };
                self.index.find(file, wanted, fill)?
            }
        };
        self.ahead.keep_from(at);
        self.enter(file, at, start, end, reading)
    }

    /// Makes `at` the present block, and the first entry after `start` the next one.
    fn enter(
        &mut self,
        file: &Arc<SortedFile>,
        at: usize,
        start: Option<Bound<'_>>,
        end: Option<Bound<'_>>,
        reading: &Reading,
    ) -> StoreResult<()> {
        let row = match (start, end) {
            (Some(start), Some(end)) if is_one_row(start, end) => Some(start.key.row),
            _ => None,
        };
        if self.block.is_none() || self.at != at {
            self.load(file, at, end, row.is_some(), reading)?;
        }
        let next = at + 1;
        // Orders the end of this block, which the index knows, relative to the end of the range.
        let order = match end {
            _ if next >= self.index.blocks() => Ordering::Greater,
            None => Ordering::Less,
            Some(bound) => {
                let fill = !reading.skip_cache_fill;
                self.index.compare(file, next, bound, fill)?
            }
        };
        self.more = order == Ordering::Less && next < self.index.blocks();
        if !self.more {
            self.ahead.finish();
        }
        (self.from, self.to) = (0, 0);
        self.leave_picks();
        self.scratch.forget_row();
        let ends_here = order == Ordering::Greater;
        match self.select(
            start,
            end.filter(|_| ends_here),
            row.filter(|_| ends_here),
            reading,
        )? {
            Some(()) => Ok(()),
            None => Err(self.malformed(file)),
        }
    }

    /// Selects the entries to read in the present block: after `start`, before `end`, or of a row
    /// that ends in it. `None` if the block is malformed.
    fn select(
        &mut self,
        start: Option<Bound<'_>>,
        end: Option<Bound<'_>>,
        row: Option<&[u8]>,
        reading: &Reading,
    ) -> StoreResult<Option<()>> {
        let Some(block) = &self.block else {
            return Err(Error::new(ErrorKind::Internal, "a block was not loaded"));
        };
        if row.is_none() && is_denied(block, reading) {
            return Ok(Some(()));
        }
        let found = match row {
            Some(row) => block.find_row(row),
            None => {
                let from = match start {
                    None => Some(0),
                    Some(start) => block.find(start, 0),
                };
                from.and_then(|from| match end {
                    None => Some((from, block.entries())),
                    Some(end) => Some((from, block.find(end, from)?)),
                })
            }
        };
        let Some((from, to)) = found else {
            return Ok(None);
        };
        if from >= to {
            return Ok(Some(()));
        }
        // The labels of a block lie apart from its rows: two cache misses more for a point read, of whose few entries each
        // is checked anyway.
        if row.is_some() && to - from > FEW_OF_ROW && is_denied(block, reading) {
            return Ok(Some(()));
        }
        if let Some(row) = row {
            block.prefetch_entry(from);
            self.scratch.know_row(row, from..to);
        }
        if reading.columns.is_all() {
            (self.from, self.to) = (from, to);
            return Ok(Some(()));
        }
        let (choice, picks) = (&mut self.choice, &mut self.picks);
        let Some(chosen) = block.choose(&reading.columns, from..to, choice, picks) else {
            return Ok(None);
        };
        if chosen == Chosen::All {
            picks.clear();
            (self.from, self.to) = (from, to);
        } else if picks.is_empty() {
            self.barren += 1;
            if self.barren >= BARREN_MAX {
                picks.push((to - 1) as u32);
            }
        }
        Ok(Some(()))
    }

    fn leave_picks(&mut self) {
        self.picks.clear();
        self.picked = 0;
    }

    /// Whether the present block has entries left.
    #[inline]
    fn has_entries(&self) -> bool {
        self.from < self.to || self.picked < self.picks.len()
    }

    /// Whether the range is exhausted.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        !self.has_entries() && !self.more
    }

    /// Appends entries until the limit is reached or the range ends. `true`: it stopped early,
    /// having read many blocks for one entry that is not selected.
    pub(super) fn fill(
        &mut self,
        file: &Arc<SortedFile>,
        end: Option<Bound<'_>>,
        reading: &Reading,
        out: &mut Batch,
        limit: BatchLimit,
    ) -> StoreResult<bool> {
        loop {
            while self.has_entries() {
                if out.is_full(limit) {
                    return Ok(false);
                }
                self.decode(file, out, limit)?;
                if std::mem::take(&mut self.barren) >= BARREN_MAX {
                    return Ok(true);
                }
            }
            if !self.more || out.is_full(limit) {
                return Ok(false);
            }
            match self.next_block(file, end, reading)? {
                Some(next) => self.enter(file, next, None, end, reading)?,
                None => {
                    self.more = false;
                    self.ahead.finish();
                }
            }
        }
    }

    /// Moves to the next block that may hold entries of the range; one must exist. Blocks between
    /// two selected columns of one row are skipped.
    fn next_block(
        &mut self,
        file: &SortedFile,
        end: Option<Bound<'_>>,
        reading: &Reading,
    ) -> StoreResult<Option<usize>> {
        let next = self.at + 1;
        let (fill, target) = (!reading.skip_cache_fill, &mut self.target);
        if reading.columns.is_all()
            || !self.index.inside_row(file, next, target, fill)?
            || !first_wanted(&reading.columns, target)
        {
            return Ok(Some(next));
        }
        let wanted = Bound::new(self.target.as_ref(), false);
        let found = self.index.find(file, wanted, fill)?;
        if found <= next {
            return Ok(Some(next));
        }
        self.ahead.keep_from(found);
        let is_behind = match end {
            None => false,
            // Exact: compares the start of the selected keys with the end of the range.
            Some(end) => wanted.is_behind(end),
        };
        Ok((!is_behind).then_some(found))
    }

    fn decode(&mut self, file: &SortedFile, out: &mut Batch, limit: BatchLimit) -> StoreResult<()> {
        let Some(block) = &self.block else {
            return Err(Error::new(ErrorKind::Internal, "a block was not loaded"));
        };
        let is_run = self.from < self.to;
        let first = match self.picks.get(self.picked) {
            Some(pick) if !is_run => *pick as usize,
            _ => self.from,
        };
        // The limit of bytes may be exceeded by up to one block: entries are assumed to be of
        // average size.
        let average = (block.raw_len() / block.entries())
            .saturating_add(block.row_len(first))
            .saturating_add(1);
        let room = limit.bytes.saturating_sub(out.content_len()) / average + 1;
        let left = match is_run {
            true => self.to - self.from,
            false => self.picks.len() - self.picked,
        };
        let count = left
            .min(limit.entries.saturating_sub(out.len()))
            .min(room)
            .max(1);
        let decoded = if is_run {
            block.decode(self.from, self.from + count, out, &mut self.scratch)
        } else {
            let picks = self.picks.get(self.picked..self.picked + count);
            block.decode_picks(picks.unwrap_or_default(), out, &mut self.scratch)
        };
        match decoded {
            Ok(()) => {}
            Err(DecodeError::Malformed) => return Err(self.malformed(file)),
            Err(DecodeError::BatchFull) => {
                return Err(Error::invalid(
                    "a batch holds at most 4 GiB: lower the batch limit or the size of the values",
                ));
            }
        }
        if is_run {
            self.from += count;
        } else {
            self.picked += count;
        }
        file.metrics().entries_scanned.add(count as u64);
        Ok(())
    }

    /// Makes block `at` the present one, for a single row or for more.
    fn load(
        &mut self,
        file: &Arc<SortedFile>,
        at: usize,
        end: Option<Bound<'_>>,
        single: bool,
        reading: &Reading,
    ) -> StoreResult<()> {
        let fill = !reading.skip_cache_fill;
        if single {
            let (partition, number) = self.index.at(file, at, fill)?;
            if let Some(block) = partition.cached().get(number) {
                file.metrics().block_cache_hits.increment();
                self.block = Some(block);
                self.at = at;
                return Ok(());
            }
        }
        let place = self.index.place(file, at, fill)?;
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
            // It was not in the cache.
            self.ahead.recycle(block.into_bytes());
        }
        // A range that ends in this block needs no later block.
        let start = (sequential || past_cache) && self.goes_on_behind(file, at, end, fill)?;
        let way = Way {
            file,
            index: self.index.index(),
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
        // Blocks that a long read sees for the first time are not cached.
        let id = file.id();
        let kept =
            !past_cache && (!long || file.cache().is_met_again(id, place.offset, block.memory()));
        let (partition, number) = self.index.at(file, at, fill)?;
        if kept {
            block.settle(Home::new(partition.cached(), number));
        }
        let block = Arc::new(block);
        if kept {
            let gone = file.cache().put_block(id, place.offset, block.clone());
            // Unless it is much too large.
            if let Some(gone) = gone
                && gone.capacity() <= STORED_BYTES_MAX.min(2 * block.raw_len())
            {
                self.spare = gone;
            }
            // Afterwards: a block found here looks used to the cache as soon as it is read.
            partition.cached().put(number, &block);
        }
        self.block = Some(block);
        Ok(())
    }

    /// Whether the block after block `at` may hold entries of the range.
    fn goes_on_behind(
        &mut self,
        file: &SortedFile,
        at: usize,
        end: Option<Bound<'_>>,
        fill: bool,
    ) -> StoreResult<bool> {
        let next = at + 1;
        if next >= self.index.blocks() {
            return Ok(false);
        }
        match end {
            None => Ok(true),
            Some(end) => Ok(self.index.compare(file, next, end, fill)? == Ordering::Less),
        }
    }

    /// Reads a single block.
    fn read(&mut self, file: &SortedFile, place: BlockPlace) -> StoreResult<Block> {
        let bytes = place.bytes as usize;
        self.stored.resize(bytes, 0);
        let handle = file.handle()?;
        handle.read_at(place.offset, &mut self.stored)?;
        file.metrics().block_bytes_read.add(bytes as u64);
        // Not before the read, which would wait for all of it.
        if let Some(around) = file.cache().around().after_miss(file.id(), place.offset) {
            handle.prefetch(around.start, around.end - around.start);
        }
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

/// Whether the keys between two places are exactly those of the first place's row.
fn is_one_row(start: Bound<'_>, end: Bound<'_>) -> bool {
    start.first_of_row && end.first_of_row && end.key.row.split_last() == Some((&0, start.key.row))
}

/// Whether none of a block's labels is admitted; checked before it is decoded.
fn is_denied(block: &Block, reading: &Reading) -> bool {
    match &reading.label_filter {
        Some(admits) => !block.labels().any(|label| admits(label)),
        None => false,
    }
}
