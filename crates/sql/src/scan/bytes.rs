//! Sets of byte strings, as sorted intervals: which rows a scan reads, or which values it passes on.

use std::cmp::Ordering;
use std::fmt;

use ostrakon_cell::{Escaped, Range, following_prefix};

/// From `start` (inclusive) to `end` (exclusive; `None` is infinite).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) start: Vec<u8>,
    pub(crate) end: Option<Vec<u8>>,
}

impl Interval {
    fn is_empty(&self) -> bool {
        self.end.as_ref().is_some_and(|end| *end <= self.start)
    }

    /// The only string that it contains, if it is one string.
    fn point(&self) -> Option<&[u8]> {
        let end = self.end.as_ref()?;
        let (last, rest) = end.split_last()?;
        (*last == 0 && rest == self.start).then_some(self.start.as_slice())
    }
}

/// A set of byte strings. The intervals are sorted, disjoint and not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ByteSet(Vec<Interval>);

impl ByteSet {
    pub(crate) fn all() -> Self {
        Self::between(Vec::new(), None)
    }

    pub(crate) fn none() -> Self {
        Self(Vec::new())
    }

    #[cfg(test)]
    pub(crate) fn point(bytes: &[u8]) -> Self {
        Self::between(bytes.to_vec(), Some(after(bytes)))
    }

    pub(crate) fn prefix(prefix: &[u8]) -> Self {
        Self::between(prefix.to_vec(), following_prefix(prefix))
    }

    /// From `start` (inclusive) to `end` (exclusive).
    pub(crate) fn between(start: Vec<u8>, end: Option<Vec<u8>>) -> Self {
        Self::of(vec![Interval { start, end }])
    }

    /// The union of intervals in any order.
    pub(crate) fn of(mut intervals: Vec<Interval>) -> Self {
        intervals.retain(|interval| !interval.is_empty());
        intervals.sort_by(|a, b| a.start.cmp(&b.start));
        let mut merged: Vec<Interval> = Vec::with_capacity(intervals.len());
        for interval in intervals {
            match merged.last_mut() {
                Some(last) if last.end.as_ref().is_none_or(|end| *end >= interval.start) => {
                    if order_of_ends(&last.end, &interval.end) == Ordering::Less {
                        last.end = interval.end;
                    }
                }
                _ => merged.push(interval),
            }
        }
        Self(merged)
    }

    pub(crate) fn union(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        Self::of(self.0)
    }

    pub(crate) fn intersect(&self, other: &Self) -> Self {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut both = Vec::new();
        while let (Some(first), Some(second)) = (a.peek(), b.peek()) {
            let ends = order_of_ends(&first.end, &second.end);
            let end = match ends {
                Ordering::Greater => &second.end,
                _ => &first.end,
            };
            let cut = Interval {
                start: first.start.as_slice().max(&second.start).to_vec(),
                end: end.clone(),
            };
            if !cut.is_empty() {
                both.push(cut);
            }
            match ends {
                Ordering::Greater => b.next(),
                _ => a.next(),
            };
        }
        Self(both)
    }

    pub(crate) fn is_all(&self) -> bool {
        *self == Self::all()
    }

    pub(crate) fn intervals(&self) -> &[Interval] {
        &self.0
    }

    pub(crate) fn contains(&self, bytes: &[u8]) -> bool {
        let at = self
            .0
            .partition_point(|interval| interval.start.as_slice() <= bytes);
        let found = at.checked_sub(1).and_then(|at| self.0.get(at));
        found.is_some_and(|found| found.end.as_ref().is_none_or(|end| bytes < end.as_slice()))
    }

    /// The strings, if the set is finite.
    pub(crate) fn points(&self) -> Option<Vec<&[u8]>> {
        self.0.iter().map(Interval::point).collect()
    }

    /// The rows as ranges of a scan.
    pub(crate) fn ranges(&self) -> Vec<Range> {
        let range = |interval: &Interval| match (&interval.end, interval.point()) {
            (_, Some(row)) => Range::row(row),
            (None, _) if interval.start.is_empty() => Range::all(),
            (None, _) => Range::rows(interval.start.as_slice()..),
            (Some(end), _) => Range::rows(interval.start.as_slice()..end.as_slice()),
        };
        self.0.iter().map(range).collect()
    }
}

/// The least string greater than `bytes`.
pub(crate) fn after(bytes: &[u8]) -> Vec<u8> {
    let mut next = Vec::with_capacity(bytes.len() + 1);
    next.extend_from_slice(bytes);
    next.push(0);
    next
}

fn order_of_ends(a: &Option<Vec<u8>>, b: &Option<Vec<u8>>) -> Ordering {
    match (a, b) {
        (None, None) => Ordering::Equal,
        (None, _) => Ordering::Greater,
        (_, None) => Ordering::Less,
        (Some(a), Some(b)) => a.cmp(b),
    }
}

/// Intervals that an explanation shows before it counts the rest.
const SHOWN: usize = 4;

impl fmt::Display for ByteSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_all() {
            return f.write_str("all");
        }
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (at, interval) in self.0.iter().take(SHOWN).enumerate() {
            if at > 0 {
                f.write_str(" or ")?;
            }
            match (interval.point(), &interval.end) {
                (Some(point), _) => write!(f, "'{}'", Escaped(point))?,
                (None, None) => write!(f, "'{}'..", Escaped(&interval.start))?,
                (None, Some(end)) => {
                    write!(f, "'{}'..'{}'", Escaped(&interval.start), Escaped(end))?;
                }
            }
        }
        match self.0.len() {
            ..=SHOWN => Ok(()),
            more => write!(f, " or {} more", more - SHOWN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every string of at most two of these bytes.
    fn universe() -> Vec<Vec<u8>> {
        let letters = [0_u8, 1, b'a', b'b', 0xff];
        let mut all = vec![Vec::new()];
        for a in letters {
            all.push(vec![a]);
            all.extend(letters.map(|b| vec![a, b]));
        }
        all
    }

    fn samples() -> Vec<ByteSet> {
        let mut sets = vec![ByteSet::all(), ByteSet::none()];
        for bytes in universe() {
            sets.push(ByteSet::point(&bytes));
            sets.push(ByteSet::prefix(&bytes));
            sets.push(ByteSet::between(bytes.clone(), None));
            sets.push(ByteSet::between(Vec::new(), Some(after(&bytes))));
        }
        sets
    }

    #[test]
    fn sets_are_combined_as_their_members_are() {
        let universe = universe();
        for a in samples() {
            for b in samples() {
                let (both, either) = (a.intersect(&b), a.clone().union(b.clone()));
                for bytes in &universe {
                    let (in_a, in_b) = (a.contains(bytes), b.contains(bytes));
                    assert_eq!(both.contains(bytes), in_a && in_b, "{a} {b} {bytes:?}");
                    assert_eq!(either.contains(bytes), in_a || in_b, "{a} {b} {bytes:?}");
                }
            }
        }
    }

    #[test]
    fn ranges_contain_the_same_rows() {
        for set in samples() {
            let ranges = set.ranges();
            for bytes in universe() {
                let found = ranges.iter().any(|range| range.contains_row(&bytes));
                assert_eq!(found, set.contains(&bytes), "{set} {bytes:?}");
            }
        }
    }

    #[test]
    fn only_finite_sets_have_points() {
        let two = ByteSet::point(b"b").union(ByteSet::point(b"a"));
        assert_eq!(two.points(), Some(vec![b"a".as_slice(), b"b"]));
        assert_eq!(ByteSet::prefix(b"a").points(), None);
        assert_eq!(two.to_string(), "'a' or 'b'");
    }
}
