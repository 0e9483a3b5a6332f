//! Groups that the engine cannot compute in an aggregate become columns of a projection below it: computed values in ROLLUP,
//! CUBE and GROUPING SETS, and queries that name columns of the outer query.
//!
//! A rule that changes a part of an expression keeps the expression's name with an alias. The engine's rules, and those
//! here, take a whole grouping set for one expression, and give it an alias too; then it is no grouping set any more. So
//! this rule runs before all others, and leaves only columns in grouping sets.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::utils::grouping_set_to_exprlist;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, Projection};
use datafusion::optimizer::AnalyzerRule;

/// Makes such columns below an aggregate.
#[derive(Debug)]
pub(super) struct GroupColumns;

impl AnalyzerRule for GroupColumns {
    fn name(&self) -> &'static str {
        "group_columns"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_up_with_subqueries(|plan| {
            Ok(match plan {
                LogicalPlan::Aggregate(aggregate) => match with_columns(&aggregate)? {
                    Some(changed) => Transformed::yes(LogicalPlan::Aggregate(changed)),
                    None => Transformed::no(LogicalPlan::Aggregate(aggregate)),
                },
                plan => Transformed::no(plan),
            })
        })?;
        Ok(changed.data)
    }
}

/// The aggregate with columns of a projection in place of what it cannot have in its groups; `None` if it has none of it.
fn with_columns(aggregate: &Aggregate) -> Result<Option<Aggregate>> {
    let has_sets = matches!(aggregate.group_expr.as_slice(), [Expr::GroupingSet(_)]);
    let grouped = grouping_set_to_exprlist(&aggregate.group_expr)?;
    let mut computed = Vec::new();
    for expr in grouped {
        let is_moved = match has_sets {
            true => !matches!(expr, Expr::Column(_)),
            false => expr.exists(|part| Ok(is_correlated(part)))?,
        };
        if is_moved {
            computed.push(expr);
        }
    }
    if computed.is_empty() {
        return Ok(None);
    }
    let columns = aggregate.input.schema().columns().into_iter();
    let mut shown: Vec<Expr> = columns.map(Expr::Column).collect();
    for expr in &computed {
        // The name that the parent knows.
        let (relation, name) = expr.qualified_name();
        shown.push((*expr).clone().alias_qualified(relation, name));
    }
    // Two of one name, as `k` and `CAST(k AS INT)` are in the engine, stay.
    let Ok(input) = Projection::try_new(shown, aggregate.input.clone()) else {
        return Ok(None);
    };
    let as_column = |expr: Expr| {
        Ok(match computed.contains(&&expr) {
            true => {
                let (relation, name) = expr.qualified_name();
                Transformed::yes(Expr::Column(Column::new(relation, name)))
            }
            false => Transformed::no(expr),
        })
    };
    let groups = aggregate.group_expr.iter().cloned();
    let groups = groups.map(|group| {
        Ok(match has_sets {
            true => group.map_children(as_column)?.data,
            false => as_column(group)?.data,
        })
    });
    let aggregates = aggregate.aggr_expr.iter().cloned().map(|expr| {
        let (relation, name) = expr.qualified_name();
        let changed = expr.transform_up(|expr| match &expr {
            Expr::AggregateFunction(function) if function.func.name() == "grouping" => {
                expr.map_children(as_column)
            }
            _ => Ok(Transformed::no(expr)),
        })?;
        Ok(match changed.transformed {
            true => changed.data.alias_qualified(relation, name),
            false => changed.data,
        })
    });
    let (groups, aggregates) = (
        groups.collect::<Result<_>>()?,
        aggregates.collect::<Result<_>>()?,
    );
    let input = Arc::new(LogicalPlan::Projection(input));
    Aggregate::try_new(input, groups, aggregates).map(Some)
}

/// Whether an expression is a query for a value that names outer columns.
fn is_correlated(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarSubquery(query) if !query.outer_ref_columns.is_empty())
}
