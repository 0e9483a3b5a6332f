//! The rows of records: their encoding, and which rows conditions on keys leave.

use std::borrow::Cow;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use ostrakon_cell::lexicoder::{decode_f64, encode_f64, parts, push_part};
use ostrakon_cell::{Error, Result};

use super::ColumnType;
use super::kind::normal;
use crate::scan::{ByteSet, Encoding, Interval, after, encoded};

/// Values of the first parts of a row up to which rows are sought for each of them.
const PREFIXES_MAX: usize = 1000;

/// The encoding of a part of rows that have several parts, for rows that begin in the same way.
struct Part<'a> {
    kind: ColumnType,
    /// The encoding of the parts before it.
    before: &'a [u8],
    first: bool,
    last: bool,
}

impl Part<'_> {
    fn with(&self, encoded: &[u8]) -> Vec<u8> {
        let mut row = self.before.to_vec();
        push_part(self.first, encoded, &mut row);
        row
    }

    /// The rows that begin in this way.
    fn rows(&self) -> ByteSet {
        match self.first {
            true => ByteSet::all(),
            false => ByteSet::prefix(&self.with(&[])),
        }
    }
}

impl Encoding for Part<'_> {
    fn cut(&self, value: &ScalarValue) -> Option<(Vec<u8>, Vec<u8>)> {
        let (low, high) = equal(self.kind, value)?;
        let low = self.with(&low);
        let mut high = self.with(&high);
        // The next part begins after a zero byte, and what is escaped has no byte 0x01 at its end.
        high.push(if self.last { 0 } else { 1 });
        Some((low, high))
    }

    fn prefix(&self, prefix: &str) -> Option<ByteSet> {
        let has_prefix = matches!(self.kind, ColumnType::Text | ColumnType::Bytes);
        has_prefix.then(|| ByteSet::prefix(&self.with(prefix.as_bytes())))
    }

    fn folded(&self, set: ByteSet) -> ByteSet {
        folded(self.kind, set, |encoded| self.with(encoded))
    }
}

/// The NaNs without a sign that sort first and last.
const NANS: (f64, f64) = (
    f64::from_bits(0x7ff0_0000_0000_0001),
    f64::from_bits(0x7fff_ffff_ffff_ffff),
);

/// The least and the greatest encoding of values that are equal to this one: only zeros and NaNs have
/// several. The NaNs with a sign are missing, since they sort before all numbers; see [`folded`].
fn equal(kind: ColumnType, value: &ScalarValue) -> Option<(Vec<u8>, Vec<u8>)> {
    let of = |number: f64| kind.encode_scalar(&ScalarValue::from(number));
    match value {
        ScalarValue::Float64(Some(number)) if *number == 0.0 => Some((of(-0.0)?, of(0.0)?)),
        ScalarValue::Float64(Some(number)) if number.is_nan() => Some((of(NANS.0)?, of(NANS.1)?)),
        _ => {
            let encoded = kind.encode_scalar(value)?;
            Some((encoded.clone(), encoded))
        }
    }
}

/// A set of encodings with all NaNs or without any. SQL has one NaN, the greatest number; those with a
/// sign, which others than SQL may have written, are encoded before all numbers.
fn folded(kind: ColumnType, set: ByteSet, place: impl Fn(&[u8]) -> Vec<u8>) -> ByteSet {
    if kind != ColumnType::Float {
        return set;
    }
    let (start, end) = (place(&[]), place(&encoding(f64::NEG_INFINITY)));
    if set.contains(&place(&encoding(f64::NAN))) {
        return set.union(ByteSet::between(start, Some(end)));
    }
    let before = ByteSet::between(Vec::new(), Some(start));
    set.intersect(&before.union(ByteSet::between(end, None)))
}

fn encoding(number: f64) -> Vec<u8> {
    let mut encoded = Vec::new();
    encode_f64(number, &mut encoded);
    encoded
}

/// Whether a key may have several encodings.
pub(super) fn has_floats(keys: &[(String, ColumnType)]) -> bool {
    keys.iter().any(|(_, kind)| *kind == ColumnType::Float)
}

/// Where the rows are that have the key of a row in other encodings. Others may be there, too.
///
/// # Errors
/// The row is not an encoding of a key.
pub(super) fn alike(keys: &[(String, ColumnType)], row: &[u8]) -> Result<ByteSet> {
    let found = split(row, keys.len())?;
    let mut starts = vec![Vec::new()];
    for (at, ((_, kind), encoded)) in keys.iter().zip(&found).enumerate() {
        let with = |start: &Vec<u8>, encoded: &[u8]| {
            let mut row = start.clone();
            match keys.len() {
                1 => row.extend_from_slice(encoded),
                _ => push_part(at == 0, encoded, &mut row),
            }
            row
        };
        let number = match kind {
            ColumnType::Float => Some(decode_f64(encoded)?),
            _ => None,
        };
        starts = match number {
            Some(number) if number.is_nan() => {
                // There are too many to seek each of them with what follows.
                let both = starts.iter().map(|start| {
                    let signed = (with(start, &[]), with(start, &encoding(f64::NEG_INFINITY)));
                    let mut end = with(start, &encoding(NANS.1));
                    end.push(1);
                    let rest = ByteSet::between(with(start, &encoding(NANS.0)), Some(end));
                    ByteSet::between(signed.0, Some(signed.1)).union(rest)
                });
                return Ok(both.fold(ByteSet::none(), ByteSet::union));
            }
            Some(0.0) => {
                let zeros = [encoding(-0.0), encoding(0.0)];
                let both = |start| zeros.each_ref().map(|zero| with(start, zero));
                starts.iter().flat_map(both).collect()
            }
            _ => starts.iter().map(|start| with(start, encoded)).collect(),
        };
    }
    let others = starts.into_iter().filter(|start| start != row);
    let others = others.map(|row| {
        let end = Some(after(&row));
        Interval { start: row, end }
    });
    Ok(ByteSet::of(others.collect()))
}

/// The row as SQL writes it, with one zero and one NaN.
///
/// # Errors
/// The row is not an encoding of a key.
pub(super) fn normalised(keys: &[(String, ColumnType)], row: &[u8]) -> Result<Vec<u8>> {
    let found = split(row, keys.len())?;
    let mut normalised = Vec::with_capacity(row.len());
    for (at, ((_, kind), encoded)) in keys.iter().zip(found).enumerate() {
        let part = match kind {
            ColumnType::Float => Cow::Owned(encoding(normal(decode_f64(&encoded)?))),
            _ => encoded,
        };
        match keys.len() {
            1 => normalised.extend_from_slice(&part),
            _ => push_part(at == 0, &part, &mut normalised),
        }
    }
    Ok(normalised)
}

/// The encoding of values alone: those of columns, and of rows with one part.
pub(super) struct Plain(pub(super) ColumnType);

impl Encoding for Plain {
    fn cut(&self, value: &ScalarValue) -> Option<(Vec<u8>, Vec<u8>)> {
        let (low, high) = equal(self.0, value)?;
        let high = after(&high);
        Some((low, high))
    }

    fn prefix(&self, prefix: &str) -> Option<ByteSet> {
        let has_prefix = matches!(self.0, ColumnType::Text | ColumnType::Bytes);
        has_prefix.then(|| ByteSet::prefix(prefix.as_bytes()))
    }

    fn folded(&self, set: ByteSet) -> ByteSet {
        folded(self.0, set, <[u8]>::to_vec)
    }
}

/// The rows in which all of the conditions may hold.
pub(super) fn rows(keys: &[(String, ColumnType)], conditions: &[Expr]) -> ByteSet {
    let wanted = |name: &str, encoding: &dyn Encoding| {
        let sets = conditions
            .iter()
            .filter_map(|condition| encoded(condition, name, encoding));
        sets.map(|(set, _)| set).reduce(|a, b| a.intersect(&b))
    };
    if let [(name, kind)] = keys {
        return wanted(name, &Plain(*kind)).unwrap_or_else(ByteSet::all);
    }
    let mut found = ByteSet::all();
    let mut starts = vec![Vec::new()];
    for (at, (name, kind)) in keys.iter().enumerate() {
        let (mut here, mut next, mut pinned) = (ByteSet::none(), Vec::new(), true);
        for before in &starts {
            let part = Part {
                kind: *kind,
                before,
                first: at == 0,
                last: at + 1 == keys.len(),
            };
            let Some(set) = wanted(name, &part) else {
                return found;
            };
            let set = set.intersect(&part.rows());
            for interval in set.intervals() {
                // The rows with one value of this part.
                let one = interval.end.as_ref().and_then(|end| end.split_last());
                pinned &= one.is_some_and(|(last, start)| *last <= 1 && start == interval.start);
                next.push(interval.start.clone());
            }
            here = here.union(set);
        }
        found = here;
        if !pinned || next.len() > PREFIXES_MAX {
            return found;
        }
        starts = next;
    }
    found
}

/// The encoded parts of a row.
///
/// # Errors
/// The row has another number of parts.
pub(super) fn split(row: &[u8], count: usize) -> Result<Vec<Cow<'_, [u8]>>> {
    if count == 1 {
        return Ok(vec![Cow::Borrowed(row)]);
    }
    let found = parts(row)?;
    match found.len() == count {
        true => Ok(found),
        false => Err(Error::invalid(
            "the row has another number of parts than the key",
        )),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{col, lit};

    use super::*;

    fn row(sensor: &str, day: i64) -> Vec<u8> {
        let mut row = Vec::new();
        push_part(true, sensor.as_bytes(), &mut row);
        let day = ColumnType::Int
            .encode_scalar(&ScalarValue::from(day))
            .expect("a number");
        push_part(false, &day, &mut row);
        row
    }

    #[test]
    fn conditions_on_parts_leave_the_rows_in_which_they_hold() {
        let keys = [
            ("sensor".to_owned(), ColumnType::Text),
            ("day".to_owned(), ColumnType::Int),
        ];
        let sensors = ["", "a", "a\0", "a\u{1}", "ab", "b"];
        let days = [i64::MIN, -256, -1, 0, 1, 255, 256, 65_536, i64::MAX];
        type Test = Box<dyn Fn(&str, i64) -> bool>;
        let cases: Vec<(Vec<Expr>, Test, bool)> = vec![
            (
                vec![col("sensor").eq(lit("a"))],
                Box::new(|s, _| s == "a"),
                true,
            ),
            (
                vec![col("sensor").gt(lit("a"))],
                Box::new(|s, _| s > "a"),
                true,
            ),
            (
                vec![col("sensor").lt_eq(lit("a"))],
                Box::new(|s, _| s <= "a"),
                true,
            ),
            (
                vec![col("sensor").like(lit("a%"))],
                Box::new(|s, _| s.starts_with('a')),
                true,
            ),
            (
                vec![col("sensor").eq(lit("a")), col("day").gt(lit(-1_i64))],
                Box::new(|s, d| s == "a" && d > -1),
                true,
            ),
            (
                vec![
                    col("sensor").in_list(vec![lit("a"), lit("b")], false),
                    col("day").between(lit(0_i64), lit(256_i64)),
                ],
                Box::new(|s, d| (s == "a" || s == "b") && (0..=256).contains(&d)),
                true,
            ),
            (
                vec![col("sensor").gt(lit("a")), col("day").eq(lit(0_i64))],
                Box::new(|s, d| s > "a" && d == 0),
                false,
            ),
        ];
        for (conditions, holds, exact) in cases {
            let found = rows(&keys, &conditions);
            for sensor in sensors {
                for day in days {
                    let inside = found.contains(&row(sensor, day));
                    let wanted = holds(sensor, day);
                    assert!(inside || !wanted, "{conditions:?} lost {sensor:?} {day}");
                    assert!(
                        !exact || inside == wanted,
                        "{conditions:?} {sensor:?} {day}"
                    );
                }
            }
        }
    }
}
