//! Searches positions in a block without decoding it.

use std::cmp::Ordering;

use super::format::{Block, Deletes, SIGN};
use super::lane::{BytesLane, RESTART_INTERVAL};
use crate::codec::{common_prefix_len, prefetch, prefetch_value};
use crate::sorted_file::bound::Bound;

/// Cache lines of suffixes prefetched for a walk over a group: enough for rows that differ in about
/// twelve bytes.
const SUFFIX_LINES: usize = 4;

/// The order of a row relative to the target, and the number of equal bytes after the block's
/// prefix.
#[derive(Clone, Copy)]
struct RowOrder {
    order: Ordering,
    agree: usize,
}

impl Block {
    /// Position of the first entry after `bound`, not before position `from`. `None` if the block
    /// is malformed.
    pub(in crate::sorted_file) fn find(&self, bound: Bound<'_>, from: usize) -> Option<usize> {
        // When the last group is full there is no restart after the last entry.
        if from >= self.entries() {
            return Some(from);
        }
        self.locate(bound, from, false).map(|(at, _)| at)
    }

    /// The entries of a row: the position of the first, and of the first after them. `None` if the
    /// block is malformed.
    pub(in crate::sorted_file) fn find_row(&self, row: &[u8]) -> Option<(usize, usize)> {
        let (from, is_row) = self.locate(Bound::before_row(row), 0, true)?;
        if !is_row {
            return Some((from, from));
        }
        let (raw, layout) = (self.raw(), self.layout());
        // An entry that shares all of its row with the previous one has the same row, if the
        // lengths agree.
        let own = row.len().checked_sub(layout.row_prefix.len)? as u64;
        let mut to = from + 1;
        while to < self.entries() {
            let same = if to.is_multiple_of(RESTART_INTERVAL) {
                self.restart_row(to / RESTART_INTERVAL)? == row.get(layout.row_prefix.len..)?
            } else {
                layout.shared.get(raw, to)? == own
                    && layout.row_lens.get(raw, to)? == row.len() as u64
            };
            if !same {
                break;
            }
            to += 1;
        }
        Some((from, to))
    }

    /// As [`find`](Self::find); also returns whether the found entry is known to have the bound's
    /// row. `touch` says that it will be decoded next, on its own.
    fn locate(&self, bound: Bound<'_>, from: usize, touch: bool) -> Option<(usize, bool)> {
        let raw = self.raw();
        let layout = self.layout();
        let prefix = self.front().prefix(raw, layout)?;
        let shared = common_prefix_len(prefix, bound.key.row);
        if shared < prefix.len() {
            // All rows are on the same side of the bound's.
            return match bound.key.row.get(shared) {
                Some(&byte) if byte > *prefix.get(shared)? => Some((self.entries(), false)),
                _ => Some((from, false)),
            };
        }
        let target = bound.key.row.get(prefix.len()..)?;
        // The last restart before the bound.
        let restarts = self.entries().div_ceil(RESTART_INTERVAL);
        let (mut low, mut high) = self.front().narrow(target, restarts);
        // Not before `from`: the end of a short range is close to its start.
        let first = from / RESTART_INTERVAL;
        if low < first {
            low = first;
            high = high.max(first + 1);
        }
        while low + 1 < high {
            let middle = low.midpoint(high);
            if self.restart_is_before(middle, target, bound)? {
                low = middle;
            } else {
                high = middle;
            }
        }
        if touch {
            self.prefetch_group(low);
        }
        let walked = if bound.first_of_row {
            self.walk_rows(low, target)
        } else {
            None
        };
        let (at, is_row) = match walked {
            Some(found) => found,
            None => self.walk(low, target, bound)?,
        };
        Some(if at < from {
            (from, false)
        } else {
            (at, is_row)
        })
    }

    /// Prefetches the value and the label of entry `at`, which will be decoded next.
    #[inline]
    pub(in crate::sorted_file) fn prefetch_entry(&self, at: usize) {
        let (raw, value) = (self.raw(), &self.layout().value);
        if let BytesLane::Dictionary { ids, .. } = &self.layout().visibility
            && !ids.is_constant()
        {
            prefetch(raw, ids.place(at));
        }
        if let Some((start, len)) = value.locate(raw, at) {
            let start = value.data_start() + start;
            prefetch(raw, start);
            prefetch(raw, start + len.saturating_sub(1));
        }
    }

    /// Prefetches what a search reads first.
    #[inline]
    pub(in crate::sorted_file) fn prefetch_head(&self) {
        prefetch_value(self);
    }

    /// Prefetches what a search for `row` will walk over.
    #[inline]
    pub(in crate::sorted_file) fn prefetch_row(&self, row: &[u8]) {
        if let Some(target) = row.get(self.layout().row_prefix.len..) {
            let restarts = self.entries().div_ceil(RESTART_INTERVAL);
            let (low, _) = self.front().narrow(target, restarts);
            self.prefetch_group(low);
        }
    }

    /// Prefetches the rows and columns of a restart's group. Most lanes hold all of it in one or
    /// two cache lines.
    #[inline]
    fn prefetch_group(&self, restart: usize) {
        let (raw, layout) = (self.raw(), self.layout());
        let at = restart * RESTART_INTERVAL;
        if let Some(start) = self.front().start(restart) {
            let start = layout.suffixes.start + start;
            for line in 0..SUFFIX_LINES {
                prefetch(raw, start + 64 * line);
            }
        }
        prefetch(raw, layout.shared.place(at));
        prefetch(raw, layout.timestamps.place(at));
        layout.family.prefetch(raw, at, RESTART_INTERVAL);
        layout.qualifier.prefetch(raw, at, RESTART_INTERVAL);
        layout.value.prefetch(raw, at, RESTART_INTERVAL);
    }

    fn restart_row(&self, restart: usize) -> Option<&[u8]> {
        let (raw, layout) = (self.raw(), self.layout());
        let at = restart * RESTART_INTERVAL;
        let len = (layout.row_lens.get(raw, at)? as usize).checked_sub(layout.row_prefix.len)?;
        let start = self.suffix_start(restart)?;
        layout.suffixes.of(raw)?.get(start..start.checked_add(len)?)
    }

    /// Where the suffix of a restart begins.
    #[inline]
    fn suffix_start(&self, restart: usize) -> Option<usize> {
        match self.front().start(restart) {
            Some(start) => Some(start),
            None => usize::try_from(self.layout().suffix_starts.get(self.raw(), restart)?).ok(),
        }
    }

    fn restart_is_before(&self, restart: usize, target: &[u8], bound: Bound<'_>) -> Option<bool> {
        Some(match self.restart_row(restart)?.cmp(target) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => self.column_is_before(restart * RESTART_INTERVAL, bound)?,
        })
    }

    /// Whether entry `at`, whose row is the bound's, lies before the bound.
    fn column_is_before(&self, at: usize, bound: Bound<'_>) -> Option<bool> {
        if bound.first_of_row {
            return Some(false);
        }
        let (raw, layout) = (self.raw(), self.layout());
        let key = bound.key;
        let mut order = layout.family.get(raw, at)?.cmp(key.family);
        if order == Ordering::Equal {
            order = layout.qualifier.get(raw, at)?.cmp(key.qualifier);
        }
        if order == Ordering::Equal {
            order = layout.visibility.get(raw, at)?.cmp(key.visibility);
        }
        if order == Ordering::Equal {
            order = key.timestamp.cmp(&self.timestamp(at)?);
        }
        if order == Ordering::Equal {
            order = key.deleted.cmp(&self.deleted(at)?);
        }
        Some(order == Ordering::Less || (order == Ordering::Equal && bound.after))
    }

    /// The first entry after the bound from restart `restart` on, which is in its group or directly
    /// after it. Also returns whether that entry is known to have the bound's row.
    fn walk(&self, restart: usize, target: &[u8], bound: Bound<'_>) -> Option<(usize, bool)> {
        let (raw, layout) = (self.raw(), self.layout());
        let first = restart * RESTART_INTERVAL;
        let end = (first + RESTART_INTERVAL).min(self.entries());
        let row = self.restart_row(restart)?;
        let mut suffix_end = self.suffix_start(restart)? + row.len();
        let suffixes = layout.suffixes.of(raw)?;
        let mut now = compare(row, target, 0);
        for at in first..end {
            if at > first {
                let len =
                    (layout.row_lens.get(raw, at)? as usize).checked_sub(layout.row_prefix.len)?;
                let shared = layout.shared.get(raw, at)? as usize;
                let start = suffix_end;
                suffix_end = start.checked_add(len.checked_sub(shared)?)?;
                let suffix = suffixes.get(start..suffix_end)?;
                match shared.cmp(&now.agree) {
                    // It differs from the target at the same byte as the previous row.
                    Ordering::Greater => {}
                    // It differs from the previous row where that still agreed with the target, and
                    // rows ascend.
                    Ordering::Less => now.order = Ordering::Greater,
                    Ordering::Equal => now = compare(suffix, target.get(shared..)?, shared),
                }
            }
            let before = match now.order {
                Ordering::Less => true,
                Ordering::Equal => self.column_is_before(at, bound)?,
                Ordering::Greater => false,
            };
            if !before {
                return Some((at, now.order == Ordering::Equal));
            }
        }
        self.behind_group(end, target)
    }

    /// As [`walk`](Self::walk) to the beginning of a row, for rows of equal length that share less
    /// than 256 bytes; `None` for others, or if the block is malformed.
    fn walk_rows(&self, restart: usize, target: &[u8]) -> Option<(usize, bool)> {
        let (raw, layout) = (self.raw(), self.layout());
        if !layout.row_lens.is_constant() {
            return None;
        }
        let len = usize::try_from(layout.row_lens.base()).ok()?;
        let len = len.checked_sub(layout.row_prefix.len)?;
        let first = restart * RESTART_INTERVAL;
        let end = (first + RESTART_INTERVAL).min(self.entries());
        let (_, shared) = layout.shared.bytes(raw, first, end)?.split_first()?;
        let suffixes = layout.suffixes.of(raw)?;
        let mut suffix_end = self.suffix_start(restart)?;
        let row = suffixes.get(suffix_end..suffix_end.checked_add(len)?)?;
        suffix_end += len;
        let now = compare(row, target, 0);
        if now.order != Ordering::Less {
            return Some((first, now.order == Ordering::Equal));
        }
        // The number of bytes of the previous row that agree with the target, which is greater.
        let mut agree = now.agree;
        for (at, &shared) in (first + 1..end).zip(shared) {
            let shared = usize::from(shared);
            let start = suffix_end;
            suffix_end = start.checked_add(len.checked_sub(shared)?)?;
            if shared > agree {
                continue;
            }
            if shared < agree {
                return Some((at, false));
            }
            let suffix = suffixes.get(start..suffix_end)?;
            let now = compare(suffix, target.get(shared..)?, shared);
            if now.order != Ordering::Less {
                return Some((at, now.order == Ordering::Equal));
            }
            agree = now.agree;
        }
        self.behind_group(end, target)
    }

    /// The result for a group whose entries are all before the target.
    fn behind_group(&self, end: usize, target: &[u8]) -> Option<(usize, bool)> {
        if end >= self.entries() {
            return Some((end, false));
        }
        // The next restart was not compared, or was not before the bound.
        let is_row = self.restart_row(end / RESTART_INTERVAL)? == target;
        Some((end, is_row))
    }

    #[inline]
    pub(super) fn timestamp(&self, at: usize) -> Option<i64> {
        Some((self.layout().timestamps.get(self.raw(), at)? ^ SIGN) as i64)
    }

    #[inline]
    pub(super) fn deleted(&self, at: usize) -> Option<bool> {
        Some(match self.layout().deletes {
            Deletes::None => false,
            Deletes::All => true,
            Deletes::Some { start } => self.raw().get(start + at / 8)? & (1 << (at % 8)) != 0,
        })
    }

    /// Replaces the content of `row` by the row of entry `at`; returns the offset after its suffix.
    pub(super) fn row_at(&self, at: usize, row: &mut Vec<u8>) -> Option<usize> {
        let (raw, layout) = (self.raw(), self.layout());
        let prefix = layout.row_prefix.of(raw)?;
        let restart = at / RESTART_INTERVAL;
        let first = self.restart_row(restart)?;
        row.clear();
        row.extend_from_slice(prefix);
        row.extend_from_slice(first);
        let suffixes = layout.suffixes.of(raw)?;
        let mut suffix_end = layout.suffix_starts.get(raw, restart)? as usize + first.len();
        for next in restart * RESTART_INTERVAL + 1..=at {
            let len = layout.row_lens.get(raw, next)? as usize;
            let shared = (layout.shared.get(raw, next)? as usize).checked_add(prefix.len())?;
            if shared > row.len() {
                return None;
            }
            let start = suffix_end;
            suffix_end = start.checked_add(len.checked_sub(shared)?)?;
            row.truncate(shared);
            row.extend_from_slice(suffixes.get(start..suffix_end)?);
        }
        Some(suffix_end)
    }
}

/// Compares the bytes after `before` equal bytes.
#[inline]
fn compare(row: &[u8], target: &[u8], before: usize) -> RowOrder {
    let agree = common_prefix_len(row, target);
    RowOrder {
        order: row.get(agree).cmp(&target.get(agree)),
        agree: before + agree,
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_cell::Key;

    use super::*;
    use crate::sorted_file::block::BlockBuilder;

    /// Numbers are spread, so that rows share few bytes.
    fn row(word: u32, row: u32) -> Vec<u8> {
        format!("prefix{:08x}{row:04}", word << 21).into_bytes()
    }

    /// Many rows begin with the same word after the prefix, and rows have many entries: restarts
    /// fall inside both. Numbers are odd; even ones lie in between.
    fn keys(words: u32, rows: u32, columns: u32) -> Vec<Key> {
        let mut keys = Vec::new();
        for word in 0..words {
            for at in 0..rows {
                for column in 0..columns {
                    let row = row(2 * word + 1, 2 * at + 1);
                    keys.push(Key::new(row, "f", format!("{:04}", 2 * column + 1)));
                }
            }
        }
        keys
    }

    fn block(keys: &[Key]) -> Block {
        let mut builder = BlockBuilder::new();
        for key in keys {
            builder.push(key.as_ref(), b"value", false).unwrap();
        }
        let mut raw = Vec::new();
        builder.finish(&mut raw);
        let len = raw.len();
        Block::parse(raw, 0, len).unwrap()
    }

    /// Rows that share more than the stored common prefix, that are truncated, or that differ late.
    #[test]
    fn rows_are_found_for_any_common_prefix() {
        for (common, tail) in [(60, ""), (60, "-and-so-on"), (3, ""), (0, "")] {
            let row = |at: u32| format!("{:>common$}{at:04}{tail}", "").into_bytes();
            let mut rows: Vec<Vec<u8>> = (0..700).map(|at| row(2 * at + 1)).collect();
            rows.extend((0..700).map(|at| row(2 * at + 1)[..common + 3].to_vec()));
            rows.sort();
            rows.dedup();
            let keys: Vec<Key> = rows.iter().map(|row| Key::new(&**row, "f", "q")).collect();
            let block = block(&keys);
            for at in 0..1402 {
                let row = row(at);
                let first = rows.partition_point(|other| *other < row);
                let found = usize::from(rows.get(first) == Some(&row));
                assert_eq!(block.find_row(&row), Some((first, first + found)));
            }
        }
    }

    #[test]
    fn every_position_is_found_as_in_a_list() {
        for (words, rows, columns) in [
            (1, 1, 70),
            (300, 1, 1),
            (40, 3, 5),
            (9, 9, 9),
            (2, 90, 3),
            (1, 600, 1),
        ] {
            let keys = keys(words, rows, columns);
            let block = block(&keys);
            let behind = |bound: Bound<'_>| {
                keys.partition_point(|key| match key.as_ref().cmp(&bound.key) {
                    Ordering::Less => true,
                    Ordering::Equal => bound.after,
                    Ordering::Greater => false,
                })
            };
            for word in 0..=2 * words.min(40) {
                for at in 0..=2 * rows.min(95) {
                    let row = row(word, at);
                    let start = Bound::before_row(&row);
                    let first = behind(start);
                    assert_eq!(block.find(start, 0), Some(first));
                    let of_row = keys.iter().filter(|key| key.row == row).count();
                    assert_eq!(block.find_row(&row), Some((first, first + of_row)));
                    for column in [0, 1, columns, 2 * columns - 1, 2 * columns] {
                        let key = Key::new(row.clone(), "f", format!("{column:04}"));
                        for after in [false, true] {
                            let bound = Bound::new(key.as_ref(), after);
                            let place = behind(bound);
                            assert_eq!(block.find(bound, 0), Some(place));
                            assert_eq!(block.find(bound, first), Some(place.max(first)));
                        }
                    }
                }
            }
        }
    }
}
