//! Chunks and sorted runs of marks.

use std::cmp::Ordering;
use std::sync::Arc;

use ostrakon_cell::{KeyRef, MutationBatch, UpdateRef, mutation::read_update};

use super::buffers::BufferPool;
use super::ties::{TiedMarks, Ties};
use crate::error::{Error, ErrorKind, StoreResult};

/// Unused bytes that a buffer may always have.
const SPARE_BYTES: usize = 1 << 10;

/// A batch in memory.
pub struct Chunk {
    batch: MutationBatch,
    /// Timestamp of the updates without one; late updates have the next timestamp.
    timestamp: i64,
    buffers: Arc<BufferPool>,
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.buffers
            .put(std::mem::take(&mut self.batch).into_encoded());
    }
}

/// Selects the eight bytes of a row in its mark: those after a prefix that the rows of a memtable
/// share. Rows without that prefix sort below or above all others, as they should. Marks are
/// comparable if their prefixes are equal, so all runs of a memtable have the same prefix.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowPrefix(Arc<[u8]>);

/// Maximum length of a shared prefix.
const MAX_SHARED: usize = 64;
/// Marks of one row whose heads are in memory at once: 2 MiB.
const MAX_HEADS: usize = 1 << 16;

/// The position of one update: eight bytes of its row, then the complement of its chunk's number
/// and the complement of its offset, so that among equal rows the newest comes first.
pub(super) type Mark = u128;

/// A sorted run of marks over some chunks.
pub struct Run {
    marks: Vec<Mark>,
    /// Oldest first; a mark's chunk number is an index here.
    chunks: Vec<Arc<Chunk>>,
    prefix: RowPrefix,
    bytes: usize,
    /// The newest timestamp; the least number without updates.
    newest: i64,
}

impl RowPrefix {
    /// The prefix that all rows of a batch share.
    #[must_use]
    pub fn of_batch(batch: &MutationBatch) -> Self {
        let mut updates = batch.updates();
        let Some((_, first)) = updates.next() else {
            return Self::default();
        };
        let mut shared = &first.row[..first.row.len().min(MAX_SHARED)];
        for (_, update) in updates.filter(|(_, update)| update.first) {
            let common = shared
                .iter()
                .zip(update.row)
                .take_while(|(a, b)| a == b)
                .count();
            shared = &shared[..common];
            if shared.is_empty() {
                break;
            }
        }
        Self(shared.into())
    }

    /// The common prefix of both.
    #[must_use]
    pub(super) fn shared_with(&self, other: &[u8]) -> Self {
        let shared = self.0.iter().zip(other).take_while(|(a, b)| a == b).count();
        if shared == self.0.len() {
            return self.clone();
        }
        Self(self.0[..shared].into())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The eight bytes of `row` as a number, which orders as the rows do except for ties.
    #[inline]
    #[must_use]
    pub fn mark_of(&self, row: &[u8]) -> u64 {
        match row.strip_prefix(&*self.0) {
            Some(rest) => head_of(rest),
            None if row < &*self.0 => 0,
            None => u64::MAX,
        }
    }
}

/// The first eight bytes as a number, with zeros after the end.
#[inline]
fn head_of(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(head) => u64::from_be_bytes(*head),
        None => {
            let mut head = [0; 8];
            head[..bytes.len()].copy_from_slice(bytes);
            u64::from_be_bytes(head)
        }
    }
}

impl Chunk {
    /// Wraps a batch; `timestamp` is for the updates without one. When dropped its buffer goes to
    /// `buffers`, or at once if it is mostly empty: writers fill buffers of a megabyte, and those
    /// that wait for every write send them with a few bytes each.
    #[must_use]
    pub fn new(mut batch: MutationBatch, timestamp: i64, buffers: Arc<BufferPool>) -> Self {
        if batch.capacity() > 2 * batch.byte_len() + SPARE_BYTES {
            buffers.put(batch.shrink());
        }
        Self {
            batch,
            timestamp,
            buffers,
        }
    }

    /// Memory held in bytes: the whole buffer.
    fn memory(&self) -> usize {
        self.batch.capacity() + size_of::<Self>()
    }

    /// The encoded batch.
    #[must_use]
    pub fn batch(&self) -> &MutationBatch {
        &self.batch
    }

    /// The chunk's timestamp.
    #[must_use]
    pub fn timestamp(&self) -> i64 {
        self.timestamp
    }

    /// The update at `offset`.
    ///
    /// Offsets come from marks made from this batch, so that a failure is an internal error.
    #[inline]
    pub fn update(&self, offset: u32) -> StoreResult<UpdateRef<'_>> {
        match read_update(self.batch.encoded(), offset as usize) {
            Some((update, _)) => Ok(update),
            None => Err(Error::new(
                ErrorKind::Internal,
                "a memtable mark points at no update",
            )),
        }
    }

    #[inline]
    fn key<'a>(&self, update: &UpdateRef<'a>) -> KeyRef<'a> {
        KeyRef {
            row: update.row,
            family: update.family,
            qualifier: update.qualifier,
            visibility: update.visibility,
            timestamp: update.timestamp_in(self.timestamp),
            deleted: update.deleted,
        }
    }
}

#[inline]
fn mark(row: u64, chunk: usize, offset: u32) -> Mark {
    u128::from(row) << 64 | u128::from(!(chunk as u32)) << 32 | u128::from(!offset)
}

#[inline]
pub(super) fn mark_row(mark: Mark) -> u64 {
    (mark >> 64) as u64
}

#[inline]
fn mark_place(mark: Mark) -> (usize, u32) {
    (!((mark >> 32) as u32) as usize, !(mark as u32))
}

impl Run {
    /// Sorts one chunk.
    #[must_use]
    pub fn of_chunk(chunk: Arc<Chunk>, prefix: RowPrefix) -> Self {
        let mut marks = Vec::with_capacity(chunk.batch.len());
        let mut row_mark = 0;
        let mut newest = i64::MIN;
        for (offset, update) in chunk.batch.updates() {
            newest = newest.max(update.timestamp_in(chunk.timestamp));
            if update.first {
                row_mark = prefix.mark_of(update.row);
            }
            marks.push(mark(row_mark, 0, offset));
        }
        marks.sort_unstable();
        let bytes = chunk.memory() + size_of::<Self>();
        let mut run = Self {
            marks,
            chunks: vec![chunk],
            prefix,
            bytes,
            newest,
        };
        run.sort_ties();
        run
    }

    /// Merges runs, oldest first.
    #[must_use]
    pub fn merge(runs: &[Arc<Self>]) -> Self {
        let mut merged = Self {
            marks: Vec::with_capacity(runs.iter().map(|run| run.marks.len()).sum()),
            chunks: Vec::with_capacity(runs.iter().map(|run| run.chunks.len()).sum()),
            prefix: runs
                .first()
                .map(|run| run.prefix.clone())
                .unwrap_or_default(),
            bytes: runs.iter().map(|run| run.bytes).sum(),
            newest: runs.iter().map(|run| run.newest).max().unwrap_or(i64::MIN),
        };
        for run in runs {
            let base = u128::from(merged.chunks.len() as u32) << 32;
            // Complements: subtracting from the mark adds to the chunk's number.
            merged
                .marks
                .extend(run.marks.iter().map(|mark| mark - base));
            merged.chunks.extend_from_slice(&run.chunks);
        }
        // A stable sort detects the sorted runs and merges them. Marks of equal rows are in key order, so sorting by the
        // whole mark would find no sorted runs.
        merged.marks.sort_by_key(|&mark| mark_row(mark));
        merged.merge_ties(runs);
        merged
    }

    /// The newest timestamp of its updates; `None` without updates.
    #[must_use]
    pub(super) fn newest(&self) -> Option<i64> {
        (!self.marks.is_empty()).then_some(self.newest)
    }

    /// The prefix of its marks.
    #[must_use]
    pub fn prefix(&self) -> &RowPrefix {
        &self.prefix
    }

    /// The common prefix of all its rows: that of the first and the last row, since they are
    /// sorted.
    pub(super) fn shared_prefix(&self) -> StoreResult<RowPrefix> {
        let Some(last) = self.len().checked_sub(1) else {
            return Ok(RowPrefix::default());
        };
        let first = self.entry(0)?.0.row;
        let first = RowPrefix(first[..first.len().min(MAX_SHARED)].into());
        Ok(first.shared_with(self.entry(last)?.0.row))
    }

    /// The same run with marks of another prefix. Marks order as rows do, whatever the prefix, so
    /// their order does not change.
    pub(super) fn with_prefix(&self, prefix: &RowPrefix) -> StoreResult<Self> {
        let mut marks = Vec::with_capacity(self.marks.len());
        for (at, old) in self.marks.iter().enumerate() {
            let (key, _) = self.entry(at)?;
            let place = old & u128::from(u64::MAX);
            marks.push(u128::from(prefix.mark_of(key.row)) << 64 | place);
        }
        Ok(Self {
            marks,
            chunks: self.chunks.clone(),
            prefix: prefix.clone(),
            bytes: self.bytes,
            newest: self.newest,
        })
    }

    /// Sorts marks with the same eight bytes by key; they are already in order from newest to
    /// oldest.
    fn sort_ties(&mut self) {
        let mut marks = std::mem::take(&mut self.marks);
        let mut heads = Vec::new();
        let mut at = 0;
        while at + 1 < marks.len() {
            let row = mark_row(marks[at]);
            if mark_row(marks[at + 1]) != row {
                at += 1;
                continue;
            }
            let len = gallop(&marks, at, |mark| mark_row(mark) == row) - at;
            self.sort_tied(&mut marks[at..at + len], &mut heads);
            at += len;
        }
        self.marks = marks;
    }

    /// Sorts marks of one row, as the fields of a record are, by eight bytes of their qualifiers, so that most
    /// comparisons read no keys. `heads` is memory that is used again, and not charged: of a longer row, keys are
    /// compared.
    fn sort_tied(&self, marks: &mut [Mark], heads: &mut Vec<(u64, Mark)>) {
        if marks.len() > MAX_HEADS {
            marks.sort_unstable_by(|a, b| self.cmp_keys(*a, *b).then(a.cmp(b)));
            return;
        }
        let shared = self.shared_qualifier(marks);
        let head = |mark: Mark| {
            let rest = self.key_of(mark)?.qualifier.get(shared?..)?;
            Some(head_of(rest))
        };
        heads.clear();
        heads.extend(marks.iter().map(|&mark| (head(mark).unwrap_or(0), mark)));
        heads.sort_unstable_by(|a, b| {
            let by_head = a.0.cmp(&b.0);
            by_head.then_with(|| self.cmp_keys(a.1, b.1).then(a.1.cmp(&b.1)))
        });
        for (place, &(_, mark)) in marks.iter_mut().zip(&*heads) {
            *place = mark;
        }
    }

    /// How many bytes all qualifiers of these marks share; `None` if their rows or families differ.
    fn shared_qualifier(&self, marks: &[Mark]) -> Option<usize> {
        let first = self.key_of(*marks.first()?)?;
        let mut shared = first.qualifier;
        for &mark in &marks[1..] {
            let key = self.key_of(mark)?;
            if key.row != first.row || key.family != first.family {
                return None;
            }
            let common = shared.iter().zip(key.qualifier);
            shared = &shared[..common.take_while(|(a, b)| a == b).count()];
        }
        Some(shared.len())
    }

    /// [`sort_ties`](Self::sort_ties) for a merged run: in each of `runs`, oldest first, the marks
    /// with the same eight bytes are in key order already, so they are merged instead of sorted.
    fn merge_ties(&mut self, runs: &[Arc<Self>]) {
        let mut inputs = Vec::with_capacity(runs.len());
        let mut base = 0;
        for run in runs {
            inputs.push(TiedMarks {
                marks: &run.marks,
                base: u128::from(base as u32) << 32,
            });
            base += run.chunks.len();
        }
        let mut marks = std::mem::take(&mut self.marks);
        let mut tied = Ties::default();
        let mut at = 0;
        while at + 1 < marks.len() {
            let row = mark_row(marks[at]);
            if mark_row(marks[at + 1]) != row {
                at += 1;
                continue;
            }
            for input in &mut inputs {
                tied.add(input.take(row));
            }
            let merged = tied.merge(|mark| self.key_of(mark));
            let len = merged.len();
            marks[at..at + len].copy_from_slice(merged);
            tied.clear();
            at += len;
        }
        self.marks = marks;
    }

    /// Orders two marks by their full keys.
    fn cmp_keys(&self, a: Mark, b: Mark) -> Ordering {
        match (self.key_of(a), self.key_of(b)) {
            (Some(a), Some(b)) => a.cmp(&b),
            // Unreachable: marks are made from updates that were read.
            _ => Ordering::Equal,
        }
    }

    fn key_of(&self, mark: Mark) -> Option<KeyRef<'_>> {
        let (chunk, offset) = mark_place(mark);
        let chunk = self.chunks.get(chunk)?;
        let (update, _) = read_update(chunk.batch.encoded(), offset as usize)?;
        Some(chunk.key(&update))
    }

    /// Number of updates.
    #[must_use]
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Whether there is no update.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.bytes + self.marks.len() * size_of::<Mark>()
    }

    /// The eight row bytes of the update at `at`.
    #[inline]
    pub(super) fn row_mark(&self, at: usize) -> u64 {
        mark_row(self.marks[at])
    }

    /// The update at `at` and its key.
    #[inline]
    pub(crate) fn entry(&self, at: usize) -> StoreResult<(KeyRef<'_>, &[u8])> {
        let (chunk, offset) = mark_place(self.marks[at]);
        let chunk = &self.chunks[chunk];
        let update = chunk.update(offset)?;
        Ok((chunk.key(&update), update.value))
    }

    /// Reads one byte of each of the first cache lines of the update at `at`, as many as a small
    /// one may have, so that they are in the cache when needed. A prefetch for each entry when it
    /// is picked was slower.
    #[inline]
    pub(super) fn touch(&self, at: usize) -> u8 {
        let (chunk, offset) = mark_place(self.marks[at]);
        let bytes = self.chunks[chunk].batch.encoded();
        let offset = offset as usize;
        let line = |at: usize| bytes.get(offset + 64 * at).copied().unwrap_or(0);
        line(0) ^ line(1) ^ line(2)
    }

    /// Position of the first update whose key is not before the bound; `before` says whether a key
    /// is.
    pub(super) fn lower_bound(
        &self,
        row: &[u8],
        before: impl Fn(KeyRef<'_>) -> bool,
    ) -> StoreResult<usize> {
        self.lower_bound_from(0, row, before)
    }

    /// [`lower_bound`](Self::lower_bound) at or after `from`; all updates before `from` must be
    /// before the bound. Takes time in the logarithm of the distance.
    pub(super) fn lower_bound_from(
        &self,
        from: usize,
        row: &[u8],
        before: impl Fn(KeyRef<'_>) -> bool,
    ) -> StoreResult<usize> {
        let row_mark = self.prefix.mark_of(row);
        let mut low = gallop(&self.marks, from, |mark| mark_row(mark) < row_mark);
        // In most tables few updates have the same eight bytes.
        let mut high = gallop(&self.marks, low, |mark| mark_row(mark) <= row_mark);
        while low < high {
            let middle = usize::midpoint(low, high);
            if before(self.entry(middle)?.0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}

/// The first position from `from` on whose mark does not satisfy `pred`, which must hold for no
/// later mark. Doubles its steps, so that a near position is found soon.
pub(super) fn gallop(marks: &[Mark], from: usize, pred: impl Fn(Mark) -> bool) -> usize {
    let rest = &marks[from..];
    let (mut low, mut step) = (0, 1);
    while let Some(&mark) = rest.get(low + step - 1) {
        if !pred(mark) {
            break;
        }
        low += step;
        step *= 2;
    }
    let high = rest.len().min(low + step - 1);
    from + low + rest[low..high].partition_point(|&mark| pred(mark))
}
