//! Ranges of keys and rows.
//!
//! Every range is a range of keys, as on Accumulo's wire; the row constructors pick the keys that
//! bound whole rows.

use std::cmp::Ordering;

use crate::{Error, Escaped, Key, KeyPart, KeyRef, Result};

/// A contiguous set of keys, with open, closed or infinite ends.
///
/// ```
/// use ostrakon_cell::{Key, Range};
/// let range = Range::rows("b".."d");
/// assert!(range.contains_row(b"b"));
/// assert!(range.contains_row(b"czz"));
/// assert!(!range.contains_row(b"d"));
/// assert!(Range::row("b").contains(Key::new("b", "family", "qualifier").as_ref()));
/// ```
#[derive(Debug, PartialEq, Eq, Hash, Default)]
pub struct Range {
    start: Option<Key>,
    start_inclusive: bool,
    end: Option<Key>,
    end_inclusive: bool,
}

impl Clone for Range {
    fn clone(&self) -> Self {
        Self {
            start: self.start.clone(),
            start_inclusive: self.start_inclusive,
            end: self.end.clone(),
            end_inclusive: self.end_inclusive,
        }
    }

    /// Keeps the buffers of finite ends.
    fn clone_from(&mut self, from: &Self) {
        self.start.clone_from(&from.start);
        self.start_inclusive = from.start_inclusive;
        self.end.clone_from(&from.end);
        self.end_inclusive = from.end_inclusive;
    }
}

impl Range {
    /// Every key.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// All keys of exactly one row.
    #[must_use]
    pub fn row(row: impl Into<Vec<u8>>) -> Self {
        let start = Key::first_of_row(row);
        let end = start.following(KeyPart::Row);
        Self {
            start: Some(start),
            start_inclusive: true,
            end: Some(end),
            end_inclusive: false,
        }
    }

    /// Makes this [`Range::row`] of another row, in the buffers it has.
    pub fn set_row(&mut self, row: &[u8]) {
        let start = self.start.get_or_insert_default();
        start.set(KeyRef {
            row,
            family: &[],
            qualifier: &[],
            visibility: &[],
            timestamp: i64::MAX,
            deleted: true,
        });
        let end = self.end.get_or_insert_default();
        end.set(start.as_ref());
        end.row.push(0);
        (self.start_inclusive, self.end_inclusive) = (true, false);
    }

    /// The row of which this is [`Range::row`], if it is.
    #[must_use]
    pub fn as_row(&self) -> Option<&[u8]> {
        let (start, end) = (self.start.as_ref()?, self.end.as_ref()?);
        let whole = self.start_inclusive && !self.end_inclusive;
        let firsts = [start, end].into_iter().all(|key| {
            key.family.is_empty()
                && key.qualifier.is_empty()
                && key.visibility.is_empty()
                && key.timestamp == i64::MAX
                && key.deleted
        });
        let next = end.row.split_last() == Some((&0, start.row.as_slice()));
        (whole && firsts && next).then_some(start.row.as_slice())
    }

    /// All keys of one column family of one row.
    #[must_use]
    pub fn row_family(row: impl Into<Vec<u8>>, family: impl Into<Vec<u8>>) -> Self {
        let start = Key {
            family: family.into(),
            ..Key::first_of_row(row)
        };
        let end = start.following(KeyPart::Family);
        Self {
            start: Some(start),
            start_inclusive: true,
            end: Some(end),
            end_inclusive: false,
        }
    }

    /// All keys of one column of one row, whatever their visibility.
    #[must_use]
    pub fn row_column(
        row: impl Into<Vec<u8>>,
        family: impl Into<Vec<u8>>,
        qualifier: impl Into<Vec<u8>>,
    ) -> Self {
        let start = Key {
            family: family.into(),
            qualifier: qualifier.into(),
            ..Key::first_of_row(row)
        };
        let end = start.following(KeyPart::Qualifier);
        Self {
            start: Some(start),
            start_inclusive: true,
            end: Some(end),
            end_inclusive: false,
        }
    }

    /// All keys of the rows in a Rust range of rows: `"a".."b"`, `"a"..="b"`, `..`, `"a"..`.
    #[must_use]
    pub fn rows<R: AsRef<[u8]>>(rows: impl std::ops::RangeBounds<R>) -> Self {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let start = match rows.start_bound() {
            Included(row) => Some(Key::first_of_row(row.as_ref())),
            Excluded(row) => Some(Key::first_of_row(row.as_ref()).following(KeyPart::Row)),
            Unbounded => None,
        };
        let end = match rows.end_bound() {
            Included(row) => Some(Key::first_of_row(row.as_ref()).following(KeyPart::Row)),
            Excluded(row) => Some(Key::first_of_row(row.as_ref())),
            Unbounded => None,
        };
        Self {
            start,
            start_inclusive: true,
            end,
            end_inclusive: false,
        }
    }

    /// A range with exactly these ends, which may be swapped: then no key lies in it.
    #[cfg(feature = "serde")]
    pub(crate) fn of_ends(
        start: Option<Key>,
        start_inclusive: bool,
        end: Option<Key>,
        end_inclusive: bool,
    ) -> Self {
        Self {
            start,
            start_inclusive,
            end,
            end_inclusive,
        }
    }

    /// The rows of a tablet: after `previous_end` (exclusive) up to `end` (inclusive); `None` is
    /// infinite.
    #[must_use]
    pub fn tablet(previous_end: Option<&[u8]>, end: Option<&[u8]>) -> Self {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        Self::rows::<&[u8]>((
            previous_end.map_or(Unbounded, Excluded),
            end.map_or(Unbounded, Included),
        ))
    }

    /// All rows that begin with `prefix`.
    #[must_use]
    pub fn row_prefix(prefix: &[u8]) -> Self {
        let end = following_prefix(prefix).map(Key::first_of_row);
        let start = (!prefix.is_empty()).then(|| Key::first_of_row(prefix));
        Self {
            start,
            start_inclusive: true,
            end,
            end_inclusive: false,
        }
    }

    /// Keys between two keys; `None` is infinite.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) when the start lies after the end.
    pub fn keys(
        start: Option<Key>,
        start_inclusive: bool,
        end: Option<Key>,
        end_inclusive: bool,
    ) -> Result<Self> {
        if let (Some(from), Some(to)) = (&start, &end)
            && from > to
        {
            return Err(
                Error::invalid("the range starts after its end: swap the two")
                    .with("start row", Escaped(&from.row))
                    .with("end row", Escaped(&to.row)),
            );
        }
        Ok(Self {
            start,
            start_inclusive,
            end,
            end_inclusive,
        })
    }

    /// The start key, if finite.
    #[must_use]
    pub fn start(&self) -> Option<&Key> {
        self.start.as_ref()
    }

    /// Whether the start key itself belongs to the range.
    #[must_use]
    pub fn start_inclusive(&self) -> bool {
        self.start_inclusive
    }

    /// The end key, if finite.
    #[must_use]
    pub fn end(&self) -> Option<&Key> {
        self.end.as_ref()
    }

    /// Whether the end key itself belongs to the range.
    #[must_use]
    pub fn end_inclusive(&self) -> bool {
        self.end_inclusive
    }

    /// Whether `key` lies before the start of the range.
    #[must_use]
    pub fn before_start(&self, key: KeyRef<'_>) -> bool {
        match &self.start {
            None => false,
            Some(start) => match key.cmp(&start.as_ref()) {
                Ordering::Less => true,
                Ordering::Equal => !self.start_inclusive,
                Ordering::Greater => false,
            },
        }
    }

    /// Whether `key` lies after the end of the range.
    #[must_use]
    pub fn after_end(&self, key: KeyRef<'_>) -> bool {
        match &self.end {
            None => false,
            Some(end) => match key.cmp(&end.as_ref()) {
                Ordering::Greater => true,
                Ordering::Equal => !self.end_inclusive,
                Ordering::Less => false,
            },
        }
    }

    /// Whether `key` lies in the range.
    #[must_use]
    pub fn contains(&self, key: KeyRef<'_>) -> bool {
        !self.before_start(key) && !self.after_end(key)
    }

    /// Whether some key of `row` may lie in the range.
    #[must_use]
    pub fn contains_row(&self, row: &[u8]) -> bool {
        let after_start = self
            .start
            .as_ref()
            .is_none_or(|start| row >= start.row.as_slice());
        after_start
            && self
                .end
                .as_ref()
                .is_none_or(|end| !row_is_past(row, end, self.end_inclusive))
    }

    /// Whether no key can lie in the range.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match (&self.start, &self.end) {
            (Some(start), Some(end)) => match start.cmp(end) {
                Ordering::Less => false,
                Ordering::Equal => !(self.start_inclusive && self.end_inclusive),
                Ordering::Greater => true,
            },
            _ => false,
        }
    }

    /// The intersection of this range with `other`, or `None` if they do not overlap.
    #[must_use]
    pub fn clip(&self, other: &Self) -> Option<Self> {
        let (start, start_inclusive) = match (&self.start, &other.start) {
            (None, _) => (&other.start, other.start_inclusive),
            (_, None) => (&self.start, self.start_inclusive),
            (Some(mine), Some(theirs)) => match mine.cmp(theirs) {
                Ordering::Less => (&other.start, other.start_inclusive),
                Ordering::Greater => (&self.start, self.start_inclusive),
                Ordering::Equal => (&self.start, self.start_inclusive && other.start_inclusive),
            },
        };
        let (end, end_inclusive) = match (&self.end, &other.end) {
            (None, _) => (&other.end, other.end_inclusive),
            (_, None) => (&self.end, self.end_inclusive),
            (Some(mine), Some(theirs)) => match mine.cmp(theirs) {
                Ordering::Greater => (&other.end, other.end_inclusive),
                Ordering::Less => (&self.end, self.end_inclusive),
                Ordering::Equal => (&self.end, self.end_inclusive && other.end_inclusive),
            },
        };
        let clipped = Self {
            start: start.clone(),
            start_inclusive,
            end: end.clone(),
            end_inclusive,
        };
        (!clipped.is_empty()).then_some(clipped)
    }

    /// The part of the range after `key` (exclusive), where a scan resumes. The whole range if
    /// `key` lies before its start.
    #[must_use]
    pub fn after(&self, key: KeyRef<'_>) -> Option<Self> {
        if self.before_start(key) {
            return Some(self.clone());
        }
        let rest = Self {
            start: Some(key.to_key()),
            start_inclusive: false,
            end: self.end.clone(),
            end_inclusive: self.end_inclusive,
        };
        (!rest.is_empty()).then_some(rest)
    }

    /// Sorts ranges and merges those that overlap or touch; empty ones are dropped.
    #[must_use]
    pub fn merge(mut ranges: Vec<Self>) -> Vec<Self> {
        ranges.retain(|range| !range.is_empty());
        ranges.sort_by(Self::cmp_start);
        let mut merged: Vec<Self> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match merged.last_mut() {
                Some(last) if last.reaches(&range) => {
                    if last.cmp_end(&range) == Ordering::Less {
                        last.end = range.end;
                        last.end_inclusive = range.end_inclusive;
                    }
                }
                _ => merged.push(range),
            }
        }
        merged
    }

    /// Orders two ranges by where they start.
    #[must_use]
    pub fn cmp_start(&self, other: &Self) -> Ordering {
        match (&self.start, &other.start) {
            (None, None) => Ordering::Equal,
            (None, _) => Ordering::Less,
            (_, None) => Ordering::Greater,
            (Some(a), Some(b)) => a
                .cmp(b)
                .then_with(|| other.start_inclusive.cmp(&self.start_inclusive)),
        }
    }

    fn cmp_end(&self, other: &Self) -> Ordering {
        match (&self.end, &other.end) {
            (None, None) => Ordering::Equal,
            (None, _) => Ordering::Greater,
            (_, None) => Ordering::Less,
            (Some(a), Some(b)) => a
                .cmp(b)
                .then_with(|| self.end_inclusive.cmp(&other.end_inclusive)),
        }
    }

    /// Whether `next`, which starts no earlier, overlaps or touches this range.
    fn reaches(&self, next: &Self) -> bool {
        match (&self.end, &next.start) {
            (None, _) | (_, None) => true,
            (Some(end), Some(start)) => match end.cmp(start) {
                Ordering::Greater => true,
                Ordering::Equal => self.end_inclusive || next.start_inclusive,
                Ordering::Less => false,
            },
        }
    }
}

/// Whether every key of `row` lies after the end key.
fn row_is_past(row: &[u8], end: &Key, end_inclusive: bool) -> bool {
    match row.cmp(end.row.as_slice()) {
        Ordering::Less => false,
        Ordering::Greater => true,
        // The end key may be the first possible key of its row: then no key of the row is left.
        Ordering::Equal => {
            !end_inclusive
                && end.family.is_empty()
                && end.qualifier.is_empty()
                && end.visibility.is_empty()
                && end.timestamp == i64::MAX
                && end.deleted
        }
    }
}

/// The smallest byte string greater than every string that begins with `prefix`, or `None` if
/// there is none (all bytes 0xff).
#[must_use]
pub fn following_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let keep = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut next = prefix.get(..=keep)?.to_vec();
    if let Some(last) = next.last_mut() {
        *last += 1;
    }
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_ranges_hold_whole_rows() {
        let range = Range::row("b");
        assert!(range.contains(Key::first_of_row("b").as_ref()));
        assert!(range.contains(Key::new("b", "zzz", "zzz").as_ref()));
        assert!(!range.contains(Key::first_of_row("b\0").as_ref()));
        assert!(!range.contains(Key::new("a", "zzz", "").as_ref()));
        assert!(!Range::rows("a".."b").contains_row(b"b"));
        assert!(Range::rows("a"..="b").contains_row(b"b"));
        assert!(!Range::tablet(Some(b"a"), Some(b"c")).contains_row(b"a"));
        assert!(Range::tablet(Some(b"a"), Some(b"c")).contains_row(b"c"));
    }

    #[test]
    fn set_row_equals_a_new_row_range() {
        let mut range = Range::row_column("a", "f", "q");
        assert_eq!(range.as_row(), None);
        for row in ["longer", "b", "", "c\0"] {
            range.set_row(row.as_bytes());
            assert_eq!(range, Range::row(row));
            assert_eq!(range.as_row(), Some(row.as_bytes()));
        }
        for other in [
            Range::all(),
            Range::rows("a"..="b"),
            Range::rows("a".."a\0\0"),
            Range::row_family("a", "f"),
        ] {
            assert_eq!(other.as_row(), None);
        }
        assert_eq!(Range::rows("a"..="a").as_row(), Some(&b"a"[..]));
    }

    #[test]
    fn prefix_ranges_end_where_the_prefix_does() {
        let range = Range::row_prefix(b"al");
        assert!(range.contains_row(b"al") && range.contains_row(b"alice"));
        assert!(!range.contains_row(b"am") && !range.contains_row(b"ak\xff"));
        assert!(Range::row_prefix(b"\xff\xff").contains_row(b"\xff\xff\xff"));
        assert_eq!(following_prefix(b"a\xff"), Some(b"b".to_vec()));
        assert_eq!(following_prefix(b"\xff"), None);
    }

    #[test]
    fn ranges_that_overlap_or_touch_become_one() {
        let merged = Range::merge(vec![
            Range::rows("m".."p"),
            Range::rows("a".."c"),
            Range::rows("b".."d"),
            Range::rows("d".."e"),
            Range::rows("x".."x"),
        ]);
        assert_eq!(merged, vec![Range::rows("a".."e"), Range::rows("m".."p")]);
    }

    #[test]
    fn clipping_takes_the_narrower_end_on_both_sides() {
        let clipped = Range::rows("a".."m")
            .clip(&Range::rows("c"..))
            .expect("they meet");
        assert_eq!(clipped, Range::rows("c".."m"));
        assert_eq!(Range::rows("a".."b").clip(&Range::rows("b".."c")), None);
    }

    #[test]
    fn a_range_with_swapped_ends_is_rejected() {
        let error = Range::keys(
            Some(Key::new("b", "", "")),
            true,
            Some(Key::new("a", "", "")),
            true,
        );
        assert!(error.is_err_and(|error| error.to_string().contains("start row: b")));
    }
}
