//! A key that is repeated in the order of an aggregate, as in `first_value(v ORDER BY k, k DESC)`. The engine leaves the second
//! one out of the order, and not out of the state of the aggregate, which then has one column more than it says.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::expr::Sort;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// Leaves repeated keys out. It runs after the rules that make expressions equal.
#[derive(Debug)]
pub(super) struct RepeatedKeys;

impl OptimizerRule for RepeatedKeys {
    fn name(&self) -> &'static str {
        "repeated_keys"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = plan else {
            return Ok(Transformed::no(plan));
        };
        let names = NamePreserver::new_for_projection();
        let mut changed = false;
        let exprs = aggregate.aggr_expr.iter().cloned().map(|expr| {
            let name = names.save(&expr);
            let shorter = expr.transform_up(|expr| Ok(without_repetition(expr)))?;
            changed |= shorter.transformed;
            Ok(name.restore(shorter.data))
        });
        let exprs: Vec<Expr> = exprs.collect::<Result<_>>()?;
        Ok(match changed {
            true => Transformed::yes(LogicalPlan::Aggregate(Aggregate::try_new(
                aggregate.input,
                aggregate.group_expr,
                exprs,
            )?)),
            false => Transformed::no(LogicalPlan::Aggregate(aggregate)),
        })
    }
}

fn without_repetition(expr: Expr) -> Transformed<Expr> {
    let Expr::AggregateFunction(mut function) = expr else {
        return Transformed::no(expr);
    };
    let mut kept: Vec<Sort> = Vec::new();
    for key in &function.params.order_by {
        if !kept.iter().any(|found| found.expr == key.expr) {
            kept.push(key.clone());
        }
    }
    let changed = kept.len() < function.params.order_by.len();
    function.params.order_by = kept;
    Transformed::new_transformed(Expr::AggregateFunction(function), changed)
}
