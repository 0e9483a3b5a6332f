//! The constants of a plan, which the engine copies for each row of a batch.

use std::ops::ControlFlow;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// The most centroids of an approximate percentile: the engine reserves memory for all of them.
const CENTROIDS_MAX: u64 = 10_000;

/// How many rows of a plan fit a limit, if each has its own copies of the constants.
///
/// # Errors
/// An aggregate that reserves too much memory.
pub(crate) fn rows_at_once(plan: &LogicalPlan, limit: usize) -> Result<usize> {
    let mut bytes = 0_usize;
    plan.apply_with_subqueries(|plan| {
        // These are rows already.
        if !matches!(plan, LogicalPlan::Values(_)) {
            plan.apply_expressions(|expr| {
                expr.apply(|expr| {
                    Ok(match constants(expr, &mut bytes)? {
                        ControlFlow::Continue(()) => TreeNodeRecursion::Continue,
                        ControlFlow::Break(()) => TreeNodeRecursion::Jump,
                    })
                })
            })?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok((limit / bytes.max(1)).max(1))
}

/// Adds the bytes of a constant; breaks if what is inside of an expression is not copied for each row.
fn constants(expr: &Expr, bytes: &mut usize) -> Result<ControlFlow<()>> {
    match expr {
        Expr::Literal(value, _) => {
            *bytes = bytes.saturating_add(value.size().saturating_sub(size_of::<ScalarValue>()));
        }
        Expr::InList(list)
            if list
                .list
                .iter()
                .all(|item| matches!(item, Expr::Literal(..))) =>
        {
            return Ok(ControlFlow::Break(()));
        }
        Expr::AggregateFunction(AggregateFunction { func, params })
            if func.name().starts_with("approx_percentile_cont") =>
        {
            for arg in params.args.iter().skip(1) {
                if centroids(arg).is_some_and(|many| many > CENTROIDS_MAX) {
                    return plan_err!("{} takes at most {CENTROIDS_MAX} centroids", func.name());
                }
            }
        }
        _ => {}
    }
    Ok(ControlFlow::Continue(()))
}

fn centroids(arg: &Expr) -> Option<u64> {
    match arg {
        Expr::Literal(ScalarValue::UInt64(many), _) => *many,
        Expr::Literal(ScalarValue::Int64(many), _) => many.and_then(|many| many.try_into().ok()),
        Expr::Cast(cast) => centroids(&cast.expr),
        Expr::Alias(alias) => centroids(&alias.expr),
        _ => None,
    }
}
