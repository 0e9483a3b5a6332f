//! Refuses what the engine would compute for other rows of the outer query.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{
    Aggregate, Expr, JoinType, Limit, LogicalPlan, SkipType, SubqueryAlias,
};

use super::{above, has_one_row, lateral};

/// How a subquery is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It is looked at again where it is used.
    Unknown,
    /// `(SELECT …)`: the engine keeps the row of an aggregate without input, also if HAVING removes it.
    Value,
    /// The engine keeps such rows, also those that HAVING removes.
    Lateral,
    Exists,
    /// IN, ANY and ALL.
    Rows,
}

impl Role {
    /// Whether an aggregate without input has its row.
    fn is_one_row(self) -> bool {
        matches!(self, Self::Unknown | Self::Value | Self::Lateral)
    }
}

/// Refuses what the engine would compute for other rows. `is_top` holds as long as nothing above selects rows.
pub(super) fn check(plan: &LogicalPlan, is_top: bool, role: Role) -> Result<()> {
    if !is_correlated(plan)? {
        return Ok(());
    }
    match plan {
        LogicalPlan::Projection(_) | LogicalPlan::Sort(_) => check_inputs(plan, is_top, role),
        LogicalPlan::SubqueryAlias(alias) => {
            check_inputs(plan, is_top, role)?;
            match role != Role::Unknown && loses_column(alias)? {
                true => plan_err!(
                    "a query in the FROM clause of a subquery compares a column of the outer query with one that it does not \
                     return: select this column and group by it, or write a join"
                ),
                false => Ok(()),
            }
        }
        LogicalPlan::Distinct(_) if role.is_one_row() && !has_one_row(plan) => refuse("DISTINCT"),
        LogicalPlan::Filter(filter) => {
            let is_own = !filter.predicate.contains_outer();
            check_inputs(plan, is_top && is_own && role == Role::Unknown, role)
        }
        LogicalPlan::Limit(limit) => match role {
            // The engine refuses it.
            Role::Unknown | Role::Value | Role::Lateral => Ok(()),
            Role::Exists if is_top && skips_nothing(limit)? => check_inputs(plan, true, role),
            _ => refuse("LIMIT or OFFSET"),
        },
        LogicalPlan::Window(window) if is_correlated(&window.input)? => refuse("a window function"),
        LogicalPlan::Aggregate(aggregate) if has_total(aggregate) => {
            let is_kept = is_top && role.is_one_row() && aggregate.group_expr.is_empty();
            if !is_kept && is_correlated(&aggregate.input)? {
                return refuse("an aggregate without GROUP BY");
            }
            check_inputs(plan, false, role)
        }
        LogicalPlan::Join(join) => {
            if above::names_outer(join) {
                return plan_err!(
                    "the ON clause of an outer join in a subquery cannot name columns of the outer query: name them in the \
                     WHERE clause of the subquery, if that means the same, or write a join"
                );
            }
            let (left, right) = keeps_sides(join.join_type);
            for (side, is_kept) in [(&join.left, left), (&join.right, right)] {
                if !is_kept && lateral(side).is_none() && is_correlated(side)? {
                    return plan_err!(
                        "a query on the side of an outer join whose rows may be missing cannot name columns of the outer \
                         query: name them in the WHERE clause of the subquery, if that means the same, or write a join"
                    );
                }
            }
            check_inputs(plan, false, role)
        }
        _ => check_inputs(plan, false, role),
    }
}

/// Whether a query in FROM has a correlated condition of a column that it does not return.
fn loses_column(alias: &SubqueryAlias) -> Result<bool> {
    alias.input.exists(|node| match node {
        LogicalPlan::Filter(filter) if filter.predicate.contains_outer() => {
            let columns = filter.predicate.column_refs();
            let returned = alias.schema.fields();
            Ok(columns.iter().any(|column| {
                let mut names = returned.iter().map(|field| field.name());
                names.all(|name| *name != column.name)
            }))
        }
        _ => Ok(false),
    })
}

/// Whether a condition on the left and on the right side of a join is the same above the join.
pub(super) fn keeps_sides(kind: JoinType) -> (bool, bool) {
    match kind {
        JoinType::Inner => (true, true),
        JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => {
            (true, false)
        }
        JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => {
            (false, true)
        }
        JoinType::Full => (false, false),
    }
}

fn check_inputs(plan: &LogicalPlan, is_top: bool, role: Role) -> Result<()> {
    plan.inputs()
        .into_iter()
        .try_for_each(|input| check(input, is_top, role))
}

fn skips_nothing(limit: &Limit) -> Result<bool> {
    Ok(matches!(limit.get_skip_type()?, SkipType::Literal(0)))
}

/// Whether the aggregate may have a row for an input without rows.
pub(in crate::checked) fn has_total(aggregate: &Aggregate) -> bool {
    matches!(aggregate.group_expr.as_slice(), [] | [Expr::GroupingSet(_)])
}

/// Whether the query names columns of an outer query.
pub(super) fn is_correlated(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply(|node| {
        found |= node.contains_outer_reference();
        Ok(match found {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(found)
}

fn refuse<T>(what: &str) -> Result<T> {
    plan_err!(
        "{what} inside of a subquery that names columns of the outer query is not supported here: write a join with a \
         query that has GROUP BY these columns"
    )
}
