//! Times without seconds, such as `'2026-01-02 03:04'`, which the engine does not read.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::Expr;

use super::expressions::ExpressionRule;

/// Adds the seconds where a text of a statement becomes a time. It runs once the engine has made the types equal.
pub(super) const MINUTES_OF_TIMES: ExpressionRule = ExpressionRule {
    name: "minutes_of_times",
    replace: |expr, _| Ok(with_seconds(expr)),
};

/// The cast of a text without seconds to a time, with seconds.
pub(super) fn with_seconds(mut expr: Expr) -> Transformed<Expr> {
    let (inner, kind) = match &mut expr {
        Expr::Cast(cast) => (&mut cast.expr, cast.field.data_type()),
        Expr::TryCast(cast) => (&mut cast.expr, cast.field.data_type()),
        _ => return Transformed::no(expr),
    };
    let is_time = matches!(kind, DataType::Timestamp(..));
    if let Expr::Literal(
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text)),
        _,
    ) = &mut **inner
        && is_time
        && ends_with_minutes(text)
    {
        text.push_str(":00");
        return Transformed::yes(expr);
    }
    Transformed::no(expr)
}

/// Whether a text is `YYYY-MM-DD HH:MM`, also with a `T`.
fn ends_with_minutes(text: &str) -> bool {
    const PATTERN: &[u8] = b"0000-00-00 00:00";
    let text = text.as_bytes();
    text.len() == PATTERN.len()
        && text.iter().zip(PATTERN).all(|(byte, wanted)| match wanted {
            b'0' => byte.is_ascii_digit(),
            b' ' => matches!(byte, b' ' | b'T' | b't'),
            _ => byte == wanted,
        })
}
