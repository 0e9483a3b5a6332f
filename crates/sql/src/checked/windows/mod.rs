//! Window functions that the engine computes so that answers are lost, or cannot compute.

mod moving;
mod separate;
mod two_stacks;
mod whole;

use datafusion::common::DFSchema;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::{NullTreatment, WindowFunction};
use datafusion::logical_expr::{Expr, WindowFunctionDefinition};

use super::expressions::ExpressionRule;

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
            moving::over_frames(aggregate, params, schema)
                .map(WindowFunctionDefinition::AggregateUDF)
        }
        WindowFunctionDefinition::WindowUDF(window) => {
            let ignores_nulls = params.null_treatment == Some(NullTreatment::IgnoreNulls);
            (ignores_nulls && matches!(window.name(), "lag" | "lead"))
                .then(|| WindowFunctionDefinition::WindowUDF(whole::over_partitions(window)))
        }
    }
}
