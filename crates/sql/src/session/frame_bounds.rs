//! Constants of window functions: offsets of frames, and those of `lag`, `lead` and `nth_value`.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Interval, UnaryOperator,
    Value, WindowFrameBound, WindowType,
};
use ostrakon_cell::{Error, ErrorKind, Result};

use super::walk::visit_expressions;

/// Writes `INTERVAL 1 DAY` in a frame as `INTERVAL '1' DAY`, which is the only form that the engine reads there.
///
/// # Errors
/// An offset that is not a constant.
pub(super) fn quote_intervals(call: &mut Function) -> Result<()> {
    let Some(WindowType::WindowSpec(window)) = &mut call.over else {
        return Ok(());
    };
    let Some(frame) = &mut window.window_frame else {
        return Ok(());
    };
    for bound in std::iter::once(&mut frame.start_bound).chain(&mut frame.end_bound) {
        let (WindowFrameBound::Preceding(Some(offset)) | WindowFrameBound::Following(Some(offset))) =
            bound
        else {
            continue;
        };
        if !is_constant(offset) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "an offset of a frame is a constant, as in ROWS 3 PRECEDING or RANGE INTERVAL '1 day' PRECEDING",
            )
            .with("offset", offset));
        }
        if let Expr::Interval(Interval { value, .. }) = &mut **offset
            && let Some(number) = number(value)
        {
            **value = Expr::value(Value::SingleQuotedString(number));
        }
    }
    Ok(())
}

/// A number as it is written.
fn number(value: &Expr) -> Option<String> {
    match value {
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => number(expr).map(|number| format!("-{number}")),
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => Some(number.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn is_constant(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |part| match part {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Subquery(_) => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_continue()
}

/// Checks that functions of windows which take a number of rows have it as a constant.
///
/// # Errors
/// A column or a query is in its place.
pub(super) fn check_offsets(call: &Function) -> Result<()> {
    let name = call.name.to_string().to_ascii_lowercase();
    if call.over.is_none() || !matches!(name.as_str(), "lag" | "lead" | "nth_value") {
        return Ok(());
    }
    let FunctionArguments::List(list) = &call.args else {
        return Ok(());
    };
    for (at, argument) in list.args.iter().enumerate().skip(1) {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) = argument else {
            continue;
        };
        // The engine takes it for 0. NULL as a default is one.
        if at == 1 && matches!(value, Expr::Value(value) if value.value == Value::Null) {
            let advice =
                "the second argument of lag, lead and nth_value is a number of rows, not NULL";
            return Err(Error::invalid(advice).with("function", name));
        }
        if !is_constant(value) {
            let advice = match name.as_str() {
                "nth_value" => {
                    "the number of nth_value is a constant: for others, number the rows with row_number(), and join the query \
                     with itself"
                }
                _ => {
                    "the offset and the default of lag and lead are constants: for another offset, number the rows with \
                     row_number(), and join the query with itself ON b.n = a.n - a.offset; for another default, write CASE \
                     WHEN row_number() OVER (…) > 1 THEN lag(x) OVER (…) ELSE y END"
                }
            };
            return Err(Error::new(ErrorKind::Unsupported, advice).with("argument", value));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::parse_statements;

    #[test]
    fn numbers_of_intervals_are_quoted_in_frames_alone() {
        let text = "SELECT sum(x) OVER (ORDER BY t RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND INTERVAL 2.5 HOUR FOLLOWING) \
                    AS s, t + INTERVAL 1 DAY AS u FROM v";
        let expected = "SELECT sum(x) OVER (ORDER BY t RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND INTERVAL '2.5' HOUR \
                        FOLLOWING) AS s, t + INTERVAL 1 DAY AS u FROM v";
        let parsed = parse_statements(text).expect(text);
        let shown = parsed.first().expect(text).statement.to_string();
        assert_eq!(shown, expected);
    }
}
