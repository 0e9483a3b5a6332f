//! Filters, written as the rule that pushes them down expects it.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::utils::{conjunction, iter_conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, lit};
use datafusion::optimizer::OptimizerConfig;

use super::kept::Kept;
use crate::checked::rules::Rule;

/// The engine's rule that pushes filters down, except for the conditions that are [`Kept`]. Of the comparisons of a column
/// with literals it keeps the narrowest one, and takes two different equalities for a contradiction: it compares them as
/// texts, reads `2 < x` as `x >= 2`, and takes NULL for the least value. A filter that has just been moved below the
/// projection that names a constant has all of these. So each filter is put in order when the rule comes to it: `2 < x` is
/// `x > 2`, and `x > NULL` false.
pub(in crate::checked) fn push_down(
    rule: &Rule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    if !matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::Join(_)) {
        return rule.rewrite(plan, config);
    }
    let Some((kept, rest)) = Kept::take(&plan)? else {
        return in_order(plan).transform_data(|plan| rule.rewrite(plan, config));
    };
    if !matches!(rest, LogicalPlan::Filter(_) | LogicalPlan::Join(_)) {
        return Ok(Transformed::no(plan));
    }
    let moved = in_order(rest).transform_data(|plan| rule.rewrite(plan, config))?;
    match moved.transformed {
        true => kept.put_back(moved),
        false => Ok(Transformed::no(plan)),
    }
}

/// A filter, and those directly below it, which the rule joins with it.
fn in_order(plan: LogicalPlan) -> Transformed<LogicalPlan> {
    let LogicalPlan::Filter(mut filter) = plan else {
        return Transformed::no(plan);
    };
    let mut is_changed = false;
    if iter_conjunction(&filter.predicate).any(|part| turned(part).is_some()) {
        let parts = split_conjunction_owned(filter.predicate).into_iter();
        let parts = parts.map(|part| turned(&part).unwrap_or(part));
        filter.predicate = conjunction(parts).unwrap_or_else(|| lit(true));
        is_changed = true;
    }
    if let LogicalPlan::Filter(_) = *filter.input {
        let below = in_order(Arc::unwrap_or_clone(filter.input));
        is_changed |= below.transformed;
        filter.input = Arc::new(below.data);
    }
    Transformed::new_transformed(LogicalPlan::Filter(filter), is_changed)
}

/// What stands for a comparison in a filter, if it has to be another one.
fn turned(condition: &Expr) -> Option<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition else {
        return None;
    };
    if !matches!(
        op,
        Operator::Eq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq
    ) {
        return None;
    }
    let (column, op, value, is_turned) = match (&**left, &**right) {
        (Expr::Column(_), Expr::Literal(value, metadata)) => (left, *op, value, metadata.is_some()),
        (Expr::Literal(value, _), Expr::Column(_)) => (right, op.swap()?, value, true),
        _ => return None,
    };
    if value.is_null() {
        return Some(lit(false));
    }
    is_turned.then(|| {
        Expr::BinaryExpr(BinaryExpr {
            left: column.clone(),
            op,
            right: Box::new(Expr::Literal(value.clone(), None)),
        })
    })
}
