//! Which query an outer column belongs to.
//!
//! In a subquery, a query in LATERAL names columns of the relation before it as it names those of the query around the
//! subquery. The former say nothing about the subquery's own rows.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::lateral;

/// The columns of relations that LATERAL may name, within the plan that is looked at.
pub(super) type Known<'a> = Vec<&'a DFSchema>;

/// Whether an expression names a column of a query around the plan.
pub(super) fn is_outer(expr: &Expr, known: &Known<'_>) -> Result<bool> {
    expr.exists(|part| {
        Ok(match part {
            Expr::OuterReferenceColumn(_, column) => {
                !known.iter().any(|schema| schema.has_column(column))
            }
            _ => false,
        })
    })
}

/// Whether an expression of a node does.
pub(super) fn has_outer(node: &LogicalPlan, known: &Known<'_>) -> Result<bool> {
    let mut found = false;
    node.apply_expressions(|expr| {
        found |= is_outer(expr, known)?;
        Ok(match found {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(found)
}

/// Whether `test` holds for a node of the plan.
pub(super) fn any_node<'a>(
    plan: &'a LogicalPlan,
    known: &mut Known<'a>,
    test: &mut dyn FnMut(&'a LogicalPlan, &mut Known<'a>) -> Result<bool>,
) -> Result<bool> {
    if test(plan, known)? {
        return Ok(true);
    }
    if let LogicalPlan::Join(join) = plan {
        for (side, other) in [(&join.left, &join.right), (&join.right, &join.left)] {
            let before = known.len();
            if lateral(side).is_some() {
                known.push(other.schema());
            }
            let found = any_node(side, known, test)?;
            known.truncate(before);
            if found {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    for input in plan.inputs() {
        if any_node(input, known, test)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the plan names columns of a query around it.
pub(super) fn is_correlated(plan: &LogicalPlan) -> Result<bool> {
    is_correlated_with(plan, &mut Known::new())
}

/// The same of a part of a plan.
pub(super) fn is_correlated_with<'a>(plan: &'a LogicalPlan, known: &mut Known<'a>) -> Result<bool> {
    any_node(plan, known, &mut |node, known| has_outer(node, known))
}
