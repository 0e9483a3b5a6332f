//! A key that is repeated in the order of an aggregate, as in `first_value(v ORDER BY k, k DESC)`. The engine leaves the second
//! one out of the order, and not out of the state of the aggregate, which then has one column more than it says.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::Sort;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Aggregate, Expr, ExprSchemable, LogicalPlan};
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
        let schema = aggregate.input.schema().clone();
        let names = NamePreserver::new_for_projection();
        let mut changed = false;
        let exprs = aggregate.aggr_expr.iter().cloned().map(|expr| {
            let name = names.save(&expr);
            let shorter = expr.transform_up(|expr| without_repetition(expr, &schema))?;
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

fn without_repetition(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::AggregateFunction(mut function) = expr else {
        return Ok(Transformed::no(expr));
    };
    let mut seen: Vec<Expr> = Vec::new();
    let mut kept: Vec<Sort> = Vec::new();
    for key in &function.params.order_by {
        let plain = without_casts(key.expr.clone(), schema)?;
        if !seen.contains(&plain) {
            seen.push(plain);
            kept.push(key.clone());
        }
    }
    let changed = kept.len() < function.params.order_by.len();
    function.params.order_by = kept;
    let function = Expr::AggregateFunction(function);
    Ok(Transformed::new_transformed(function, changed))
}

/// The expression without casts to the type that is there already, which the engine leaves out later.
fn without_casts(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let plain = expr.transform_up(|expr| {
        Ok(match expr {
            Expr::Cast(cast)
                if cast
                    .expr
                    .get_type(schema)
                    .is_ok_and(|kind| kind == *cast.field.data_type()) =>
            {
                Transformed::yes(*cast.expr)
            }
            expr => Transformed::no(expr),
        })
    })?;
    Ok(plain.data)
}
