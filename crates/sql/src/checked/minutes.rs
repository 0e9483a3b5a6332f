//! Times without seconds, such as `'2026-01-02 03:04'`, which the engine does not read.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;

/// Adds the seconds where a text of a statement becomes a time. It runs once the engine has made the types equal.
#[derive(Debug)]
pub(super) struct MinutesOfTimes;

impl AnalyzerRule for MinutesOfTimes {
    fn name(&self) -> &'static str {
        "minutes_of_times"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_up_with_subqueries(|plan| {
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let changed = expr.transform_up(|expr| Ok(with_seconds(expr)))?;
                Ok(changed.update_data(|expr| name.restore(expr)))
            })
        })?;
        Ok(changed.data)
    }
}

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
