//! Refuses what the engine would compute for other rows of the outer query.

use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{
    Aggregate, Expr, Join, JoinType, Limit, LogicalPlan, SkipType, SubqueryAlias,
};

use super::levels::{Known, any_node, is_correlated_with, is_outer};
use super::{has_one_row, lateral};

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
    check_part(plan, is_top, role, &mut Known::new())
}

fn check_part<'a>(
    plan: &'a LogicalPlan,
    is_top: bool,
    role: Role,
    known: &mut Known<'a>,
) -> Result<()> {
    if !is_correlated_with(plan, known)? {
        return Ok(());
    }
    match plan {
        LogicalPlan::Projection(_) | LogicalPlan::Sort(_) => {
            check_inputs(plan, is_top, role, known)
        }
        LogicalPlan::SubqueryAlias(alias) => {
            check_inputs(plan, is_top, role, known)?;
            match role != Role::Unknown && loses_column(alias, known)? {
                true => plan_err!(
                    "a query in the FROM clause of a subquery compares a column of the outer query with one that it does not \
                     return: select this column and group by it, or write a join"
                ),
                false => Ok(()),
            }
        }
        LogicalPlan::Distinct(_) if role.is_one_row() && !has_one_row(plan) => refuse("DISTINCT"),
        LogicalPlan::Filter(filter) => {
            let is_own = !is_outer(&filter.predicate, known)?;
            let is_top = is_top && is_own && role == Role::Unknown;
            check_inputs(plan, is_top, role, known)
        }
        LogicalPlan::Limit(limit) => match role {
            // The engine refuses it.
            Role::Unknown | Role::Value | Role::Lateral => Ok(()),
            Role::Exists if is_top && skips_nothing(limit)? => {
                check_inputs(plan, true, role, known)
            }
            _ => refuse("LIMIT or OFFSET"),
        },
        LogicalPlan::Window(window) if is_correlated_with(&window.input, known)? => {
            refuse("a window function")
        }
        LogicalPlan::Aggregate(aggregate) if has_total(aggregate) => {
            let is_kept = is_top && role.is_one_row() && aggregate.group_expr.is_empty();
            if !is_kept && is_correlated_with(&aggregate.input, known)? {
                return refuse("an aggregate without GROUP BY");
            }
            check_inputs(plan, false, role, known)
        }
        LogicalPlan::Join(join) => check_join(join, role, known),
        _ => check_inputs(plan, false, role, known),
    }
}

fn check_join<'a>(join: &'a Join, role: Role, known: &mut Known<'a>) -> Result<()> {
    let pairs = join.on.iter().flat_map(|(left, right)| [left, right]);
    for condition in pairs.chain(&join.filter) {
        if is_outer(condition, known)? {
            return plan_err!(
                "the ON clause of an outer join in a subquery cannot name columns of the outer query: name them in the \
                 WHERE clause of the subquery, if that means the same, or write a join"
            );
        }
    }
    let (left, right) = keeps_sides(join.join_type);
    let sides = [
        (&join.left, &join.right, left),
        (&join.right, &join.left, right),
    ];
    for (side, other, is_kept) in sides {
        let is_lateral = lateral(side).is_some();
        if !is_kept && !is_lateral && is_correlated_with(side, known)? {
            return plan_err!(
                "a query on the side of an outer join whose rows may be missing cannot name columns of the outer query: \
                 name them in the WHERE clause of the subquery, if that means the same, or write a join"
            );
        }
        let before = known.len();
        if is_lateral {
            known.push(other.schema());
        }
        let checked = check_part(side, false, role, known);
        known.truncate(before);
        checked?;
    }
    Ok(())
}

/// Whether a query in FROM has a correlated condition of a column that it does not return.
fn loses_column<'a>(alias: &'a SubqueryAlias, known: &mut Known<'a>) -> Result<bool> {
    any_node(&alias.input, known, &mut |node, known| match node {
        LogicalPlan::Filter(filter) if is_outer(&filter.predicate, known)? => {
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

fn check_inputs<'a>(
    plan: &'a LogicalPlan,
    is_top: bool,
    role: Role,
    known: &mut Known<'a>,
) -> Result<()> {
    plan.inputs()
        .into_iter()
        .try_for_each(|input| check_part(input, is_top, role, known))
}

fn skips_nothing(limit: &Limit) -> Result<bool> {
    Ok(matches!(limit.get_skip_type()?, SkipType::Literal(0)))
}

/// Whether the aggregate may have a row for an input without rows.
pub(in crate::checked) fn has_total(aggregate: &Aggregate) -> bool {
    matches!(aggregate.group_expr.as_slice(), [] | [Expr::GroupingSet(_)])
}

fn refuse<T>(what: &str) -> Result<T> {
    plan_err!(
        "{what} inside of a subquery that names columns of the outer query is not supported here: write a join with a \
         query that has GROUP BY these columns"
    )
}
