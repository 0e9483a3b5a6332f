//! Window functions that the engine computes wrongly, refuses, or computes in memory that it does not count.

mod choice;
mod defaults;
mod distinct;
mod empty;
mod growing;
mod in_frame;
mod in_window;
mod maker;
mod median;
mod memory;
mod nodes;
mod ranges;
mod separate;
mod shifts;
mod spans;

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::expr::{NullTreatment, WindowFunction};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan, WindowFrame, WindowFunctionDefinition};
use datafusion::optimizer::AnalyzerRule;

use super::expressions::replace_in;

pub(super) use defaults::DEFAULTS;
pub(crate) use memory::WINDOW;
pub(super) use nodes::counted;
pub(super) use ranges::RANGE_KEYS;
pub(super) use separate::SeparateWindows;

/// Replaces such functions, once the engine has made the types equal.
pub(super) struct WindowFunctions {
    pool: Arc<dyn MemoryPool>,
}

impl WindowFunctions {
    /// The functions count their memory in the pool.
    pub(super) fn new(pool: Arc<dyn MemoryPool>) -> Self {
        Self { pool }
    }

    fn replace(&self, expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
        let Expr::WindowFunction(mut function) = expr else {
            return Transformed::no(expr);
        };
        let replaced = self.replaced(&function, schema);
        let is_replaced = replaced.is_some();
        if let Some(replaced) = replaced {
            function.fun = replaced;
        }
        Transformed::new_transformed(Expr::WindowFunction(function), is_replaced)
    }

    fn replaced(
        &self,
        function: &WindowFunction,
        schema: &DFSchema,
    ) -> Option<WindowFunctionDefinition> {
        let params = &function.params;
        match &function.fun {
            WindowFunctionDefinition::AggregateUDF(aggregate) => {
                choice::for_windows(aggregate, params, schema, &self.pool)
                    .map(WindowFunctionDefinition::AggregateUDF)
            }
            WindowFunctionDefinition::WindowUDF(window) => {
                let ignores_nulls = params.null_treatment == Some(NullTreatment::IgnoreNulls);
                let replaced = match window.name() {
                    "lag" | "lead" if ignores_nulls => shifts::over_partitions(window),
                    _ if is_growing(&params.window_frame) => growing::for_growing_frames(window),
                    _ => None,
                };
                replaced.map(WindowFunctionDefinition::WindowUDF)
            }
        }
    }
}

/// Whether a frame begins with its partition and ends before it, so that rows come and none leaves. Reversed, it would end
/// with the partition.
fn is_growing(frame: &WindowFrame) -> bool {
    frame.start_bound.is_unbounded() && !frame.end_bound.is_unbounded()
}

impl AnalyzerRule for WindowFunctions {
    fn name(&self) -> &'static str {
        "window_functions"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_up_with_subqueries(|plan| {
            let schema = merge_schema(&plan.inputs());
            replace_in(plan, |expr| Ok(self.replace(expr, &schema)))
        })?;
        Ok(changed.data)
    }
}

impl fmt::Debug for WindowFunctions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WindowFunctions").finish_non_exhaustive()
    }
}
