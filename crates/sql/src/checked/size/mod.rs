//! What a call of a function returns for one batch is a share of the session's memory at most.
//!
//! The query engine counts the memory of sorts, joins and groups, and not that of values. A short statement could ask
//! for any number of bytes (`repeat('x', 2000000000)`), and an allocation that fails ends the process.

mod concat;
mod estimate;
mod limited;
mod literals;

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::execution::FunctionRegistry;
use datafusion::functions::core::{named_struct, r#struct};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawDictionaryExpr};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, ScalarUDF};
use datafusion::optimizer::AnalyzerRule;
use datafusion::prelude::SessionContext;

pub(crate) use self::literals::rows_at_once;

use super::expressions::replace_in;

use self::concat::ConcatOperator;
use self::estimate::Growth;
use self::limited::Limited;

/// A call may return this part of the session's memory, or the least limit if that is more.
const SHARE: usize = 4;
const LEAST_LIMIT: usize = 1 << 20;

/// The most bytes that a call may return, of a session with so much memory.
pub(crate) fn limit_of(memory_bytes: usize) -> usize {
    (memory_bytes / SHARE).max(LEAST_LIMIT)
}

/// Limits the functions of a session, and the operator `||`.
pub(super) fn register(context: &SessionContext, limit: usize) {
    for name in estimate::NAMES {
        // Arguments of table functions are computed before there is a plan.
        if let (Some(growth), Ok(function)) = (Growth::of(name), context.udf(name)) {
            context.register_udf(ScalarUDF::from(Limited::new(function, growth, limit)));
        }
    }
    context.add_analyzer_rule(Arc::new(LimitedSizes {
        limit,
        concat: Arc::new(ScalarUDF::from(ConcatOperator::new(limit))),
    }));
}

/// Plans `struct(…)` with the limited functions. The engine's planner takes its own, and looks at the types of what is made
/// of them before any rule.
#[derive(Debug)]
pub(crate) struct StructPlanner {
    limit: usize,
}

impl StructPlanner {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit }
    }

    fn call(&self, function: Arc<ScalarUDF>, args: Vec<Expr>) -> Expr {
        let limited = Limited::new(function, Growth::Concat, self.limit);
        let function = Arc::new(ScalarUDF::from(limited));
        Expr::ScalarFunction(ScalarFunction::new_udf(function, args))
    }
}

impl ExprPlanner for StructPlanner {
    fn plan_dictionary_literal(
        &self,
        expr: RawDictionaryExpr,
        _: &DFSchema,
    ) -> Result<PlannerResult<RawDictionaryExpr>> {
        let pairs = expr.keys.into_iter().zip(expr.values);
        let args = pairs.flat_map(|(key, value)| [key, value]).collect();
        Ok(PlannerResult::Planned(self.call(named_struct(), args)))
    }

    fn plan_struct_literal(
        &self,
        args: Vec<Expr>,
        is_named: bool,
    ) -> Result<PlannerResult<Vec<Expr>>> {
        let function = match is_named {
            true => named_struct(),
            false => r#struct(),
        };
        Ok(PlannerResult::Planned(self.call(function, args)))
    }
}

/// Replaces functions that the planner does not take from the session, such as that of `OVERLAY(… PLACING …)`, and the
/// operator `||`.
#[derive(Debug)]
struct LimitedSizes {
    limit: usize,
    concat: Arc<ScalarUDF>,
}

impl AnalyzerRule for LimitedSizes {
    fn name(&self) -> &'static str {
        "limited_sizes"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let replaced = plan.transform_up_with_subqueries(|plan| {
            let changed = replace_in(plan, |expr| Ok(self.limited(expr)))?;
            match changed.transformed {
                true => changed.map_data(LogicalPlan::recompute_schema),
                false => Ok(changed),
            }
        })?;
        Ok(replaced.data)
    }
}

impl LimitedSizes {
    fn limited(&self, expr: Expr) -> Transformed<Expr> {
        match expr {
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: Operator::StringConcat,
                right,
            }) => {
                let function = ScalarFunction::new_udf(self.concat.clone(), vec![*left, *right]);
                Transformed::yes(Expr::ScalarFunction(function))
            }
            Expr::ScalarFunction(call) => {
                let is_limited = call.func.inner().downcast_ref::<Limited>().is_some();
                match Growth::of(call.func.name()).filter(|_| !is_limited) {
                    Some(growth) => {
                        let limited = Limited::new(call.func, growth, self.limit);
                        let function = Arc::new(ScalarUDF::from(limited));
                        let function = ScalarFunction::new_udf(function, call.args);
                        Transformed::yes(Expr::ScalarFunction(function))
                    }
                    None => Transformed::no(Expr::ScalarFunction(call)),
                }
            }
            other => Transformed::no(other),
        }
    }
}

/// The error of a call that would return too much.
pub(super) fn too_large(function: &str, bytes: u64, limit: usize) -> DataFusionError {
    DataFusionError::ResourcesExhausted(format!(
        "`{function}` would return {bytes} bytes for one batch of rows; the limit is {limit}, a quarter of the memory of \
         the session"
    ))
}
