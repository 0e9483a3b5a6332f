//! The engine leaves `a = a` out of the conditions of a subquery if `a` names outer columns, although it is NULL where `a`
//! is NULL.

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, Filter, LogicalPlan, Operator, lit};

/// Writes `a = a IS TRUE`, which a filter takes for the same.
pub(super) fn keep(plan: Transformed<LogicalPlan>) -> Result<Transformed<LogicalPlan>> {
    plan.transform_data(|plan| match plan {
        LogicalPlan::Filter(filter) => kept(filter),
        plan => Ok(Transformed::no(plan)),
    })
}

fn kept(filter: Filter) -> Result<Transformed<LogicalPlan>> {
    let mut changed = false;
    let parts = split_conjunction_owned(filter.predicate);
    let parts = parts.into_iter().map(|part| match is_left_out(&part) {
        true => {
            changed = true;
            part.is_true()
        }
        false => part,
    });
    let all = conjunction(parts.collect::<Vec<_>>()).unwrap_or_else(|| lit(true));
    let filter = LogicalPlan::Filter(Filter::try_new(all, filter.input)?);
    Ok(Transformed::new_transformed(filter, changed))
}

fn is_left_out(condition: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr {
        left,
        op: Operator::Eq,
        right,
    }) = condition
    else {
        return false;
    };
    left == right && condition.contains_outer()
}
