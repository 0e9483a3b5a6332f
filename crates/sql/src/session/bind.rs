//! Values for the parameters of a statement.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    DataType, Expr, Statement as Ast, TimezoneInfo, TypedString, Value,
};
use datafusion::sql::sqlparser::tokenizer::Location;
use ostrakon_cell::{Error, ErrorKind, Result};
use ostrakon_events::show_time;

use super::walk::visit_expressions_mut;

/// A value for a parameter. It becomes a literal of the parsed statement, never a part of its text.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SqlValue {
    /// NULL
    Null,
    /// BOOLEAN
    Bool(bool),
    /// BIGINT
    Int(i64),
    /// DOUBLE
    Float(f64),
    /// VARCHAR; also a date or a time where one is compared or inserted.
    Text(String),
    /// DATE: days since 1970.
    Date(i32),
    /// TIMESTAMP: microseconds since 1970 in UTC.
    Timestamp(i64),
    /// BINARY
    Bytes(Vec<u8>),
}

const DAY_MICROS: i64 = 86_400_000_000;

impl SqlValue {
    fn literal(&self) -> Expr {
        Expr::value(match self {
            Self::Date(days) => {
                let text = show_time(i64::from(*days).saturating_mul(DAY_MICROS));
                let day = text.split('T').next().unwrap_or_default();
                return typed(DataType::Date, day);
            }
            Self::Timestamp(micros) => {
                let text = show_time(*micros);
                // Of microseconds, as in tables.
                let kind = DataType::Timestamp(Some(6), TimezoneInfo::None);
                return typed(kind, text.trim_end_matches('Z'));
            }
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Boolean(*value),
            Self::Int(value) => Value::Number(value.to_string(), false),
            // With a point or an exponent, which an integer does not have.
            Self::Float(value) => Value::Number(format!("{value:?}"), false),
            Self::Text(value) => Value::SingleQuotedString(value.clone()),
            Self::Bytes(value) => {
                let digits = value.iter().map(|byte| format!("{byte:02x}"));
                Value::HexStringLiteral(digits.collect())
            }
        })
    }
}

fn typed(data_type: DataType, text: &str) -> Expr {
    Expr::TypedString(TypedString {
        data_type,
        value: Value::SingleQuotedString(text.to_owned()).into(),
        uses_odbc_syntax: false,
    })
}

/// Puts values in the places of `?`, in the order of the text, or of `$1`, `$2` and so on.
///
/// # Errors
/// More or fewer values than places, both kinds of places, or another kind.
pub(super) fn bind(statement: &mut Statement, values: &[SqlValue]) -> Result<()> {
    match statement {
        Statement::Statement(ast) => bind_ast(ast, values),
        Statement::Explain(explain) => bind(&mut explain.statement, values),
        _ if values.is_empty() => Ok(()),
        _ => Err(mismatch(0, values.len())),
    }
}

fn bind_ast(ast: &mut Ast, values: &[SqlValue]) -> Result<()> {
    let mut places: Vec<(Location, String)> = Vec::new();
    each(ast, |_, at, name| {
        places.push((at, name));
    });
    places.sort();
    places.dedup();
    let in_order = places.iter().all(|(_, name)| name == "?");
    let mut indexes = Vec::with_capacity(places.len());
    for (at, (_, name)) in places.iter().enumerate() {
        let number = name.strip_prefix('$').and_then(|n| n.parse::<usize>().ok());
        match number.and_then(|number| number.checked_sub(1)) {
            _ if in_order => indexes.push(at),
            Some(index) => indexes.push(index),
            None => {
                return Err(Error::invalid(
                    "parameters of a statement are either all `?`, or `$1`, `$2` and so on",
                )
                .with("parameter", name));
            }
        }
    }
    let wanted = indexes.iter().max().map_or(0, |most| most + 1);
    if wanted != values.len() {
        return Err(mismatch(wanted, values.len()));
    }
    each(ast, |expr, at, _| {
        if let Ok(place) = places.binary_search_by(|(found, _)| found.cmp(&at))
            && let Some(given) = indexes.get(place).and_then(|index| values.get(*index))
        {
            *expr = given.literal();
        }
    });
    let _: ControlFlow<()> = visit_expressions_mut(ast, |expr| {
        if let Expr::UnaryOp { expr: inner, .. } = expr
            && is_negative(inner)
        {
            // The engine would read `--5`.
            let number = std::mem::replace(&mut **inner, Expr::value(Value::Null));
            **inner = Expr::Nested(Box::new(number));
        }
        ControlFlow::Continue(())
    });
    Ok(())
}

fn is_negative(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.starts_with('-'),
            _ => false,
        },
        _ => false,
    }
}

/// Visits the parameters of a statement with their places in the text and their names.
fn each(ast: &mut Ast, mut visit: impl FnMut(&mut Expr, Location, String)) {
    let _: ControlFlow<()> = visit_expressions_mut(ast, |expr| {
        if let Expr::Value(value) = expr
            && let Value::Placeholder(name) = &value.value
        {
            let (at, name) = (value.span.start, name.clone());
            visit(expr, at, name);
        }
        ControlFlow::Continue(())
    });
}

fn mismatch(wanted: usize, given: usize) -> Error {
    let parameters = match wanted {
        0 => "no parameters".to_owned(),
        1 => "1 parameter".to_owned(),
        many => format!("{many} parameters"),
    };
    let values = match given {
        0 => "no values were given".to_owned(),
        1 => "1 value was given".to_owned(),
        many => format!("{many} values were given"),
    };
    Error::new(
        ErrorKind::InvalidArgument,
        format!("the statement has {parameters}, but {values}"),
    )
}

#[cfg(test)]
mod tests {
    use super::super::parse_statements;
    use super::*;

    fn bound(text: &str, values: &[SqlValue]) -> Result<String> {
        let mut statements = parse_statements(text)?;
        let statement = statements.pop().expect("one statement");
        Ok(statement.bind(values)?.statement.to_string())
    }

    #[test]
    fn values_take_the_places_of_parameters() {
        let text = SqlValue::Text("it's; DROP TABLE t --".to_owned());
        let shown = bound(
            "SELECT a, ? FROM t WHERE b = ? AND c BETWEEN ? AND ? LIMIT ?",
            &[
                SqlValue::Null,
                text,
                SqlValue::Float(1.0),
                SqlValue::Bytes(vec![0, 255]),
                SqlValue::Int(-3),
            ],
        );
        assert_eq!(
            shown.expect("bound"),
            "SELECT a, NULL AS \"?1\" FROM t WHERE b = 'it''s; DROP TABLE t --' AND c BETWEEN 1.0 AND X'00ff' LIMIT -3"
        );
        let shown = bound(
            "EXPLAIN SELECT $2, $1, '?', $2",
            &[SqlValue::Bool(true), SqlValue::Int(7)],
        );
        let shown = shown.expect("bound");
        assert!(
            shown.contains("SELECT 7 AS \"?1\", true AS \"?2\", '?' AS \"'?'\", 7 AS \"?3\""),
            "{shown}"
        );
        let shown = bound(
            "SELECT ?, ?, ?",
            &[
                SqlValue::Date(19_723),
                SqlValue::Timestamp(16_725_225_600_000_001),
                SqlValue::Timestamp(-1_000_000),
            ],
        );
        assert_eq!(
            shown.expect("bound"),
            "SELECT DATE '2024-01-01' AS \"?1\", TIMESTAMP(6) '2500-01-01T00:00:00.000001' AS \"?2\", \
             TIMESTAMP(6) '1969-12-31T23:59:59' AS \"?3\""
        );
        let shown = bound("SELECT -?, +?", &[SqlValue::Int(-5), SqlValue::Float(-0.5)]);
        assert_eq!(
            shown.expect("bound"),
            "SELECT -(-5) AS \"-?\", +(-0.5) AS \"+?\""
        );
    }

    #[test]
    fn other_numbers_of_values_are_refused() {
        let one = [SqlValue::Int(1)];
        for (text, said) in [
            (
                "SELECT 1",
                "the statement has no parameters, but 1 value was given",
            ),
            (
                "SELECT ?, ?",
                "the statement has 2 parameters, but 1 value was given",
            ),
        ] {
            assert_eq!(bound(text, &one).expect_err(text).to_string(), said);
        }
        let none = bound("SELECT ?", &[]).expect_err("no value").to_string();
        assert!(
            none.contains("1 parameter, but no values were given"),
            "{none}"
        );
        assert!(bound("SELECT $1, ?", &one).is_err());
        assert!(bound("SELECT $0", &one).is_err());
        assert!(bound("SELECT :name", &one).is_err());
        assert!(bound("SELECT '?'", &[]).is_ok());
    }
}
