//! The default of `lag` and `lead`. The engine casts it to the type of the column, and loses what that type does not have:
//! of 1.5, a column of integers gets 1.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::plan_err;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, WindowFunctionDefinition};

use crate::checked::expressions::ExpressionRule;

/// Refuses defaults that the type of the column does not have.
pub(in crate::checked) const DEFAULTS: ExpressionRule = ExpressionRule {
    name: "defaults_of_lag",
    replace: |expr, schema| {
        if let Expr::WindowFunction(function) = &expr
            && let Some((column, default)) = default_of(function)
            // What has no type yet is refused by the engine.
            && let (Ok(of_column), Ok(of_default)) = (column.get_type(schema), default.get_type(schema))
            && !is_kept(default, &of_default, &of_column)
        {
            let shown = match default {
                Expr::Literal(value, _) => value.to_string(),
                other => other.to_string(),
            };
            return plan_err!(
                "the default of {} is {shown}, which the type of its first argument does not have: cast that argument, as in \
                 lag(CAST(x AS DOUBLE), 1, 1.5)",
                function.fun.name()
            );
        }
        Ok(Transformed::no(expr))
    },
};

/// The column and the default of a call that has one.
fn default_of(function: &WindowFunction) -> Option<(&Expr, &Expr)> {
    let WindowFunctionDefinition::WindowUDF(window) = &function.fun else {
        return None;
    };
    match function.params.args.as_slice() {
        [column, _, default] if matches!(window.name(), "lag" | "lead") => Some((column, default)),
        _ => None,
    }
}

/// Whether a column of whole or decimal numbers has the default. To other types the engine casts what it can, and a number
/// of fewer digits, or a time, is what the column has of it.
fn is_kept(default: &Expr, of_default: &DataType, of_column: &DataType) -> bool {
    if !of_column.is_numeric() || of_column.is_floating() || !of_default.is_numeric() {
        return true;
    }
    match default {
        Expr::Literal(value, _) => value
            .cast_to(of_column)
            .and_then(|there| there.cast_to(of_default))
            .is_ok_and(|back| back == *value),
        // Not computed yet.
        _ => of_default.is_integer() || of_default == of_column,
    }
}
