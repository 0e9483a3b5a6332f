//! Subqueries in conditions that the engine joins to the outer query in the wrong way.
//!
//! * `x = ANY (SELECT x FROM t)` in a query of `t`: both sides would be one column.
//! * A query that names columns of the outer query (a correlated one) is evaluated for all rows of the outer query at
//!   once. That moves its conditions to the join. An aggregate without GROUP BY, a window function or a LIMIT below
//!   would then be computed for other rows.
//! * Columns of a relation before LATERAL are not those of the outer query ([`levels`]).
//! * Its conditions in ON stand above the join ([`above`]), and those of queries in FROM above these ([`aliased`]); a
//!   condition below the side of an outer join whose rows may be missing is refused ([`mod@check`]).
//! * An equality of such a query with a computed value becomes one of columns ([`computed`]).
//! * So does one of a column whose name other relations of such a query have, too ([`repeated`]).
//! * What it computes from an aggregate has its value also for rows without a match ([`empty`]).
//! * Its HAVING above an aggregate without GROUP BY is forgotten ([`having`]).
//! * `IN` of such a query, and `IN` whose NULL is not the same as false: as EXISTS ([`membership`]).
//!
//! EXISTS outside of filters is joined by [`marks`].

mod above;
mod aliased;
mod check;
mod computed;
mod empty;
mod having;
mod levels;
mod marks;
mod membership;
mod repeated;

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result, plan_err};
use datafusion::logical_expr::expr::{InSubquery, SetComparison};
use datafusion::logical_expr::utils::{conjunction, merge_schema, split_conjunction_owned};
use datafusion::logical_expr::{
    BinaryExpr, Distinct, Expr, Filter, LogicalPlan, LogicalPlanBuilder, Operator, Sort, Subquery,
    lit,
};
use datafusion::optimizer::AnalyzerRule;

use super::expressions::{replace_in, with_new_schemas};
use check::{Role, check, keeps_sides};
use levels::is_correlated;
use membership::Membership;

pub(super) use check::has_total;

pub(crate) use marks::check_joined;
pub(super) use marks::mark;

/// Corrects subqueries, or refuses them.
#[derive(Debug)]
pub(super) struct Subqueries;

impl AnalyzerRule for Subqueries {
    fn name(&self) -> &'static str {
        "subqueries"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let mut number = 0;
        let plan = with_new_schemas(plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Subquery(subquery) => {
                let subquery = repeated::with_own_names(subquery, &mut number)?;
                Ok(subquery.update_data(LogicalPlan::Subquery))
            }
            plan => Ok(Transformed::no(plan)),
        })?)?;
        with_new_schemas(plan.transform_up_with_subqueries(|plan| replaced(plan, &mut number))?)
    }
}

fn replaced(plan: LogicalPlan, number: &mut usize) -> Result<Transformed<LogicalPlan>> {
    let plan = match plan {
        // One of an expression, too; that is checked again with the expression.
        LogicalPlan::Subquery(subquery) => {
            check(&subquery.subquery, true, Role::Unknown)?;
            let subquery =
                computed::with_columns(subquery, number)?.transform_data(empty::with_values)?;
            return Ok(subquery.update_data(LogicalPlan::Subquery));
        }
        plan => plan,
    };
    if let LogicalPlan::Join(join) = &plan {
        let sides = [&join.left, &join.right].into_iter();
        let queries: Vec<_> = sides.filter_map(|side| lateral(side)).collect();
        for query in &queries {
            check(&query.subquery, true, Role::Lateral)?;
        }
        if !queries.is_empty() && !has_subquery(&plan)? {
            // The engine adds columns to such a join, which plans above do not expect.
            let columns = join.schema.columns().into_iter().map(Expr::Column);
            let plan = LogicalPlanBuilder::from(plan.clone()).project(columns)?;
            return plan.build().map(Transformed::yes);
        }
    }
    if !has_subquery(&plan)? {
        return Ok(Transformed::no(plan));
    }
    let schema = merge_schema(&plan.inputs());
    if let LogicalPlan::Filter(filter) = plan {
        let parts = split_conjunction_owned(filter.predicate).into_iter();
        let parts = parts.map(|part| condition(part, &schema, number));
        let parts: Vec<Expr> = parts.collect::<Result<_>>()?;
        let all = conjunction(parts).unwrap_or_else(|| lit(true));
        let filter = Filter::try_new(all, filter.input)?;
        return Ok(Transformed::yes(LogicalPlan::Filter(filter)));
    }
    if let LogicalPlan::Sort(sort) = plan {
        return sorted(sort, &schema, number).map(Transformed::yes);
    }
    replace_in(plan, |expr| corrected(expr, Null::Kept, &schema, number))
}

/// A query that a side of a join is.
fn lateral(side: &LogicalPlan) -> Option<&Subquery> {
    match side {
        LogicalPlan::Subquery(query) => Some(query),
        LogicalPlan::SubqueryAlias(alias) => lateral(&alias.input),
        _ => None,
    }
}

/// What a sort computes with queries becomes columns, as the engine has no queries in a sort.
fn sorted(sort: Sort, schema: &DFSchema, number: &mut usize) -> Result<LogicalPlan> {
    let columns = || schema.columns().into_iter().map(Expr::Column);
    let mut order = sort.expr;
    let mut computed = Vec::new();
    for by in &mut order {
        if by.expr.exists(|part| Ok(is_subquery(part)))? {
            let expr = by.expr.clone();
            if !marks::columns_of(&expr)?
                .iter()
                .all(|column| schema.has_column(column))
            {
                return plan_err!(
                    "a query in ORDER BY names a column that is not selected: select what it computes under a name, and \
                     order by this name"
                );
            }
            let expr = expr.transform_up(|expr| corrected(expr, Null::Kept, schema, number))?;
            *number += 1;
            let name = format!("__sorted_{number}");
            computed.push(expr.data.unalias().alias(&name));
            by.expr = Expr::Column(Column::new_unqualified(name));
        }
    }
    LogicalPlanBuilder::from(Arc::unwrap_or_clone(sort.input))
        .project(columns().chain(computed))?
        .sort_with_limit(order, sort.fetch)?
        .project(columns())?
        .build()
}

fn has_subquery(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_expressions(|expr| {
        found |= expr.exists(|part| Ok(is_subquery(part)))?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

fn is_subquery(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) | Expr::SetComparison(_)
    )
}

/// Whether NULL instead of false makes a difference.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Null {
    Kept,
    /// In a filter, where nothing negates it.
    IsFalse,
}

/// A condition of a filter, one of several joined by AND.
fn condition(part: Expr, schema: &DFSchema, number: &mut usize) -> Result<Expr> {
    let part = match part {
        Expr::Not(inner) if matches!(*inner, Expr::InSubquery(_)) => negated(*inner),
        part => part,
    };
    match part {
        Expr::InSubquery(query) => {
            // What is compared may have queries, too.
            let expr = query
                .expr
                .transform_up(|expr| corrected(expr, Null::Kept, schema, number))?;
            let query = InSubquery {
                expr: Box::new(expr.data),
                ..query
            };
            Ok(corrected_in(query, Null::IsFalse, true, schema, number)?.data)
        }
        part => {
            let null = match is_positive(&part)? {
                true => Null::IsFalse,
                false => Null::Kept,
            };
            let corrected = part.transform_up(|expr| corrected(expr, null, schema, number))?;
            Ok(corrected.data)
        }
    }
}

/// Whether an expression is certain to have another value for other rows, as far as the engine can see: CASE and functions
/// may turn out to be constants.
fn depends_on_columns(expr: &Expr) -> Result<bool> {
    let may_be_constant = expr.exists(|part| {
        Ok(match part {
            Expr::Column(_) | Expr::Literal(..) | Expr::Negative(_) | Expr::Cast(_) => false,
            Expr::BinaryExpr(BinaryExpr { op, .. }) => !op.is_numerical_operators(),
            _ => true,
        })
    })?;
    Ok(expr.any_column_refs() && !may_be_constant)
}

fn negated(condition: Expr) -> Expr {
    match condition {
        Expr::InSubquery(query) => Expr::InSubquery(InSubquery {
            negated: !query.negated,
            ..query
        }),
        other => Expr::Not(Box::new(other)),
    }
}

/// Whether every IN of a condition is below AND and OR only, and not negated.
fn is_positive(condition: &Expr) -> Result<bool> {
    match condition {
        Expr::InSubquery(query) => Ok(!query.negated),
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::And | Operator::Or,
            right,
        }) => Ok(is_positive(left)? && is_positive(right)?),
        other => Ok(!other.exists(|inner| Ok(matches!(inner, Expr::InSubquery(_))))?),
    }
}

fn corrected(
    expr: Expr,
    null: Null,
    schema: &DFSchema,
    number: &mut usize,
) -> Result<Transformed<Expr>> {
    match expr {
        Expr::Exists(mut exists) => {
            if has_one_row(&exists.subquery.subquery) {
                return Ok(Transformed::yes(lit(!exists.negated)));
            }
            check(&exists.subquery.subquery, true, Role::Exists)?;
            let subquery = computed::with_columns(exists.subquery, number)?;
            exists.subquery = subquery.data;
            let exists = Expr::Exists(exists);
            Ok(Transformed::new_transformed(exists, subquery.transformed))
        }
        Expr::ScalarSubquery(subquery) => {
            let subquery = having::as_case(subquery)?;
            check(&subquery.data.subquery, true, Role::Value)?;
            let subquery =
                subquery.transform_data(|subquery| computed::with_columns(subquery, number))?;
            Ok(subquery.update_data(Expr::ScalarSubquery))
        }
        Expr::InSubquery(query) => corrected_in(query, null, false, schema, number),
        Expr::SetComparison(mut comparison) => {
            comparison.subquery = computed::with_columns(comparison.subquery, number)?.data;
            let plan = &comparison.subquery.subquery;
            if is_correlated(plan)? && has_one_row(plan) {
                return Ok(Transformed::yes(compared(
                    *comparison.expr,
                    comparison.op,
                    comparison.subquery,
                )));
            }
            check(plan, true, Role::Rows)?;
            let subquery = renamed(comparison.subquery, number)?;
            Ok(Transformed::yes(Expr::SetComparison(SetComparison {
                subquery,
                ..comparison
            })))
        }
        expr => Ok(Transformed::no(expr)),
    }
}

/// `IN (SELECT …)`. `is_whole` says that a filter keeps the rows for which it is true, and no others.
fn corrected_in(
    query: InSubquery,
    null: Null,
    is_whole: bool,
    schema: &DFSchema,
    number: &mut usize,
) -> Result<Transformed<Expr>> {
    let mut query = without_distinct(query);
    query.subquery = computed::with_columns(query.subquery, number)?.data;
    let plan = &query.subquery.subquery;
    let is_correlated = is_correlated(plan)?;
    if is_correlated && has_one_row(plan) {
        let op = match query.negated {
            true => Operator::NotEq,
            false => Operator::Eq,
        };
        return Ok(Transformed::yes(compared(*query.expr, op, query.subquery)));
    }
    check(plan, true, Role::Rows)?;
    if null == Null::Kept {
        return Membership::new(query, schema, number)?
            .value()
            .map(Transformed::yes);
    }
    // A value that turns out to be a constant is looked for before the engine knows whether there are NULLs.
    if is_whole && query.negated && (is_correlated || !depends_on_columns(&query.expr)?) {
        return Membership::new(query, schema, number)?
            .is_certain_not()
            .map(Transformed::yes);
    }
    // The engine looks for the column under its old name, too.
    let head = plan.head_output_expr()?;
    let is_found_twice = head.is_some_and(|head| {
        let names = head.column_refs();
        names.iter().any(|column| column.relation.is_none())
    });
    if !is_found_twice {
        return Ok(Transformed::no(Expr::InSubquery(query)));
    }
    let subquery = renamed(query.subquery, number)?;
    Ok(Transformed::yes(Expr::InSubquery(InSubquery {
        subquery,
        ..query
    })))
}

/// IN is the same without DISTINCT, whose expressions the engine would compute twice under one name.
fn without_distinct(mut query: InSubquery) -> InSubquery {
    if let LogicalPlan::Distinct(Distinct::All(rows)) = &*query.subquery.subquery {
        query.subquery = query.subquery.with_plan(Arc::clone(rows));
    }
    query
}

/// A comparison with the only row of a query.
fn compared(left: Expr, op: Operator, subquery: Subquery) -> Expr {
    let right = Box::new(Expr::ScalarSubquery(subquery));
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, right))
}

/// The query with a name for its column that no other column has.
fn renamed(subquery: Subquery, number: &mut usize) -> Result<Subquery> {
    let plan = LogicalPlan::clone(&subquery.subquery);
    *number += 1;
    let column = Expr::Column(Column::from(plan.schema().qualified_field(0)));
    let plan = LogicalPlanBuilder::from(plan)
        .project([column.alias(format!("__compared_{number}"))])?
        .build()?;
    Ok(subquery.with_plan(Arc::new(plan)))
}

/// Whether the query has one row, whatever is in the tables.
pub(super) fn has_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => {
            let has_queries = projection.expr.iter().any(unnests);
            !has_queries && has_one_row(&projection.input)
        }
        LogicalPlan::SubqueryAlias(alias) => has_one_row(&alias.input),
        LogicalPlan::Sort(sort) => sort.fetch != Some(0) && has_one_row(&sort.input),
        LogicalPlan::Distinct(Distinct::All(input)) => has_one_row(input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        _ => false,
    }
}

fn unnests(expr: &Expr) -> bool {
    expr.exists(|part| Ok(matches!(part, Expr::Unnest(_))))
        .unwrap_or(true)
}
