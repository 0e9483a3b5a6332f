//! Functions that number rows. Their results are BIGINT, as in other databases: the engine's are unsigned, and it refuses
//! `-rank() OVER (…)`. They have a frame of rows, which does not matter to them: for another one the engine computes with
//! the values of ORDER BY, which it cannot do with bytes.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::planner::{
    ExprPlanner, PlannerResult, RawAggregateExpr, RawWindowExpr,
};
use datafusion::logical_expr::{Expr, WindowFrame, cast};

/// The functions that return unsigned numbers whatever their arguments are.
const UNSIGNED: [&str; 6] = [
    "approx_distinct",
    "dense_rank",
    "ntile",
    "rank",
    "regr_count",
    "row_number",
];

/// The functions of windows that have one result whatever the frame is.
const WITHOUT_FRAME: [&str; 8] = [
    "cume_dist",
    "dense_rank",
    "lag",
    "lead",
    "ntile",
    "percent_rank",
    "rank",
    "row_number",
];

/// Plans these functions with a signed result, and a frame of rows.
#[derive(Debug)]
pub(crate) struct SignedNumbers;

impl ExprPlanner for SignedNumbers {
    fn plan_aggregate(&self, raw: RawAggregateExpr) -> Result<PlannerResult<RawAggregateExpr>> {
        if !UNSIGNED.contains(&raw.func.name()) {
            return Ok(PlannerResult::Original(raw));
        }
        let call = AggregateFunction::new_udf(
            raw.func,
            raw.args,
            raw.distinct,
            raw.filter,
            raw.order_by,
            raw.null_treatment,
        );
        Ok(signed(Expr::AggregateFunction(call)))
    }

    fn plan_window(&self, mut raw: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
        if WITHOUT_FRAME.contains(&raw.func_def.name()) {
            raw.window_frame = WindowFrame::new(Some(true));
        }
        if !UNSIGNED.contains(&raw.func_def.name()) {
            return Ok(PlannerResult::Original(raw));
        }
        let call = WindowFunction {
            fun: raw.func_def,
            params: WindowFunctionParams {
                args: raw.args,
                partition_by: raw.partition_by,
                order_by: raw.order_by,
                window_frame: raw.window_frame,
                filter: raw.filter,
                null_treatment: raw.null_treatment,
                distinct: raw.distinct,
            },
        };
        Ok(signed(Expr::from(call)))
    }
}

fn signed<T>(call: Expr) -> PlannerResult<T> {
    PlannerResult::Planned(cast(call, DataType::Int64))
}
