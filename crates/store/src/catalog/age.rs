//! The age of data: which part of a table's history is in a file.

use std::fmt;

/// A range of positions in the order in which data became part of a table.
///
/// Every memtable and every import takes one position, a number that only rises. A file written by
/// a flush or an import covers that one position; a compaction's output covers everything from the
/// oldest to the newest position of its inputs. Of two entries with equal keys the one with the
/// higher position wins. `docs/decisions/0020-one-order-of-data.md` gives the rules and explains
/// why every merge keeps them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AgeRange {
    /// The lowest position, inclusive.
    pub oldest: u64,
    /// The highest position, inclusive.
    pub newest: u64,
}

impl AgeRange {
    /// One position.
    #[must_use]
    pub fn at(position: u64) -> Self {
        Self {
            oldest: position,
            newest: position,
        }
    }

    /// The smallest range that includes both.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self {
            oldest: self.oldest.min(other.oldest),
            newest: self.newest.max(other.newest),
        }
    }

    /// The smallest range that includes all of `ranges`; `None` without any.
    pub fn hull_of(ranges: impl IntoIterator<Item = Self>) -> Option<Self> {
        ranges.into_iter().reduce(Self::hull)
    }

    /// Whether both share a position. Files that do must not share a key.
    #[must_use]
    pub fn intersects(self, other: Self) -> bool {
        self.oldest <= other.newest && other.oldest <= self.newest
    }
}

impl fmt::Display for AgeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.oldest == self.newest {
            write!(f, "{}", self.oldest)
        } else {
            write!(f, "{} to {}", self.oldest, self.newest)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_intersect_when_they_share_a_position() {
        let range = |oldest, newest| AgeRange { oldest, newest };
        assert!(range(1, 5).intersects(range(5, 9)));
        assert!(range(1, 9).intersects(AgeRange::at(4)));
        assert!(!range(1, 4).intersects(range(5, 9)));
        assert!(!AgeRange::at(7).intersects(AgeRange::at(6)));
        assert_eq!(range(1, 2).hull(range(7, 8)), range(1, 8));
        assert_eq!(AgeRange::hull_of([]), None);
        assert_eq!(range(3, 3).to_string(), "3");
        assert_eq!(range(3, 4).to_string(), "3 to 4");
    }
}
