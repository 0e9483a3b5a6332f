//! Columns `field|value`, and the sets of them that conditions on fields and values leave.

use memchr::memmem;
use ostrakon_cell::following_prefix;

use crate::scan::{ByteSet, Interval};

/// Intervals of columns that are read one by one. If conditions ask for more, whole fields are read.
const INTERVALS_MAX: usize = 10_000;
/// Bytes of these intervals, likewise.
const INTERVALS_BYTES: usize = 16 << 20;
/// See [`of_range`].
const END_BYTES: usize = 1 << 10;

/// A column at its first separator: its field, which it has if there is a separator, and its value.
pub(super) fn split<'a>(column: &'a [u8], separator: &[u8]) -> (Option<&'a [u8]>, &'a [u8]) {
    let found = memmem::find(column, separator);
    let parts = found.and_then(|at| Some((column.get(..at)?, column.get(at + separator.len()..)?)));
    match parts {
        Some((field, value)) => (Some(field), value),
        None => (None, column),
    }
}

/// A set that has every column whose field and value are in these sets, and perhaps others.
pub(super) fn columns(
    fields: Option<&ByteSet>,
    values: Option<&ByteSet>,
    separator: &[u8],
) -> ByteSet {
    let is_none = |set: Option<&ByteSet>| set.is_some_and(|set| set.intervals().is_empty());
    if is_none(fields) || is_none(values) {
        return ByteSet::none();
    }
    // A value without its field may be anywhere.
    let Some(fields) = fields else {
        return ByteSet::all();
    };
    let Some(points) = fields.points() else {
        let ranges = fields.intervals().iter();
        return ByteSet::of(
            ranges
                .flat_map(|range| of_range(range, separator))
                .collect(),
        );
    };
    // No field has a separator in it.
    let is_field = |field: &&[u8]| memmem::find(field, separator).is_none();
    let points: Vec<&[u8]> = points.into_iter().filter(is_field).collect();
    let bytes: usize = points.iter().map(|field| field.len()).sum();
    let many = |values: &ByteSet| {
        let values = values.intervals().len();
        points.len().saturating_mul(values) > INTERVALS_MAX
            || bytes.saturating_mul(values) > INTERVALS_BYTES
    };
    let values = values.filter(|values| !many(values));
    let mut intervals = Vec::new();
    for field in points {
        let prefix = [field, separator].concat();
        let whole = ByteSet::prefix(&prefix);
        match (values, whole.intervals().first()) {
            (Some(values), Some(whole)) => intervals.extend(
                values
                    .intervals()
                    .iter()
                    .map(|values| behind(&prefix, whole, values)),
            ),
            _ => intervals.extend_from_slice(whole.intervals()),
        }
    }
    ByteSet::of(intervals)
}

/// The columns of a field with these values.
fn behind(prefix: &[u8], whole: &Interval, values: &Interval) -> Interval {
    Interval {
        start: [prefix, &values.start].concat(),
        end: match &values.end {
            Some(end) => Some([prefix, end].concat()),
            None => whole.end.clone(),
        },
    }
}

/// The columns of fields of a range. A column is not less than its field. It may lie behind the end of the range only if
/// its field is what that end begins with.
///
/// The intervals of an end that is longer than [`END_BYTES`] are those of its first bytes: each of them is as long as the
/// end, and there are as many as it has bytes.
fn of_range(fields: &Interval, separator: &[u8]) -> Vec<Interval> {
    let mut intervals = vec![fields.clone()];
    if let Some(end) = &fields.end {
        let end = match end.get(..END_BYTES) {
            Some(first) if end.len() > END_BYTES => {
                intervals = ByteSet::between(fields.start.clone(), following_prefix(first))
                    .intervals()
                    .to_vec();
                first
            }
            _ => end,
        };
        let shorter = (0..end.len()).filter_map(|length| end.get(..length));
        let inside = shorter.filter(|field| *field >= fields.start.as_slice());
        let whole = |field: &[u8]| ByteSet::prefix(&[field, separator].concat());
        intervals.extend(inside.flat_map(|field| whole(field).intervals().to_vec()));
    }
    intervals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_split_at_their_first_separator() {
        for (column, separator, field, value) in [
            ("town|Ulm", "|", Some("town"), "Ulm"),
            ("a|b|c", "|", Some("a"), "b|c"),
            ("|x", "|", Some(""), "x"),
            ("x|", "|", Some("x"), ""),
            ("Ulm", "|", None, "Ulm"),
            ("", "|", None, ""),
            ("a::b", "::", Some("a"), "b"),
            ("a:b", "::", None, "a:b"),
        ] {
            let (found, rest) = split(column.as_bytes(), separator.as_bytes());
            assert_eq!(
                (found, rest),
                (field.map(str::as_bytes), value.as_bytes()),
                "{column}"
            );
        }
    }

    /// Every text of at most three of these letters.
    fn texts() -> Vec<Vec<u8>> {
        let mut all = vec![Vec::new()];
        let mut last = all.clone();
        for _ in 0..3 {
            last = last
                .iter()
                .flat_map(|text| {
                    [b'!', b'a', b'|', 0xff].map(|letter| [text.as_slice(), &[letter]].concat())
                })
                .collect();
            all.extend(last.clone());
        }
        all
    }

    #[test]
    fn no_wanted_column_is_left_out() {
        let texts = texts();
        let mut sets = vec![None, Some(ByteSet::none())];
        for one in texts.iter().step_by(3) {
            sets.push(Some(ByteSet::point(one)));
            sets.push(Some(ByteSet::prefix(one)));
            sets.push(Some(ByteSet::between(one.clone(), None)));
            for other in texts.iter().step_by(7) {
                sets.push(Some(ByteSet::between(one.clone(), Some(other.clone()))));
                sets.push(Some(ByteSet::point(one).union(ByteSet::point(other))));
            }
        }
        let has = |set: &Option<ByteSet>, bytes: &[u8]| {
            set.as_ref().is_none_or(|set| set.contains(bytes))
        };
        for fields in &sets {
            for values in sets.iter().step_by(5) {
                let found = columns(fields.as_ref(), values.as_ref(), b"|");
                for column in &texts {
                    let (field, value) = split(column, b"|");
                    let is_wanted = has(values, value)
                        && match field {
                            Some(field) => has(fields, field),
                            None => fields.is_none(),
                        };
                    assert!(
                        !is_wanted || found.contains(column),
                        "{fields:?} {values:?} {column:?} {found}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_intervals_of_a_long_end_are_short() {
        let end = vec![b'a'; 100_000];
        let found = columns(Some(&ByteSet::between(Vec::new(), Some(end))), None, b"|");
        for length in [0, 1, 1022, 1023, 1024, 1025, 5000, 99_999] {
            let column = [vec![b'a'; length], b"|x".to_vec()].concat();
            assert!(found.contains(&column), "{length}");
        }
        assert!(!found.contains(b"b|x"));
        let bytes: usize = found
            .intervals()
            .iter()
            .map(|interval| interval.start.len() + interval.end.as_ref().map_or(0, Vec::len))
            .sum();
        assert!(bytes < 4 << 20, "{bytes}");
    }

    #[test]
    fn only_columns_of_a_field_and_its_values_are_read() {
        let point = |text: &str| ByteSet::point(text.as_bytes());
        let towns = point("Ulm").union(point("Bonn"));
        for (fields, values, shown) in [
            (
                Some(point("town")),
                Some(towns.clone()),
                "'town|Bonn' or 'town|Ulm'",
            ),
            (Some(point("town")), None, "'town|'..'town}'"),
            (
                Some(point("town")),
                Some(ByteSet::between(b"B".to_vec(), None)),
                "'town|B'..'town}'",
            ),
            (Some(point("a|b")), None, "none"),
            (Some(point("a")), Some(ByteSet::none()), "none"),
            (None, Some(towns), "all"),
            (None, None, "all"),
        ] {
            let found = columns(fields.as_ref(), values.as_ref(), b"|");
            assert_eq!(found.to_string(), shown);
        }
    }
}
