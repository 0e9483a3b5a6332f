//! The same expressions twice, one above the other, as in
//! `SELECT v * 2 AS v FROM (SELECT v * 2 AS v FROM t)`. The optimizer of the query engine compares their texts and
//! computes them once. A rule gives the columns between them other names first.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use datafusion::optimizer::AnalyzerRule;

/// Renames the columns between two projections with equal expressions.
#[derive(Debug)]
pub(super) struct RepeatedProjections;

impl AnalyzerRule for RepeatedProjections {
    fn name(&self) -> &'static str {
        "repeated_projections"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(renamed)?.data)
    }
}

fn renamed(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Projection(outer) = &plan else {
        return Ok(Transformed::no(plan));
    };
    let LogicalPlan::Projection(inner) = &*outer.input else {
        return Ok(Transformed::no(plan));
    };
    if outer.expr != inner.expr || outer.expr.iter().all(is_column) {
        return Ok(Transformed::no(plan));
    }
    let mut names = HashMap::new();
    let mut between = Vec::new();
    for (at, (expr, (qualifier, field))) in inner.expr.iter().zip(inner.schema.iter()).enumerate() {
        let name = format!("{}__{at}", field.name());
        let before = Column::new(qualifier.cloned(), field.name());
        names.insert(before, Column::new_unqualified(name.clone()));
        between.push(expr.clone().unalias().alias(name));
    }
    let inner = Projection::try_new(between, Arc::clone(&inner.input))?;
    let preserver = NamePreserver::new_for_projection();
    let mut above = Vec::new();
    for expr in outer.expr.iter().cloned() {
        let name = preserver.save(&expr);
        let changed = expr.transform(|part| {
            Ok(match &part {
                Expr::Column(column) => match names.get(column) {
                    Some(name) => Transformed::yes(Expr::Column(name.clone())),
                    None => Transformed::no(part),
                },
                _ => Transformed::no(part),
            })
        })?;
        above.push(name.restore(changed.data));
    }
    let outer = Projection::try_new(above, Arc::new(LogicalPlan::Projection(inner)))?;
    Ok(Transformed::yes(LogicalPlan::Projection(outer)))
}

/// Whether computing an expression twice is the same as computing it once.
fn is_column(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) | Expr::Literal(..) => true,
        Expr::Alias(alias) => {
            matches!(&*alias.expr, Expr::Column(column) if column.name == alias.name)
        }
        _ => false,
    }
}
