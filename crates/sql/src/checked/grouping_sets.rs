//! Computed values in ROLLUP, CUBE and GROUPING SETS become columns.
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
use datafusion::optimizer::analyzer::Analyzer;

/// The engine's rules that make types equal, after this one.
pub(crate) fn analyzer_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules: Vec<Arc<dyn AnalyzerRule + Send + Sync>> = vec![Arc::new(GroupingColumns)];
    rules.extend(Analyzer::new().rules);
    rules
}

#[derive(Debug)]
struct GroupingColumns;

impl AnalyzerRule for GroupingColumns {
    fn name(&self) -> &'static str {
        "grouping_columns"
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

/// The aggregate with columns of a projection in its grouping sets; `None` if it has no others.
fn with_columns(aggregate: &Aggregate) -> Result<Option<Aggregate>> {
    if !matches!(aggregate.group_expr.as_slice(), [Expr::GroupingSet(_)]) {
        return Ok(None);
    }
    let grouped = grouping_set_to_exprlist(&aggregate.group_expr)?;
    let computed: Vec<&Expr> = grouped
        .into_iter()
        .filter(|expr| !matches!(expr, Expr::Column(_)))
        .collect();
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
    let groups = groups.map(|set| Ok(set.map_children(as_column)?.data));
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
