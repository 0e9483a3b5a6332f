//! `CAST(q.t AS DATE) = p.d` in a subquery below an aggregate, where `p` is of the outer query.
//!
//! The engine groups the subquery by the column on its side of the condition. It takes a cast for that column, and would
//! return a group for each `q.t`; it refuses other computed values. So what is computed becomes a column.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    BinaryExpr, Expr, Filter, LogicalPlan, LogicalPlanBuilder, Operator, Subquery,
};

/// The subquery with columns for the computed sides of its correlated equalities, if it has an aggregate.
pub(super) fn with_columns(
    subquery: Subquery,
    number: &mut usize,
) -> Result<Transformed<Subquery>> {
    let plan = &subquery.subquery;
    if !plan.exists(|node| Ok(matches!(node, LogicalPlan::Aggregate(_))))? {
        return Ok(Transformed::no(subquery));
    }
    let changed = LogicalPlan::clone(plan).transform_down(|node| match node {
        LogicalPlan::Filter(filter) => of_filter(filter, number),
        node => Ok(Transformed::no(node)),
    })?;
    let plan = match changed.transformed {
        true => changed.data.recompute_schema()?,
        false => return Ok(Transformed::no(subquery)),
    };
    Ok(Transformed::yes(subquery.with_plan(Arc::new(plan))))
}

fn of_filter(filter: Filter, number: &mut usize) -> Result<Transformed<LogicalPlan>> {
    let mut computed = Vec::new();
    let mut column_of = |side: Expr| match is_computed(&side) {
        true => {
            *number += 1;
            let name = format!("__matched_{number}");
            computed.push(side.alias(&name));
            Expr::Column(Column::new_unqualified(name))
        }
        false => side,
    };
    let parts = split_conjunction_owned(filter.predicate).into_iter();
    let parts = parts.map(|part| match part {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Eq,
            right,
        }) if is_outer(&left) || is_outer(&right) => {
            let (left, right) = (column_of(*left), column_of(*right));
            left.eq(right)
        }
        part => part,
    });
    let parts: Vec<Expr> = parts.collect();
    let predicate = conjunction(parts).unwrap_or_else(|| datafusion::logical_expr::lit(true));
    if computed.is_empty() {
        let filter = Filter::try_new(predicate, filter.input)?;
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    }
    let columns = filter.input.schema().columns().into_iter();
    let columns = columns.map(Expr::Column).chain(computed);
    let input = LogicalPlanBuilder::from(Arc::unwrap_or_clone(filter.input))
        .project(columns)?
        .build()?;
    let filter = Filter::try_new(predicate, Arc::new(input))?;
    Ok(Transformed::yes(LogicalPlan::Filter(filter)))
}

/// Whether a side of an equality is of the outer query alone.
fn is_outer(side: &Expr) -> bool {
    side.contains_outer() && !side.any_column_refs()
}

/// Whether a side of an equality is computed from columns of the subquery alone.
fn is_computed(side: &Expr) -> bool {
    !matches!(side, Expr::Column(_)) && side.any_column_refs() && !side.contains_outer()
}
