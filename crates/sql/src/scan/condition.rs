//! Conditions on one column as sets of its encoded values.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Between, BinaryExpr, Cast, Expr, Like, Operator};

use super::bytes::{ByteSet, Interval};

/// How the values of a column are encoded. The encodings sort as the values do.
pub(crate) trait Encoding {
    /// The least encoding of values not less than `value`, and the least one of values greater than it.
    /// `None` if `value` is not of the column's type.
    fn cut(&self, value: &ScalarValue) -> Option<(Vec<u8>, Vec<u8>)>;

    /// The encodings of texts with this prefix; `None` if the column has no text.
    fn prefix(&self, prefix: &str) -> Option<ByteSet>;

    /// A set of encodings that was made by comparing, with those of the same values that sort elsewhere.
    fn folded(&self, set: ByteSet) -> ByteSet {
        set
    }
}

/// The encodings of the values for which a condition may hold, if it is a condition on this column alone; and
/// whether it holds for exactly these.
pub(crate) fn encoded(
    condition: &Expr,
    column: &str,
    encoding: &dyn Encoding,
) -> Option<(ByteSet, bool)> {
    match condition {
        Expr::Alias(alias) => encoded(&alias.expr, column, encoding),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::And => {
                let parts = [left, right].map(|part| encoded(part, column, encoding));
                match parts {
                    [Some((a, a_exact)), Some((b, b_exact))] => {
                        Some((a.intersect(&b), a_exact && b_exact))
                    }
                    [Some((set, _)), None] | [None, Some((set, _))] => Some((set, false)),
                    [None, None] => None,
                }
            }
            Operator::Or => {
                let (a, a_exact) = encoded(left, column, encoding)?;
                let (b, b_exact) = encoded(right, column, encoding)?;
                Some((a.union(b), a_exact && b_exact))
            }
            op => {
                let (value, op) = match (is_column(left, column), is_column(right, column)) {
                    (true, _) => (literal(right)?, *op),
                    (_, true) => (literal(left)?, op.swap()?),
                    _ => return None,
                };
                compared(op, value, encoding).map(|set| (set, true))
            }
        },
        Expr::Between(Between {
            expr,
            negated: false,
            low,
            high,
        }) if is_column(expr, column) => {
            let low = compared(Operator::GtEq, literal(low)?, encoding)?;
            let high = compared(Operator::LtEq, literal(high)?, encoding)?;
            Some((low.intersect(&high), true))
        }
        Expr::InList(list) if !list.negated && is_column(&list.expr, column) => {
            let mut intervals: Vec<Interval> = Vec::with_capacity(list.list.len());
            for value in &list.list {
                let set = compared(Operator::Eq, literal(value)?, encoding)?;
                intervals.extend_from_slice(set.intervals());
            }
            Some((ByteSet::of(intervals), true))
        }
        Expr::Like(Like {
            negated: false,
            expr,
            pattern,
            escape_char: None,
            case_insensitive: false,
        }) if is_column(expr, column) => {
            let pattern = text(literal(pattern)?)?;
            let (prefix, rest) = split_pattern(pattern);
            let set = match rest {
                "" => compared(Operator::Eq, &ScalarValue::from(prefix.as_str()), encoding)?,
                _ => encoding.prefix(&prefix)?,
            };
            Some((set, matches!(rest, "" | "%")))
        }
        Expr::ScalarFunction(call) if call.name() == "starts_with" => match call.args.as_slice() {
            [of, prefix] if is_column(of, column) => {
                let set = encoding.prefix(text(literal(prefix)?)?)?;
                Some((set, true))
            }
            _ => None,
        },
        // What `= true` and `= false` are simplified to.
        Expr::Column(found) if found.name == column => {
            let set = compared(Operator::Eq, &ScalarValue::from(true), encoding)?;
            Some((set, true))
        }
        Expr::Not(inner) if matches!(&**inner, Expr::Column(found) if found.name == column) => {
            let set = compared(Operator::Eq, &ScalarValue::from(false), encoding)?;
            Some((set, true))
        }
        Expr::Literal(ScalarValue::Boolean(Some(false)), _) => Some((ByteSet::none(), true)),
        _ => None,
    }
}

/// Whether an expression is this column, perhaps as text.
pub(crate) fn is_column(expr: &Expr, column: &str) -> bool {
    match expr {
        Expr::Column(found) => found.name == column,
        // Bytes as text: text compares as its bytes do. Of other columns a cast changes the order.
        Expr::Cast(Cast { expr, field }) => {
            matches!(
                field.data_type(),
                DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 | DataType::Binary
            ) && is_column(expr, column)
        }
        _ => false,
    }
}

pub(crate) fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) if !value.is_null() => Some(value),
        _ => None,
    }
}

/// The text of a literal.
pub(crate) fn text(value: &ScalarValue) -> Option<&str> {
    match value {
        ScalarValue::Utf8(Some(text))
        | ScalarValue::Utf8View(Some(text))
        | ScalarValue::LargeUtf8(Some(text)) => Some(text),
        _ => None,
    }
}

/// The bytes of a literal of text or bytes.
pub(crate) fn bytes(value: &ScalarValue) -> Option<&[u8]> {
    match value {
        ScalarValue::Binary(Some(bytes))
        | ScalarValue::BinaryView(Some(bytes))
        | ScalarValue::LargeBinary(Some(bytes))
        | ScalarValue::FixedSizeBinary(_, Some(bytes)) => Some(bytes),
        other => text(other).map(str::as_bytes),
    }
}

fn compared(op: Operator, value: &ScalarValue, encoding: &dyn Encoding) -> Option<ByteSet> {
    let (low, high) = encoding.cut(value)?;
    Some(encoding.folded(match op {
        Operator::Eq => ByteSet::between(low, Some(high)),
        Operator::Lt => ByteSet::between(Vec::new(), Some(low)),
        Operator::LtEq => ByteSet::between(Vec::new(), Some(high)),
        Operator::Gt => ByteSet::between(high, None),
        Operator::GtEq => ByteSet::between(low, None),
        _ => return None,
    }))
}

/// What a pattern of LIKE begins with, without escapes, and the rest from the first wildcard on.
pub(crate) fn split_pattern(pattern: &str) -> (String, &str) {
    let mut prefix = String::new();
    let mut characters = pattern.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '%' | '_' => return (prefix, pattern.get(at..).unwrap_or_default()),
            '\\' => match characters.next() {
                Some((_, escaped)) => prefix.push(escaped),
                None => prefix.push('\\'),
            },
            other => prefix.push(other),
        }
    }
    (prefix, "")
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{col, lit};

    use super::*;

    struct Plain;

    impl Encoding for Plain {
        fn cut(&self, value: &ScalarValue) -> Option<(Vec<u8>, Vec<u8>)> {
            let bytes = bytes(value)?;
            Some((bytes.to_vec(), super::super::bytes::after(bytes)))
        }

        fn prefix(&self, prefix: &str) -> Option<ByteSet> {
            Some(ByteSet::prefix(prefix.as_bytes()))
        }
    }

    fn shown(condition: &Expr) -> Option<(String, bool)> {
        let (set, exact) = encoded(condition, "row", &Plain)?;
        Some((set.to_string(), exact))
    }

    #[test]
    fn comparisons_become_intervals() {
        let row = || col("row");
        for (condition, expected, exact) in [
            (row().eq(lit("a")), "'a'", true),
            (lit("a").lt(row()), "'a\\x00'..", true),
            (row().between(lit("a"), lit("b")), "'a'..'b\\x00'", true),
            (
                row().in_list(vec![lit("b"), lit("a")], false),
                "'a' or 'b'",
                true,
            ),
            (row().like(lit("ab%")), "'ab'..'ac'", true),
            (row().like(lit("ab%c")), "'ab'..'ac'", false),
            (row().like(lit("a\\%b")), "'a%b'", true),
            (row().like(lit("ab")), "'ab'", true),
            (
                row().eq(lit("a")).or(row().gt_eq(lit("x"))),
                "'a' or 'x'..",
                true,
            ),
            (
                row().gt_eq(lit("x")).and(col("value").eq(lit("a"))),
                "'x'..",
                false,
            ),
        ] {
            assert_eq!(
                shown(&condition),
                Some((expected.to_owned(), exact)),
                "{condition}"
            );
        }
    }

    #[test]
    fn what_is_not_understood_is_left_alone() {
        let row = || col("row");
        for condition in [
            row().not_eq(lit("a")),
            row().eq(col("value")),
            row().eq(lit(5)),
            row().in_list(vec![lit("a")], true),
            row().eq(lit("a")).or(col("value").eq(lit("b"))),
            row().not_like(lit("a%")),
        ] {
            assert_eq!(shown(&condition), None, "{condition}");
        }
    }
}
