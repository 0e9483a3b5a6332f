//! The ranges of a scan in reading order.

use ostrakon_cell::Range;

use crate::codec::{common_prefix_len, order_prefix};

/// Sorted and disjoint ranges.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RangeList {
    /// Any ranges.
    Some(Vec<Range>),
    /// Single rows, often thousands of them: stored without a buffer for every part of every key.
    Rows {
        /// The bytes of the rows, concatenated.
        bytes: Vec<u8>,
        /// The start and end of each row in `bytes`, in row order.
        places: Vec<(usize, usize)>,
    },
}

impl Default for RangeList {
    fn default() -> Self {
        Self::Some(Vec::new())
    }
}

impl RangeList {
    /// The ranges sorted, with overlapping or touching ones merged and empty ones removed, as
    /// [`Range::merge`] does.
    pub(super) fn of(ranges: &[Range]) -> Self {
        if ranges.len() < 2 {
            return Self::Some(Range::merge(ranges.to_vec()));
        }
        Self::of_rows(ranges).unwrap_or_else(|| Self::Some(sorted_disjoint(ranges)))
    }

    /// `None` unless all ranges are single rows.
    fn of_rows(ranges: &[Range]) -> Option<Self> {
        let mut bytes = Vec::with_capacity(ranges.len() * 24);
        let mut shared = usize::MAX;
        let mut places = Vec::with_capacity(ranges.len());
        for range in ranges {
            let row = range.as_row()?;
            let start = bytes.len();
            bytes.extend_from_slice(row);
            let first = places.first().map_or(start..bytes.len(), |&(_, a, b)| a..b);
            let same = common_prefix_len(bytes.get(first)?, row);
            shared = shared.min(same);
            places.push((0, start, bytes.len()));
        }
        // Whole rows are compared only if the words after their common prefix are equal.
        for (word, start, end) in &mut places {
            *word = order_prefix(bytes.get(*start + shared..*end)?);
        }
        let row = |&(_, start, end): &(u64, usize, usize)| bytes.get(start..end);
        places.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| row(a).cmp(&row(b))));
        places.dedup_by(|b, a| a.0 == b.0 && row(a) == row(b));
        // The successor of a row is the same row with a zero byte appended: the two form one range.
        let touch = places.windows(2).any(|pair| {
            let next = pair.last().and_then(row).and_then(<[u8]>::split_last);
            next.is_some_and(|(&last, rest)| last == 0 && pair.first().and_then(row) == Some(rest))
        });
        let places = places.iter().map(|&(_, start, end)| (start, end)).collect();
        (!touch).then_some(Self::Rows { bytes, places })
    }

    /// Number of ranges.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Some(ranges) => ranges.len(),
            Self::Rows { places, .. } => places.len(),
        }
    }

    /// Copies a range into `range`, reusing its buffers. `false` if there is none.
    pub(super) fn read(&self, at: usize, range: &mut Range) -> bool {
        match self {
            Self::Some(ranges) => {
                let own = ranges.get(at);
                if let Some(own) = own {
                    range.clone_from(own);
                }
                own.is_some()
            }
            Self::Rows { .. } => {
                let row = self.row(at);
                if let Some(row) = row {
                    range.set_row(row);
                }
                row.is_some()
            }
        }
    }

    /// The row a range starts with, if it has a start.
    pub(super) fn row(&self, at: usize) -> Option<&[u8]> {
        match self {
            Self::Some(ranges) => ranges.get(at)?.start().map(|key| key.row.as_slice()),
            Self::Rows { bytes, places } => {
                let &(start, end) = places.get(at)?;
                bytes.get(start..end)
            }
        }
    }

    /// Whether no row of a range is after `through`, the last row of a tablet.
    pub(super) fn ends_by(&self, at: usize, through: &[u8]) -> bool {
        match self {
            Self::Some(ranges) => {
                let end = ranges.get(at).and_then(Range::end);
                end.is_some_and(|end| end.row.as_slice() <= through)
            }
            // Its end is after the row.
            Self::Rows { .. } => self.row(at).is_some_and(|row| row < through),
        }
    }
}

/// The ranges sorted, with overlapping or touching ones merged and empty ones removed, as
/// [`Range::merge`], which compares whole keys each time. Thousands of ranges mostly differ in a
/// few bytes of their first row, so these are compared first.
fn sorted_disjoint(ranges: &[Range]) -> Vec<Range> {
    if ranges.is_sorted_by(|a, b| a.cmp_start(b).is_le()) {
        return Range::merge(ranges.to_vec());
    }
    let mut rows = ranges.iter().map(row);
    let first = rows.next().unwrap_or_default();
    let shared = rows.fold(first.len(), |shared, row| {
        shared.min(common_prefix_len(first, row))
    });
    let mut order: Vec<(u64, usize)> = ranges
        .iter()
        .enumerate()
        .map(|(at, range)| {
            let behind = row(range).get(shared..).unwrap_or_default();
            (order_prefix(behind), at)
        })
        .collect();
    order.sort_unstable_by(|(a, left), (b, right)| {
        a.cmp(b)
            .then_with(|| match (ranges.get(*left), ranges.get(*right)) {
                (Some(left), Some(right)) => left.cmp_start(right),
                _ => std::cmp::Ordering::Equal,
            })
    });
    let sorted = order.iter().filter_map(|(_, at)| ranges.get(*at).cloned());
    Range::merge(sorted.collect())
}

/// The row a range starts with.
fn row(range: &Range) -> &[u8] {
    range.start().map_or(&[], |key| &key.row)
}

#[cfg(test)]
mod tests {
    use ostrakon_cell::Key;

    use super::*;

    /// Every order of ranges that touch, overlap, are empty, infinite, or have equal starts.
    #[test]
    fn equals_range_merge() {
        let keys = |from: &str, from_in, to: &str, to_in| {
            let key = |text: &str| Some(Key::new("common-row", text, ""));
            Range::keys(key(from), from_in, key(to), to_in).expect("rises")
        };
        let all = [
            Range::row("common-row-which-is-long-1"),
            Range::row("common-row-which-is-long-2"),
            Range::row("common-row-which-is-long-2\0"),
            Range::row("common"),
            Range::row("common\0\0"),
            Range::rows("x".."z"),
            Range::rows("y"..),
            Range::rows(.."a"),
            Range::rows("a".."a"),
            keys("a", true, "c", false),
            keys("a", false, "b", true),
            keys("c", true, "c", true),
        ];
        for seed in 0..500_usize {
            // Some of them, in some order.
            let mut left: Vec<&Range> = all.iter().collect();
            let mut some = Vec::new();
            let mut dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15_usize) | 1;
            for _ in 0..seed % (all.len() + 1) {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                some.push(left.remove((dice >> 33) % left.len()).clone());
            }
            check(&some);
        }
    }

    #[test]
    fn rows_are_kept_as_rows_unless_two_of_them_touch() {
        let rows = |rows: &[&str]| rows.iter().map(|&row| Range::row(row)).collect::<Vec<_>>();
        for sample in [
            &["b", "a", "c"][..],
            &["row-5", "row-33", "row-5", "row-", "row-33"],
            &["", "a", "aa", "aaaaaaaaaaaa", "aaaaaaaaaaab"],
        ] {
            check(&rows(sample));
            assert!(matches!(
                RangeList::of(&rows(sample)),
                RangeList::Rows { .. }
            ));
        }
        let touching = rows(&["x", "a\0", "a", "a\0\0"]);
        check(&touching);
        assert!(matches!(RangeList::of(&touching), RangeList::Some(_)));
    }

    /// Checks a list against `Range::merge`.
    fn check(ranges: &[Range]) {
        let wanted = Range::merge(ranges.to_vec());
        assert_eq!(sorted_disjoint(ranges), wanted);
        let list = RangeList::of(ranges);
        assert_eq!(list.len(), wanted.len());
        let mut read = Range::all();
        for (at, wanted) in wanted.iter().enumerate() {
            assert!(list.read(at, &mut read));
            assert_eq!(&read, wanted);
            assert_eq!(list.row(at), wanted.start().map(|key| key.row.as_slice()));
            for through in ["", "a", "a\0", "b", "common", "row-5", "y", "zz"] {
                // Compares as for the ends of tablets.
                let ends = wanted
                    .end()
                    .is_some_and(|end| end.row.as_slice() <= through.as_bytes());
                assert_eq!(
                    list.ends_by(at, through.as_bytes()),
                    ends,
                    "{wanted:?} {through}"
                );
            }
        }
        assert!(!list.read(wanted.len(), &mut read));
    }
}
