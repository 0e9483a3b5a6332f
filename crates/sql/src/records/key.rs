//! The rows of records: their encoding, and which rows conditions on keys leave.

use std::borrow::Cow;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use ostrakon_cell::lexicoder::{parts, push_part};
use ostrakon_cell::{Error, Result};

use super::ColumnType;
use crate::scan::{ByteSet, Encoding, after, encoded};

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
        (self.kind == ColumnType::Text).then(|| ByteSet::prefix(&self.with(prefix.as_bytes())))
    }
}

/// The least and the greatest encoding of values that are equal to this one: only zeros have two.
fn equal(kind: ColumnType, value: &ScalarValue) -> Option<(Vec<u8>, Vec<u8>)> {
    let zero = matches!(value, ScalarValue::Float64(Some(number)) if *number == 0.0);
    if zero {
        let of = |number: f64| kind.encode_scalar(&ScalarValue::from(number));
        return Some((of(-0.0)?, of(0.0)?));
    }
    let encoded = kind.encode_scalar(value)?;
    Some((encoded.clone(), encoded))
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
        (self.0 == ColumnType::Text).then(|| ByteSet::prefix(prefix.as_bytes()))
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
