//! `WHERE b.id = p.id` in a subquery of `a` and `b` that both have `id`, where `p` is of the outer query.
//!
//! The engine joins the subquery to the outer query by this condition, under one name for all of its columns. There it
//! takes `a.id` for `b.id`. So the columns of such conditions get names of their own if the subquery has several columns
//! of that name, or computes one.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result, plan_err};
use datafusion::logical_expr::{Expr, Filter, LogicalPlan, LogicalPlanBuilder, Subquery};

use super::levels::{Known, any_node, is_outer};
use super::{above, aliased};

/// Gives the columns of a subquery's correlated conditions their own names where others have the same.
pub(super) fn with_own_names(
    subquery: Subquery,
    number: &mut usize,
) -> Result<Transformed<Subquery>> {
    let raised = above::raised(LogicalPlan::clone(&subquery.subquery))?
        .transform_data(|plan| aliased::raised(plan, number))?
        .transform_data(joined)?;
    let mut names = computed_names(&raised.data)?;
    names.extend(repeated_names(&raised.data)?);
    let is_hidden = any_node(
        &raised.data,
        &mut Known::new(),
        &mut |node, known| match node {
            LogicalPlan::SubqueryAlias(alias) => {
                any_node(&alias.input, known, &mut |node, known| {
                    names_any(node, known, &names)
                })
            }
            _ => Ok(false),
        },
    )?;
    if is_hidden {
        return plan_err!(
            "a query in the FROM clause of a subquery compares a column of the outer query with one whose name other columns \
             of the subquery have: give it another name, or write a join"
        );
    }
    let named = raised.transform_data(|plan| {
        plan.transform_up(|node| match node {
            LogicalPlan::Filter(filter) if filter.predicate.contains_outer() => {
                of_filter(filter, &names, number)
            }
            node => Ok(Transformed::no(node)),
        })
    })?;
    match named.transformed {
        true => Ok(Transformed::yes(subquery.with_plan(Arc::new(named.data)))),
        false => Ok(Transformed::no(subquery)),
    }
}

/// Conditions that stand on one another as one. The engine remembers the columns of a subquery's conditions by the plan
/// below them, and those of several for one plan are lost.
fn joined(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    plan.transform_up(|node| match node {
        LogicalPlan::Filter(above) => match &*above.input {
            LogicalPlan::Filter(below)
                if above.predicate.contains_outer() || below.predicate.contains_outer() =>
            {
                let both = below.predicate.clone().and(above.predicate);
                let filter = Filter::try_new(both, Arc::clone(&below.input))?;
                Ok(Transformed::yes(LogicalPlan::Filter(filter)))
            }
            _ => Ok(Transformed::no(LogicalPlan::Filter(above))),
        },
        node => Ok(Transformed::no(node)),
    })
}

/// Whether a node is a correlated condition of columns with these names.
fn names_any(node: &LogicalPlan, known: &Known<'_>, names: &HashSet<String>) -> Result<bool> {
    let LogicalPlan::Filter(filter) = node else {
        return Ok(false);
    };
    let columns = filter.predicate.column_refs();
    let is_any = columns.iter().any(|column| names.contains(&column.name));
    Ok(is_any && is_outer(&filter.predicate, known)?)
}

/// The names that several columns of a node have, anywhere in a plan.
fn repeated_names(plan: &LogicalPlan) -> Result<HashSet<String>> {
    let mut repeated = HashSet::new();
    plan.apply(|node| {
        let mut names = HashSet::new();
        for field in node.schema().fields() {
            if !names.insert(field.name()) {
                repeated.insert(field.name().clone());
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(repeated)
}

/// The names that a plan gives to what it computes. A cast has the name of the column that is cast, with its relation.
fn computed_names(plan: &LogicalPlan) -> Result<HashSet<String>> {
    let mut names = HashSet::new();
    plan.apply(|node| {
        if let LogicalPlan::Projection(projection) = node {
            for expr in &projection.expr {
                match expr {
                    Expr::Column(_) => {}
                    Expr::Cast(_) | Expr::TryCast(_) => {
                        names.extend(expr.column_refs().iter().map(|column| column.name.clone()));
                    }
                    computed => {
                        names.insert(computed.qualified_name().1);
                    }
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(names)
}

fn of_filter(
    filter: Filter,
    names_of_others: &HashSet<String>,
    number: &mut usize,
) -> Result<Transformed<LogicalPlan>> {
    let mut names: BTreeMap<Column, String> = BTreeMap::new();
    let predicate = filter.predicate.transform(|expr| match expr {
        Expr::Column(column) if names_of_others.contains(&column.name) => {
            let name = names.entry(column).or_insert_with(|| {
                *number += 1;
                format!("__own_{number}")
            });
            Ok(Transformed::yes(Expr::Column(Column::new_unqualified(
                name.clone(),
            ))))
        }
        expr => Ok(Transformed::no(expr)),
    })?;
    if names.is_empty() {
        let filter = Filter::try_new(predicate.data, filter.input)?;
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    }
    let columns = filter.input.schema().columns().into_iter();
    let named = names
        .into_iter()
        .map(|(column, name)| Expr::Column(column).alias(name));
    let input = LogicalPlanBuilder::from(Arc::unwrap_or_clone(filter.input))
        .project(columns.map(Expr::Column).chain(named))?
        .build()?;
    let filter = Filter::try_new(predicate.data, Arc::new(input))?;
    Ok(Transformed::yes(LogicalPlan::Filter(filter)))
}
