//! Window functions that the engine computes wrongly, or refuses.

mod in_frame;
mod moving;
mod ranges;
mod separate;
mod spans;
mod whole;

use datafusion::common::DFSchema;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::{NullTreatment, WindowFunction};
use datafusion::logical_expr::{Expr, WindowFunctionDefinition};

use super::expressions::ExpressionRule;

pub(super) use ranges::RANGE_KEYS;
pub(super) use separate::SeparateWindows;

/// Replaces such functions, once the engine has made the types equal.
pub(super) const WINDOW_FUNCTIONS: ExpressionRule = ExpressionRule {
    name: "window_functions",
    replace: |expr, schema| {
        let Expr::WindowFunction(mut function) = expr else {
            return Ok(Transformed::no(expr));
        };
        let replaced = replaced(&function, schema);
        let is_replaced = replaced.is_some();
        if let Some(replaced) = replaced {
            function.fun = replaced;
        }
        Ok(Transformed::new_transformed(
            Expr::WindowFunction(function),
            is_replaced,
        ))
    },
};

fn replaced(function: &WindowFunction, schema: &DFSchema) -> Option<WindowFunctionDefinition> {
    let params = &function.params;
    match &function.fun {
        WindowFunctionDefinition::AggregateUDF(aggregate) => {
            moving::for_moving_frames(aggregate, params, schema)
                .map(WindowFunctionDefinition::AggregateUDF)
        }
        WindowFunctionDefinition::WindowUDF(window) => {
            let ignores_nulls = params.null_treatment == Some(NullTreatment::IgnoreNulls);
            (ignores_nulls && matches!(window.name(), "lag" | "lead"))
                .then(|| whole::over_partitions(window))?
                .map(WindowFunctionDefinition::WindowUDF)
        }
    }
}
