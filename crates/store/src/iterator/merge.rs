//! Merges many sorted sources into one stream.

use std::cmp::Ordering;

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, KeyRef, Range, SortedKeyValueIterator,
};

use super::copy::Copier;
use crate::error::StoreResult;

/// Approximate total bytes of all look-ahead batches: they should stay in the L2 cache.
const LOOK_AHEAD_BYTES: usize = 512 << 10;
/// Bounds of one source's share, in bytes.
const LOOK_AHEAD_SHARE: (usize, usize) = (4 << 10, 64 << 10);
/// Entries of the first look-ahead after a seek; it grows by [`GROWTH`] with each refill, so that a
/// point read does not read much more than it returns.
const FIRST_ENTRIES: usize = 32;
const GROWTH: usize = 4;
/// Number of consecutive wins of one source after which its whole run is searched.
const STREAK: u32 = 3;

/// Entries of many sources in key order.
///
/// Sources are given newest first: entries with equal keys come in the order of their sources.
/// Nothing is dropped; the iterators above do that. A single source is passed through without a
/// copy, also when all the others have ended.
///
/// Sources are compared by eight bytes of their row, after the common prefix of all present rows,
/// in a tree of losers: one comparison of integers per level, and of whole keys on a tie. Each
/// source is read ahead by at most 64 KiB, and less when there are many, plus one entry.
pub struct MergeIterator {
    sources: Vec<Source>,
    tree: LoserTree,
    /// Limit of one source's look-ahead.
    look_ahead: BatchLimit,
    /// Length of the common prefix of all present rows.
    skip: usize,
    /// Refills since `skip` was last computed.
    refills: usize,
}

struct Source {
    iterator: BoxedIterator,
    batch: Batch,
    at: usize,
    /// Whether nothing comes after `batch`.
    exhausted: bool,
    /// Entries of the next refill.
    next_entries: usize,
    copier: Copier,
}

impl MergeIterator {
    /// Merges `sources`, the newest first.
    #[must_use]
    pub fn new(sources: Vec<BoxedIterator>) -> Self {
        Self::within(sources, None)
    }

    /// As [`new`](Self::new), reading ahead at most this many bytes in all, but at least the
    /// minimum of each source.
    #[must_use]
    pub fn within(sources: Vec<BoxedIterator>, look_ahead_bytes: Option<usize>) -> Self {
        let (least, most) = LOOK_AHEAD_SHARE;
        let all = look_ahead_bytes.map_or(LOOK_AHEAD_BYTES, |bytes| bytes.min(LOOK_AHEAD_BYTES));
        let bytes = (all / sources.len().max(1)).clamp(least, most);
        Self {
            look_ahead: BatchLimit {
                entries: bytes / 64,
                bytes,
            },
            sources: sources.into_iter().map(Source::new).collect(),
            tree: LoserTree::default(),
            skip: 0,
            refills: 0,
        }
    }

    /// Builds the tree from the sources that have entries.
    fn build(&mut self) {
        self.skip = common_prefix(&self.sources);
        self.refills = 0;
        self.tree.build(&self.sources, self.skip);
    }

    /// Refills source `at`, whose look-ahead is used up, and moves it to its new place.
    fn refill(&mut self, at: usize) -> StoreResult<()> {
        let skip = self.skip;
        let Some(source) = self.sources.get_mut(at) else {
            return Ok(());
        };
        source.fill(self.look_ahead)?;
        if source.has_top() {
            // The new batch may not share the others' prefix; now and then it is worth checking
            // whether the common prefix has become longer.
            self.refills += 1;
            if self.refills >= self.tree.len() || !self.shares_prefix(at, skip) {
                self.refills = 0;
                let common = common_prefix(&self.sources);
                if common != skip {
                    self.skip = common;
                    self.tree.build(&self.sources, common);
                    return Ok(());
                }
            }
            self.tree.replay(&self.sources, skip);
        } else {
            self.tree.alive -= 1;
            if self.tree.alive < 2 || self.tree.alive * 2 <= self.tree.len() {
                self.build();
            } else {
                self.tree.replay(&self.sources, skip);
            }
        }
        Ok(())
    }

    /// Whether the rows of source `at` share the first `skip` bytes with those of another one.
    fn shares_prefix(&self, at: usize, skip: usize) -> bool {
        let other = self
            .sources
            .iter()
            .enumerate()
            .find(|(other, source)| *other != at && source.has_top());
        let (Some((_, other)), Some(source)) = (other, self.sources.get(at)) else {
            return false;
        };
        let prefix = other.batch.row(other.at).get(..skip);
        prefix.is_some()
            && source.batch.row(source.at).get(..skip) == prefix
            && source.batch.row(source.batch.len() - 1).get(..skip) == prefix
    }

    /// Returns the look-ahead of the only source left, then reads it directly.
    fn pass_through(
        &mut self,
        only: usize,
        out: &mut Batch,
        limit: BatchLimit,
    ) -> StoreResult<bool> {
        let Some(source) = self.sources.get_mut(only) else {
            return Ok(false);
        };
        let end = source.batch.len();
        source.emit(end, out, limit)?;
        if source.has_top() {
            return Ok(true);
        }
        if source.exhausted {
            return Ok(false);
        }
        if out.is_full(limit) {
            return Ok(true);
        }
        source.exhausted = !source.iterator.next_batch(out, limit)?;
        Ok(!source.exhausted)
    }
}

impl SortedKeyValueIterator for MergeIterator {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
        self.tree.clear();
        for source in &mut self.sources {
            source.reset();
            source.iterator.seek(range, columns)?;
        }
        if let [only] = self.sources.as_mut_slice() {
            only.exhausted = false;
            self.tree.alive = 1;
            return Ok(());
        }
        for source in &mut self.sources {
            source.exhausted = false;
            source.fill(self.look_ahead)?;
        }
        self.build();
        Ok(())
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        if self.tree.alive == 0 {
            return Ok(false);
        }
        for source in &mut self.sources {
            source.copier.clear();
        }
        let mut last = usize::MAX;
        let mut streak = 0;
        while !out.is_full(limit) {
            if self.tree.alive == 0 {
                return Ok(false);
            }
            let winner = self.tree.winner();
            if self.tree.alive == 1 {
                return self.pass_through(winner, out, limit);
            }
            let Some(source) = self.sources.get_mut(winner) else {
                break;
            };
            if !source.has_top() {
                // Only now, not when its last entry was returned: perhaps no more entries are
                // requested. And after an error the next call resumes here.
                self.refill(winner)?;
                last = usize::MAX;
                continue;
            }
            streak = if winner == last { streak + 1 } else { 0 };
            last = winner;
            if streak < STREAK {
                if let Some(slot) = source.batch.slots().get(source.at) {
                    source.copier.copy(out, &source.batch, slot)?;
                }
                source.at += 1;
            } else {
                streak = 0;
                let end = self.tree.run_end(&self.sources, self.skip);
                if let Some(source) = self.sources.get_mut(winner) {
                    source.emit(end, out, limit)?;
                }
            }
            if self.sources.get(winner).is_some_and(Source::has_top) {
                self.tree.replay(&self.sources, self.skip);
            }
        }
        Ok(true)
    }

    fn deep_copy(&self) -> BoxedIterator {
        let copies = self
            .sources
            .iter()
            .map(|source| source.iterator.deep_copy());
        Box::new(Self::new(copies.collect()))
    }
}

impl Source {
    fn new(iterator: BoxedIterator) -> Self {
        Self {
            iterator,
            batch: Batch::new(),
            at: 0,
            exhausted: true,
            next_entries: FIRST_ENTRIES,
            copier: Copier::default(),
        }
    }

    fn reset(&mut self) {
        self.batch.clear();
        self.at = 0;
        self.exhausted = true;
        self.next_entries = FIRST_ENTRIES;
        self.copier.clear();
    }

    #[inline]
    fn has_top(&self) -> bool {
        self.at < self.batch.len()
    }

    #[inline]
    fn top(&self) -> Option<KeyRef<'_>> {
        self.has_top().then(|| self.batch.key(self.at))
    }

    /// Replaces the used look-ahead by the next one; leaves it empty at the end.
    fn fill(&mut self, most: BatchLimit) -> StoreResult<()> {
        self.at = 0;
        self.copier.clear();
        let limit = BatchLimit {
            entries: self.next_entries.min(most.entries),
            bytes: most.bytes,
        };
        self.next_entries = limit.entries.saturating_mul(GROWTH);
        if self.batch.memory() > 8 * LOOK_AHEAD_SHARE.1 {
            // One huge value must not stay in memory for the length of a scan.
            self.batch = Batch::new();
        }
        self.batch.clear();
        while self.batch.is_empty() && !self.exhausted {
            self.batch.clear();
            self.exhausted = !self.iterator.next_batch(&mut self.batch, limit)?;
        }
        Ok(())
    }

    /// Copies the look-ahead's entries before position `end`, as far as `limit` allows.
    fn emit(&mut self, end: usize, out: &mut Batch, limit: BatchLimit) -> StoreResult<()> {
        let run = self.batch.slots().get(self.at..end).unwrap_or_default();
        for slot in run {
            if out.is_full(limit) {
                break;
            }
            self.copier.copy(out, &self.batch, slot)?;
            self.at += 1;
        }
        Ok(())
    }
}

/// Length of the common prefix of all rows in the look-ahead batches.
fn common_prefix(sources: &[Source]) -> usize {
    let mut common: Option<&[u8]> = None;
    for source in sources.iter().filter(|source| source.has_top()) {
        let first = source.batch.row(source.at);
        let last = source.batch.row(source.batch.len() - 1);
        let known = common.unwrap_or(first);
        let shared = shared_len(known, first).min(shared_len(known, last));
        common = known.get(..shared);
    }
    common.map_or(0, <[u8]>::len)
}

fn shared_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Eight bytes of the row from `skip` on, as a number with the same order. A shorter row is padded
/// with zeros, so that equal numbers are a tie.
#[inline]
fn prefix(row: &[u8], skip: usize) -> u64 {
    if let Some(bytes) = row.get(skip..).and_then(|rest| rest.first_chunk::<8>()) {
        return u64::from_be_bytes(*bytes);
    }
    row.iter()
        .skip(skip)
        .zip([56, 48, 40, 32, 24, 16, 8])
        .fold(0, |number, (&byte, shift)| {
            number | (u64::from(byte) << shift)
        })
}

/// A source in the tree: its place and the prefix of its top entry's row.
#[derive(Debug, Clone, Copy, Default)]
struct Player {
    prefix: u64,
    source: u32,
    leaf: u32,
}

/// A tournament between the sources. Each inner node keeps the loser of its match, place 0 the
/// winner of all: when the winner advances, it is compared only with the losers on its path to the
/// root.
#[derive(Debug, Default)]
struct LoserTree {
    nodes: Vec<Player>,
    /// Winners while the tree is built.
    scratch: Vec<Player>,
    /// Sources that have not ended.
    alive: usize,
}

impl LoserTree {
    fn clear(&mut self) {
        self.nodes.clear();
        self.alive = 0;
    }

    /// Number of leaves, including those of ended sources.
    fn len(&self) -> usize {
        self.nodes.len()
    }

    fn winner(&self) -> usize {
        self.nodes.first().map_or(0, |node| node.source as usize)
    }

    fn build(&mut self, sources: &[Source], skip: usize) {
        self.nodes.clear();
        self.scratch.clear();
        let alive = sources
            .iter()
            .enumerate()
            .filter(|(_, source)| source.has_top());
        for (at, source) in alive {
            self.nodes.push(Player {
                prefix: prefix(source.batch.row(source.at), skip),
                source: at as u32,
                leaf: self.nodes.len() as u32,
            });
        }
        let leaves = self.nodes.len();
        self.alive = leaves;
        // The leaves are at leaves..2 * leaves, the parent of i at i / 2.
        self.scratch.resize(leaves, Player::default());
        self.scratch.extend_from_slice(&self.nodes);
        for at in (1..leaves).rev() {
            let (a, b) = (self.scratch[2 * at], self.scratch[2 * at + 1]);
            let (winner, loser) = if before(sources, a, b) {
                (a, b)
            } else {
                (b, a)
            };
            self.scratch[at] = winner;
            self.nodes[at] = loser;
        }
        if leaves > 1 {
            self.nodes[0] = self.scratch[1];
        }
    }

    /// Gives the winner its new prefix and determines the new winner.
    #[inline]
    fn replay(&mut self, sources: &[Source], skip: usize) {
        let mut player = self.nodes[0];
        let source = &sources[player.source as usize];
        player.prefix = if source.has_top() {
            prefix(source.batch.row(source.at), skip)
        } else {
            u64::MAX
        };
        let mut at = (self.nodes.len() + player.leaf as usize) / 2;
        while at > 0 {
            let rival = self.nodes[at];
            if before(sources, rival, player) {
                self.nodes[at] = player;
                player = rival;
            }
            at /= 2;
        }
        self.nodes[0] = player;
    }

    /// The end of the winner's entries in its look-ahead that come before those of all others.
    fn run_end(&self, sources: &[Source], skip: usize) -> usize {
        let winner = self.nodes[0];
        let mut at = (self.nodes.len() + winner.leaf as usize) / 2;
        let mut rival = self.nodes[at];
        at /= 2;
        while at > 0 {
            if before(sources, self.nodes[at], rival) {
                rival = self.nodes[at];
            }
            at /= 2;
        }
        let source = &sources[winner.source as usize];
        let Some(bound) = sources[rival.source as usize].top() else {
            return source.batch.len();
        };
        let first_on_tie = winner.source < rival.source;
        let goes_first = |at: usize| {
            let own = prefix(source.batch.row(at), skip);
            match own.cmp(&rival.prefix) {
                Ordering::Less => true,
                Ordering::Greater => false,
                Ordering::Equal => match source.batch.key(at).cmp(&bound) {
                    Ordering::Less => true,
                    Ordering::Greater => false,
                    Ordering::Equal => first_on_tie,
                },
            }
        };
        let end = source.batch.len();
        if goes_first(end - 1) {
            return end;
        }
        // Galloping search: the cost depends on the length of the run only logarithmically.
        let (mut known, mut step) = (source.at, 1);
        while known + step < end && goes_first(known + step) {
            known += step;
            step *= 2;
        }
        let (mut low, mut high) = (known + 1, (known + step).min(end));
        while low < high {
            let middle = usize::midpoint(low, high);
            if goes_first(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// Whether `a`'s top entry comes before `b`'s.
#[inline]
fn before(sources: &[Source], a: Player, b: Player) -> bool {
    if a.prefix != b.prefix {
        return a.prefix < b.prefix;
    }
    before_on_tie(sources, a, b)
}

fn before_on_tie(sources: &[Source], a: Player, b: Player) -> bool {
    let top = |player: Player| sources[player.source as usize].top();
    match (top(a), top(b)) {
        (Some(mine), Some(other)) => match mine.cmp(&other) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => a.source < b.source,
        },
        (mine, _) => mine.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_cell::{Entry, Error, Key};
    use proptest::prelude::*;

    use super::*;
    use crate::iterator::testing::{MemorySource, entry, put, read, read_all, show};

    fn merged(sources: &[Vec<Entry>], step: usize) -> MergeIterator {
        let sources = sources.iter().cloned();
        MergeIterator::new(sources.map(|s| MemorySource::boxed(s, step)).collect())
    }

    /// The expected output: a stable sort keeps the order of the sources.
    fn expected(sources: &[Vec<Entry>]) -> Vec<Entry> {
        let mut all: Vec<Entry> = sources
            .iter()
            .flat_map(|source| {
                let mut source = source.clone();
                source.sort_by(|a, b| a.key.cmp(&b.key));
                source
            })
            .collect();
        all.sort_by(|a, b| a.key.cmp(&b.key));
        all
    }

    fn everything(iterator: &mut MergeIterator, entries: usize) -> Vec<Entry> {
        read(iterator, &Range::all(), &ColumnSelection::all(), entries).expect("reads")
    }

    #[test]
    fn no_sources_give_no_entries() {
        assert!(read_all(&mut MergeIterator::new(Vec::new())).is_empty());
        assert!(read_all(&mut merged(&[vec![], vec![], vec![]], 1)).is_empty());
    }

    #[test]
    fn equal_keys_come_newest_source_first() {
        let sources = [
            vec![put("b", 1, "new")],
            vec![put("a", 1, "middle"), put("b", 1, "middle")],
            vec![put("b", 1, "old"), put("c", 1, "old")],
        ];
        assert_eq!(
            read_all(&mut merged(&sources, 1)),
            ["a@1=middle", "b@1=new", "b@1=middle", "b@1=old", "c@1=old"]
        );
    }

    #[test]
    fn a_thousand_sources_of_long_common_rows() {
        let sources: Vec<Vec<Entry>> = (0..1000)
            .map(|source| {
                (0..20)
                    .map(|i| {
                        put(
                            &format!("a/long/way/to/{:06}", (i * 7919 + source * 31) % 20011),
                            source,
                            "v",
                        )
                    })
                    .collect()
            })
            .collect();
        let mut iterator = merged(&sources, 7);
        assert_eq!(
            show(&everything(&mut iterator, 500)),
            show(&expected(&sources))
        );
    }

    #[test]
    fn runs_and_sources_that_end_early() {
        let row = |i: usize| format!("{i:05}");
        let sources: Vec<Vec<Entry>> = vec![
            (0..4000).map(|i| put(&row(i), 1, "")).collect(),
            (4000..9000).map(|i| put(&row(i), 2, "")).collect(),
            (3900..4100).map(|i| put(&row(i), 3, "")).collect(),
            (8999..9500).map(|i| put(&row(i), 3, "")).collect(),
        ];
        for entries in [1, 100, 5000] {
            let mut iterator = merged(&sources, 1000);
            assert_eq!(
                show(&everything(&mut iterator, entries)),
                show(&expected(&sources))
            );
        }
    }

    #[test]
    fn a_refill_may_leave_what_the_rows_had_in_common() {
        let rows = |prefix: &str, range: std::ops::Range<usize>| -> Vec<Entry> {
            range.map(|i| put(&format!("{prefix}{i}"), 1, "")).collect()
        };
        let leaver = [rows("aaaa", 10..10 + FIRST_ENTRIES), rows("b", 10..60)].concat();
        let sources = [leaver, rows("aaaa", 50..90), rows("aaaa", 55..95)];
        let mut iterator = merged(&sources, 1000);
        assert_eq!(
            show(&everything(&mut iterator, 5000)),
            show(&expected(&sources))
        );
    }

    #[test]
    fn a_copy_and_a_second_seek_start_afresh() {
        let sources = [
            vec![put("a", 1, ""), put("c", 1, "")],
            vec![put("b", 1, "")],
        ];
        let mut first = merged(&sources, 1);
        let mut batch = Batch::new();
        let one = BatchLimit {
            entries: 1,
            bytes: 1000,
        };
        first
            .seek(&Range::all(), &ColumnSelection::all())
            .expect("seeks");
        first.next_batch(&mut batch, one).expect("reads");
        let mut copy = first.deep_copy();
        assert_eq!(read_all(&mut copy), ["a@1=", "b@1=", "c@1="]);
        first
            .next_batch(&mut batch, BatchLimit { entries: 2, ..one })
            .expect("reads");
        assert_eq!(batch.row(1), b"b");
        let tail = read(&mut first, &Range::rows("c"..), &ColumnSelection::all(), 10);
        assert_eq!(show(&tail.expect("reads")), ["c@1="]);
    }

    /// Fails once, when its first batch is used up.
    struct FailsOnce {
        calls: usize,
    }

    impl SortedKeyValueIterator for FailsOnce {
        fn seek(&mut self, _: &Range, _: &ColumnSelection) -> StoreResult<()> {
            Ok(())
        }

        fn next_batch(&mut self, out: &mut Batch, _: BatchLimit) -> StoreResult<bool> {
            self.calls += 1;
            match self.calls {
                2 => Err(Error::corruption("a bad block")),
                call => {
                    out.push(Key::new(format!("{call}"), "", "").as_ref(), b"")?;
                    Ok(call < 4)
                }
            }
        }

        fn deep_copy(&self) -> BoxedIterator {
            Box::new(Self { calls: 0 })
        }
    }

    #[test]
    fn an_error_loses_and_repeats_nothing() {
        let other = MemorySource::boxed(vec![put("2", 0, ""), put("9", 0, "")], 1);
        let mut iterator = MergeIterator::new(vec![Box::new(FailsOnce { calls: 0 }), other]);
        iterator
            .seek(&Range::all(), &ColumnSelection::all())
            .expect("seeks");
        let mut batch = Batch::new();
        let failed = iterator.next_batch(&mut batch, BatchLimit::default());
        assert_eq!(
            failed.map_err(|e| e.kind()),
            Err(crate::error::ErrorKind::Corruption)
        );
        while iterator
            .next_batch(&mut batch, BatchLimit::default())
            .expect("reads on")
        {}
        let rows: Vec<&[u8]> = (0..batch.len()).map(|at| batch.row(at)).collect();
        assert_eq!(rows, [b"1", b"2", b"3", b"4", b"9"]);
    }

    #[test]
    fn little_is_read_ahead_of_a_look_up() {
        let many: Vec<Entry> = (0..1000).map(|i| put(&format!("{i:04}"), 1, "")).collect();
        let mut iterator = merged(&[many.clone(), many], 1000);
        iterator
            .seek(&Range::all(), &ColumnSelection::all())
            .expect("seeks");
        assert!(
            iterator
                .sources
                .iter()
                .all(|source| source.batch.len() == FIRST_ENTRIES)
        );
    }

    proptest! {
        #[test]
        fn the_merge_is_a_stable_sort(
            sources in prop::collection::vec(
                prop::collection::vec(
                    ("[ab\\xff]{0,10}", "[q-s]", "[AB]{0,1}", 0_i64..3, any::<bool>()),
                    0..60,
                ),
                0..12,
            ),
            step in 1_usize..40,
            entries in 1_usize..40,
            from in "[ab]{0,3}",
        ) {
            let sources: Vec<Vec<Entry>> = sources
                .into_iter()
                .enumerate()
                .map(|(at, entries)| {
                    entries
                        .into_iter()
                        .map(|(row, qualifier, label, timestamp, deleted)| {
                            let source = at.to_string();
                            let mut entry = entry(&row, &qualifier, &label, timestamp, &source);
                            entry.key.deleted = deleted;
                            entry
                        })
                        .collect()
                })
                .collect();
            let mut iterator = merged(&sources, step);
            let mut all = expected(&sources);
            prop_assert_eq!(&everything(&mut iterator, entries), &all);
            all.retain(|entry| entry.key.row.as_slice() >= from.as_bytes());
            let (range, columns) = (Range::rows(from.as_str()..), ColumnSelection::all());
            let tail = read(&mut iterator, &range, &columns, entries);
            prop_assert_eq!(tail.expect("reads"), all);
        }
    }
}
