//! `(SELECT b.x FROM b WHERE b.id = p.id) q` in the FROM clause of a subquery, where `p` is of the outer query.
//!
//! The engine pulls the condition out of the subquery and looks for `b.id` as `q.id`, which may be another column or none.
//! So such conditions stand above `q`, which has columns for them, and above the joins around it.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    Aggregate, Expr, Filter, Join, LogicalPlan, LogicalPlanBuilder, Projection, SubqueryAlias,
};

use super::{has_total, is_subquery, keeps_sides};

/// The plan of a subquery with such conditions above the queries in its FROM clause, and above their joins.
pub(super) fn raised(plan: LogicalPlan, number: &mut usize) -> Result<Transformed<LogicalPlan>> {
    plan.transform_up(|node| match node {
        LogicalPlan::SubqueryAlias(alias) => above_alias(alias, number),
        LogicalPlan::Join(join) => above_join(join, number),
        LogicalPlan::Filter(filter) if has_query(&filter.predicate) => above_filter(filter, number),
        node => Ok(Transformed::no(node)),
    })
}

/// The engine does not pass on the columns of conditions below a join.
fn above_join(join: Join, number: &mut usize) -> Result<Transformed<LogicalPlan>> {
    let (join, conditions) = of_join(join, number)?;
    match conditions.is_empty() {
        true => Ok(Transformed::no(join)),
        false => filtered(join, conditions).map(Transformed::yes),
    }
}

/// IN and EXISTS become joins.
fn above_filter(filter: Filter, number: &mut usize) -> Result<Transformed<LogicalPlan>> {
    let columns = filter.input.schema().columns().into_iter();
    let columns: Vec<_> = columns.map(Expr::Column).collect();
    let (input, raised) = without_conditions(Arc::unwrap_or_clone(filter.input), number)?;
    let is_raised = !raised.is_empty();
    let conditions = std::iter::once(filter.predicate).chain(raised).collect();
    let filter = filtered(input, conditions)?;
    match is_raised {
        true => {
            let plan = LogicalPlanBuilder::from(filter).project(columns)?.build()?;
            Ok(Transformed::yes(plan))
        }
        false => Ok(Transformed::no(filter)),
    }
}

fn above_alias(alias: SubqueryAlias, number: &mut usize) -> Result<Transformed<LogicalPlan>> {
    let columns = alias.schema.columns().into_iter().map(Expr::Column);
    let (input, conditions) = without_conditions(Arc::unwrap_or_clone(alias.input), number)?;
    let input = SubqueryAlias::try_new(Arc::new(input), alias.alias.clone())?;
    let named = LogicalPlan::SubqueryAlias(input);
    let Some(condition) = conjunction(conditions) else {
        return Ok(Transformed::no(named));
    };
    let condition = renamed(condition, |column| {
        Ok(Column::new(Some(alias.alias.clone()), column.name))
    })?;
    let filter = LogicalPlan::Filter(Filter::try_new(condition, Arc::new(named))?);
    let plan = LogicalPlanBuilder::from(filter).project(columns)?.build()?;
    Ok(Transformed::yes(plan))
}

/// A plan without its correlated conditions, and these conditions, of columns that the plan has. Those that would not mean
/// the same above the plan stay in it.
fn without_conditions(plan: LogicalPlan, number: &mut usize) -> Result<(LogicalPlan, Vec<Expr>)> {
    match plan {
        LogicalPlan::Filter(filter) => {
            let (input, mut raised) =
                without_conditions(Arc::unwrap_or_clone(filter.input), number)?;
            let (outer, kept): (Vec<_>, Vec<_>) = split_conjunction_owned(filter.predicate)
                .into_iter()
                .partition(|part| part.contains_outer() && !has_query(part));
            raised.extend(outer);
            Ok((filtered(input, kept)?, raised))
        }
        LogicalPlan::Projection(projection) => of_projection(projection, number),
        LogicalPlan::Aggregate(aggregate) => of_aggregate(aggregate, number),
        LogicalPlan::Join(join) => of_join(join, number),
        LogicalPlan::Sort(mut sort) if sort.fetch.is_none() => {
            let (input, raised) = without_conditions(Arc::unwrap_or_clone(sort.input), number)?;
            sort.input = Arc::new(input);
            Ok((LogicalPlan::Sort(sort), raised))
        }
        plan => Ok((plan, Vec::new())),
    }
}

/// Adds the columns of conditions to those of the projection.
fn of_projection(projection: Projection, number: &mut usize) -> Result<(LogicalPlan, Vec<Expr>)> {
    let (input, raised) = without_conditions(Arc::unwrap_or_clone(projection.input), number)?;
    let mut exprs = projection.expr;
    let mut names: HashMap<Column, Column> = exprs
        .iter()
        .filter_map(|expr| match expr {
            Expr::Column(column) => Some((column.clone(), column.clone())),
            _ => None,
        })
        .collect();
    let mut conditions = Vec::with_capacity(raised.len());
    for condition in raised {
        conditions.push(renamed(condition, |column| {
            if let Some(name) = names.get(&column) {
                return Ok(name.clone());
            }
            *number += 1;
            let name = Column::new_unqualified(format!("__raised_{number}"));
            exprs.push(Expr::Column(column.clone()).alias(&name.name));
            names.insert(column, name.clone());
            Ok(name)
        })?);
    }
    let projection = Projection::try_new(exprs, Arc::new(input))?;
    Ok((LogicalPlan::Projection(projection), conditions))
}

/// Groups are those of the rows for which a condition on their columns holds.
fn of_aggregate(aggregate: Aggregate, number: &mut usize) -> Result<(LogicalPlan, Vec<Expr>)> {
    let (input, conditions) = without_conditions(LogicalPlan::clone(&aggregate.input), number)?;
    let (raised, kept): (Vec<_>, Vec<_>) = conditions.into_iter().partition(|condition| {
        let columns = condition.column_refs();
        let mut columns = columns.into_iter().cloned().map(Expr::Column);
        !has_total(&aggregate) && columns.all(|column| aggregate.group_expr.contains(&column))
    });
    let input = Arc::new(filtered(input, kept)?);
    let aggregate = Aggregate::try_new(input, aggregate.group_expr, aggregate.aggr_expr)?;
    Ok((LogicalPlan::Aggregate(aggregate), raised))
}

fn of_join(mut join: Join, number: &mut usize) -> Result<(LogicalPlan, Vec<Expr>)> {
    let (left, right) = keeps_sides(join.join_type);
    let mut raised = Vec::new();
    for (side, is_kept) in [(&mut join.left, left), (&mut join.right, right)] {
        if is_kept {
            let (plan, conditions) = without_conditions(LogicalPlan::clone(side), number)?;
            *side = Arc::new(plan);
            raised.extend(conditions);
        }
    }
    Ok((LogicalPlan::Join(join).recompute_schema()?, raised))
}

fn filtered(input: LogicalPlan, conditions: Vec<Expr>) -> Result<LogicalPlan> {
    match conjunction(conditions) {
        Some(condition) => Filter::try_new(condition, Arc::new(input)).map(LogicalPlan::Filter),
        None => Ok(input),
    }
}

fn has_query(expr: &Expr) -> bool {
    expr.exists(|part| Ok(is_subquery(part))).unwrap_or(true)
}

fn renamed(condition: Expr, mut name: impl FnMut(Column) -> Result<Column>) -> Result<Expr> {
    let renamed = condition.transform(|expr| match expr {
        Expr::Column(column) => name(column).map(Expr::Column).map(Transformed::yes),
        expr => Ok(Transformed::no(expr)),
    })?;
    Ok(renamed.data)
}
