//! `a JOIN b ON b.id = p.id` in a subquery, where `p` is of the outer query.
//!
//! The engine pulls conditions of WHERE out of a subquery, but looks at those of joins later, under names that it has
//! joined already. So conditions of inner joins that name outer columns stand above the join, which is the same.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{NullEquality, Result};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Filter, Join, JoinType, LogicalPlan};

/// The plan of a subquery with such conditions above their joins.
pub(super) fn raised(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    plan.transform_up(|node| match node {
        LogicalPlan::Join(join) if join.join_type == JoinType::Inner && names_outer(&join) => {
            raise(join).map(Transformed::yes)
        }
        node => Ok(Transformed::no(node)),
    })
}

/// Whether the condition of a join names columns of an outer query.
fn names_outer(join: &Join) -> bool {
    let mut pairs = join.on.iter().flat_map(|(left, right)| [left, right]);
    join.filter.as_ref().is_some_and(Expr::contains_outer) || pairs.any(Expr::contains_outer)
}

fn raise(mut join: Join) -> Result<LogicalPlan> {
    let conditions = join
        .filter
        .take()
        .map_or_else(Vec::new, split_conjunction_owned);
    let (mut raised, kept): (Vec<_>, Vec<_>) =
        conditions.into_iter().partition(Expr::contains_outer);
    join.filter = conjunction(kept);
    if join.null_equality == NullEquality::NullEqualsNothing {
        let pairs = std::mem::take(&mut join.on).into_iter();
        let (outer, kept): (Vec<_>, Vec<_>) =
            pairs.partition(|(left, right)| left.contains_outer() || right.contains_outer());
        raised.extend(outer.into_iter().map(|(left, right)| left.eq(right)));
        join.on = kept;
    }
    let join = Arc::new(LogicalPlan::Join(join));
    match conjunction(raised) {
        Some(raised) => Filter::try_new(raised, join).map(LogicalPlan::Filter),
        None => Ok(Arc::unwrap_or_clone(join)),
    }
}
