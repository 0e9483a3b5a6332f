//! Expressions that the query engine reads in another way than other systems, or not at all.

use std::ops::{ControlFlow, RangeInclusive};

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    TimezoneInfo, TypedString, Value, ValueWithSpan, VisitMut,
};
use ostrakon_cell::{Error, ErrorKind, Result};

use super::frame_bounds;
use super::walk::visit_expressions_mut;

/// Functions whose results are moments, although their types have no zone.
const MOMENTS: [&str; 8] = [
    "current_timestamp",
    "from_unixtime",
    "now",
    "to_timestamp",
    "to_timestamp_micros",
    "to_timestamp_millis",
    "to_timestamp_nanos",
    "to_timestamp_seconds",
];

/// Functions whose results are moments if one of these arguments is one: of all, those that choose among their arguments.
const KEEPING: [(&str, RangeInclusive<usize>); 16] = [
    ("any_value", 0..=0),
    ("coalesce", ALL),
    ("date_bin", 1..=1),
    ("date_trunc", 1..=1),
    ("first_value", 0..=0),
    ("greatest", ALL),
    ("ifnull", ALL),
    ("lag", ALL),
    ("last_value", 0..=0),
    ("lead", ALL),
    ("least", ALL),
    ("max", 0..=0),
    ("min", 0..=0),
    ("nth_value", 0..=0),
    ("nullif", 0..=0),
    ("nvl", ALL),
];

const ALL: RangeInclusive<usize> = 0..=usize::MAX;

/// Refuses an expression that is not understood as in other systems.
///
/// # Errors
/// `a ^ b`, which is a power in some systems, and exclusive or in the engine; a pattern of times that has no `%`; `lag(a, b)`.
pub(super) fn check(expr: &Expr) -> Result<()> {
    match expr {
        Expr::BinaryOp {
            op: BinaryOperator::BitwiseXor,
            ..
        } => Err(Error::new(
            ErrorKind::Unsupported,
            "`^` is a power in some systems, and exclusive or in others: write power(a, b), or (a | b) - (a & b)",
        )),
        Expr::Function(call) => {
            frame_bounds::check_offsets(call)?;
            check_pattern(call)
        }
        _ => Ok(()),
    }
}

/// Gives a pattern with another escape character the one of the engine.
fn with_backslashes(pattern: &mut Expr, escape: &ValueWithSpan) -> Result<()> {
    let refused = |why: &'static str| Err(Error::new(ErrorKind::Unsupported, why));
    let escape = match text_of(&escape.value) {
        Some(text) => text.to_owned(),
        None => return refused("ESCAPE takes a character in quotes"),
    };
    let mut letters = escape.chars();
    let (escape, None) = (letters.next(), letters.next()) else {
        return refused("ESCAPE takes one character");
    };
    // The engine's own.
    if escape == Some('\\') {
        return Ok(());
    }
    let Expr::Value(value) = pattern else {
        return refused("ESCAPE needs a pattern in quotes");
    };
    let Some(text) = text_of(&value.value) else {
        return refused("ESCAPE needs a pattern in quotes");
    };
    let mut changed = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            letter if Some(letter) == escape => match letters.next() {
                Some(next) => changed.extend(['\\', next]),
                None => return refused("a pattern of LIKE ends with its ESCAPE character"),
            },
            '\\' => changed.push_str("\\\\"),
            letter => changed.push(letter),
        }
    }
    value.value = Value::SingleQuotedString(changed);
    Ok(())
}

fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::SingleQuotedString(text) => Some(text),
        _ => None,
    }
}

/// Refuses patterns such as `'YYYY-MM-DD'`, which the engine would return as they are.
fn check_pattern(call: &Function) -> Result<()> {
    let name = call.name.to_string().to_ascii_lowercase();
    if !matches!(name.as_str(), "to_char" | "date_format") {
        return Ok(());
    }
    let FunctionArguments::List(list) = &call.args else {
        return Ok(());
    };
    let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(pattern)))) = list.args.get(1)
    else {
        return Ok(());
    };
    match text_of(&pattern.value) {
        Some(text) if !text.contains('%') => Err(Error::invalid(
            "a pattern of times has fields that begin with %: write to_char(t, '%Y-%m-%d %H:%M:%S')",
        )
        .with("pattern", text)),
        _ => Ok(()),
    }
}

/// Writes expressions as the engine understands them, once columns have their names.
///
/// * `LIKE p ESCAPE 'c'` becomes a pattern with the engine's character, which is the backslash.
/// * An interval in a frame is quoted.
/// * `AT TIME ZONE` of a moment converts it to the zone. The engine's moments have no zone, and it would take their time in
///   UTC for one of the zone.
///
/// # Errors
/// `ESCAPE` with something else than a character, or with a pattern that is not a constant; an offset of a frame that is not.
pub(super) fn rewrite(statement: &mut impl VisitMut) -> Result<()> {
    let rewritten = visit_expressions_mut(statement, |expr| {
        match expr {
            Expr::Like {
                pattern,
                escape_char,
                ..
            }
            | Expr::ILike {
                pattern,
                escape_char,
                ..
            } => {
                if let Some(escape) = escape_char.take()
                    && let Err(error) = with_backslashes(pattern, &escape)
                {
                    return ControlFlow::Break(error);
                }
            }
            Expr::AtTimeZone { timestamp, .. } => convert(timestamp),
            Expr::Function(call) => {
                if let Err(error) = frame_bounds::quote_intervals(call) {
                    return ControlFlow::Break(error);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    match rewritten {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

fn convert(timestamp: &mut Box<Expr>) {
    if is_moment(timestamp) {
        let moment = std::mem::replace(&mut **timestamp, Expr::value(Value::Null));
        let utc = Expr::value(Value::SingleQuotedString("UTC".to_owned()));
        **timestamp = Expr::AtTimeZone {
            timestamp: Box::new(moment),
            time_zone: Box::new(utc),
        };
    }
}

/// Whether an expression is a moment by what is written.
fn is_moment(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_moment(inner),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Plus,
            right,
        } => is_moment(left) || is_moment(right),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Minus,
            right,
        } => is_moment(left) && !is_moment(right),
        Expr::Case {
            conditions,
            else_result,
            ..
        } => {
            let results = conditions.iter().map(|branch| &branch.result);
            results.chain(else_result.as_deref()).any(is_moment)
        }
        Expr::TypedString(TypedString { data_type, .. }) | Expr::Cast { data_type, .. } => {
            matches!(
                data_type,
                DataType::Timestamp(_, TimezoneInfo::Tz | TimezoneInfo::WithTimeZone)
            )
        }
        Expr::Function(call) => {
            let name = call.name.to_string().to_ascii_lowercase();
            let kept = KEEPING.iter().find(|(keeping, _)| *keeping == name);
            let kept = kept.map(|(_, places)| places);
            let mut given = arguments(call).enumerate();
            MOMENTS.contains(&name.as_str())
                || kept.is_some_and(|kept| {
                    given.any(|(at, argument)| kept.contains(&at) && is_moment(argument))
                })
        }
        _ => false,
    }
}

/// The arguments of a call that are expressions.
fn arguments(call: &Function) -> impl Iterator<Item = &Expr> {
    let list = match &call.args {
        FunctionArguments::List(list) => list.args.as_slice(),
        _ => &[],
    };
    list.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::parse_statements;

    fn parsed(text: &str) -> Result<String, String> {
        let parsed = parse_statements(text).map_err(|error| error.to_string())?;
        Ok(parsed.first().expect("one").statement.to_string())
    }

    #[test]
    fn escapes_become_backslashes() {
        for (written, shown) in [
            (r"a LIKE '%!_%' ESCAPE '!'", r"a LIKE '%\_%'"),
            (r"a NOT ILIKE '!!!%\' ESCAPE '!'", r"a NOT ILIKE '\!\%\\'"),
            (r"a LIKE 'x\_y' ESCAPE '\'", r"a LIKE 'x\_y'"),
            (r"a LIKE 'x\_y'", r"a LIKE 'x\_y'"),
        ] {
            let shown = format!("SELECT 1 AS \"1\" FROM t WHERE {shown}");
            let text = format!("SELECT 1 FROM t WHERE {written}");
            assert_eq!(parsed(&text).as_deref(), Ok(shown.as_str()));
        }
        for written in [
            "LIKE 'a!' ESCAPE '!'",
            "LIKE 'a' ESCAPE 'ab'",
            "LIKE b ESCAPE '!'",
        ] {
            let refused = parsed(&format!("SELECT 1 FROM t WHERE a {written}"));
            assert!(refused.is_err(), "{written}");
        }
    }

    #[test]
    fn what_other_systems_understand_otherwise_is_refused() {
        for (text, said) in [
            ("SELECT 10 ^ 2", "power(a, b)"),
            ("SELECT to_char(t, 'YYYY-MM-DD')", "%Y-%m-%d"),
        ] {
            let error = parsed(text).expect_err(text);
            assert!(error.contains(said), "{error}");
        }
        assert!(parsed("SELECT to_char(t, '%Y'), to_char(t, f), power(10, 2)").is_ok());
    }
}
