//! Conditions of SQL as conditions of the events' planner.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Like, Operator as Sql};
use ostrakon_cell::lexicoder::{decode_i64, encode_i64};
use ostrakon_events::{Condition, FieldType, Operator, parse_time, show_time};

use super::values::{Fields, TIME, address};
use crate::scan::{ByteSet, Encoding, after, encoded, is_column, literal, split_pattern, text};

/// The longest part of a text that the planner gets, whose conditions have a limit.
const PART_MAX: usize = 1024;

/// What the planner can do with a condition.
pub(super) struct Understood {
    /// Holds for every event for which the condition of SQL is true.
    pub(super) condition: Condition,
    /// The first time, and the first one that is not wanted.
    pub(super) times: Option<(Option<i64>, Option<i64>)>,
    /// Holds for no other event.
    pub(super) exact: bool,
}

/// The planner's form of a condition, if it has one.
pub(super) fn understood(fields: &Fields, condition: &Expr) -> Option<Understood> {
    if let Some((set, exact)) = encoded(condition, TIME, &Times) {
        // One span of time; more of them are filtered after.
        let (first, last) = (set.intervals().first()?, set.intervals().last()?);
        let start = match first.start.is_empty() {
            true => None,
            false => Some(moment(&first.start)?),
        };
        let end = match &last.end {
            None => None,
            Some(end) => Some(moment(end)?),
        };
        return Some(Understood {
            condition: Condition::All,
            times: Some((start, end)),
            exact: exact && set.intervals().len() == 1,
        });
    }
    let (condition, exact) = tree(fields, condition)?;
    Some(Understood {
        condition,
        times: None,
        exact,
    })
}

fn tree(fields: &Fields, condition: &Expr) -> Option<(Condition, bool)> {
    if let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition {
        let (a, b) = (tree(fields, left), tree(fields, right));
        match (op, a, b) {
            (Sql::And, Some((a, a_exact)), Some((b, b_exact))) => {
                return Some((Condition::And(vec![a, b]), a_exact && b_exact));
            }
            (Sql::And, Some((part, _)), None) | (Sql::And, None, Some((part, _))) => {
                return Some((part, false));
            }
            (Sql::Or, Some((a, a_exact)), Some((b, b_exact))) => {
                return Some((Condition::Or(vec![a, b]), a_exact && b_exact));
            }
            (Sql::And | Sql::Or, _, _) => return None,
            _ => {}
        }
    }
    fields
        .iter()
        .find_map(|(name, kind)| test(name, kind, condition))
}

/// The test of a field.
fn test(name: &str, kind: FieldType, condition: &Expr) -> Option<(Condition, bool)> {
    // Zeros of both signs are one value to the planner, and two to SQL.
    let exact = kind != FieldType::F64;
    let made = |operator| (Condition::test(name, operator), exact);
    match condition {
        Expr::IsNotNull(of) if is_column(of, name) => Some((
            Condition::test(name, Operator::Exists),
            // Values of another type than the field's are nulls.
            kind.is_text(),
        )),
        Expr::InList(list) if !list.negated && is_column(&list.expr, name) => {
            let values = list
                .list
                .iter()
                .map(|value| value_of(kind, literal(value)?));
            Some(made(Operator::In(values.collect::<Option<_>>()?)))
        }
        Expr::Between(between)
            if !between.negated && is_column(&between.expr, name) && kind != FieldType::Ip =>
        {
            let low = value_of(kind, literal(&between.low)?)?;
            let high = value_of(kind, literal(&between.high)?)?;
            let parts = [Operator::AtLeast(low), Operator::AtMost(high)];
            let parts = parts.map(|operator| Condition::test(name, operator));
            Some((Condition::And(parts.to_vec()), exact))
        }
        Expr::Like(Like {
            negated: false,
            expr,
            pattern,
            escape_char: None,
            case_insensitive: false,
        }) if is_column(expr, name) => like(name, kind, text(literal(pattern)?)?),
        Expr::ScalarFunction(call) => {
            let operator = match call.name() {
                "starts_with" => Operator::Prefix,
                "ends_with" => Operator::Suffix,
                "contains" => Operator::Contains,
                _ => return None,
            };
            match call.args.as_slice() {
                [of, part] if is_column(of, name) => {
                    Some((of_part(name, kind, text(literal(part)?)?, operator)?, true))
                }
                _ => None,
            }
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (value, op) = match (is_column(left, name), is_column(right, name)) {
                (true, false) => (literal(right)?, *op),
                (false, true) => (literal(left)?, op.swap()?),
                _ => return None,
            };
            let value = value_of(kind, value)?;
            // Addresses sort otherwise than their text.
            let sorts = kind != FieldType::Ip;
            Some(made(match op {
                Sql::Eq => Operator::Equal(value),
                // SQL's negative zero is less than zero.
                Sql::Lt if !exact => Operator::AtMost(value),
                Sql::Gt if !exact => Operator::AtLeast(value),
                Sql::Lt if sorts => Operator::Less(value),
                Sql::LtEq if sorts => Operator::AtMost(value),
                Sql::Gt if sorts => Operator::Greater(value),
                Sql::GtEq if sorts => Operator::AtLeast(value),
                _ => return None,
            }))
        }
        _ => None,
    }
}

/// The test of a pattern of LIKE, and whether it is exact.
fn like(name: &str, kind: FieldType, pattern: &str) -> Option<(Condition, bool)> {
    let of_part = |part: &str, operator| of_part(name, kind, part, operator);
    let is_any = |rest: &str| rest.bytes().all(|byte| byte == b'%');
    let (start, rest) = split_pattern(pattern);
    if rest.is_empty() {
        let value = value_of(kind, &start.into())?;
        return Some((Condition::equal(name, value), true));
    }
    let after_any = rest.trim_start_matches('%');
    if !start.is_empty() || after_any.is_empty() {
        return Some((of_part(&start, Operator::Prefix)?, is_any(rest)));
    }
    // Wildcards only before the text, or also after it; with others in between no test is exact.
    let (part, rest) = split_pattern(after_any);
    match is_any(rest) {
        true if rest.is_empty() => Some((of_part(&part, Operator::Suffix)?, true)),
        true => Some((of_part(&part, Operator::Contains)?, true)),
        false => None,
    }
}

/// The test that a text begins with, ends with or contains another. What is not UTF-8 in the text is no part of such a
/// test: in SQL it is a replacement character, and a replacement character in the other text is left to SQL.
fn of_part(
    name: &str,
    kind: FieldType,
    part: &str,
    operator: fn(Vec<u8>) -> Operator,
) -> Option<Condition> {
    if !kind.is_text() || part.is_empty() || part.len() > PART_MAX {
        return None;
    }
    let part = value_of(kind, &part.into())?;
    Some(Condition::test(name, operator(part)))
}

/// A literal as the planner reads it.
fn value_of(kind: FieldType, value: &ScalarValue) -> Option<Vec<u8>> {
    let shown = match (kind, value) {
        (FieldType::Text, value) => {
            // What is not UTF-8 is shown with a replacement, and equals no text that has one.
            let text = text(value)?;
            (!text.contains(char::REPLACEMENT_CHARACTER)).then(|| text.to_owned())?
        }
        (FieldType::Ip, value) => {
            let text = text(value)?;
            (address(text.as_bytes()).as_deref() == Some(text)).then(|| text.to_owned())?
        }
        (FieldType::Bytes, value) => return crate::scan::bytes(value).map(<[u8]>::to_vec),
        (FieldType::I64, ScalarValue::Int64(Some(value))) => value.to_string(),
        (FieldType::U64, ScalarValue::UInt64(Some(value))) => value.to_string(),
        (FieldType::F64, ScalarValue::Float64(Some(value))) if value.is_finite() => {
            value.to_string()
        }
        (FieldType::Bool, ScalarValue::Boolean(Some(value))) => value.to_string(),
        (FieldType::Time, ScalarValue::TimestampMicrosecond(Some(value), _)) => {
            // Events have no times of other years, and conditions no words for them.
            let shown = show_time(*value);
            (parse_time(shown.as_bytes()) == Some(*value)).then_some(shown)?
        }
        _ => return None,
    };
    Some(shown.into_bytes())
}

/// The time of events.
struct Times;

impl Encoding for Times {
    fn cut(&self, value: &ScalarValue) -> Option<(Vec<u8>, Vec<u8>)> {
        let ScalarValue::TimestampMicrosecond(Some(value), _) = value else {
            return None;
        };
        let mut low = Vec::new();
        encode_i64(*value, &mut low);
        let high = after(&low);
        Some((low, high))
    }

    fn prefix(&self, _: &str) -> Option<ByteSet> {
        None
    }
}

/// The moment of the end of an interval, which is that of a value or what follows it.
fn moment(bytes: &[u8]) -> Option<i64> {
    if let Ok(moment) = decode_i64(bytes) {
        return Some(moment);
    }
    let (last, value) = bytes.split_last()?;
    match *last {
        0 => decode_i64(value).ok()?.checked_add(1),
        _ => None,
    }
}
