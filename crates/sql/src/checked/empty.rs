//! The value of `(SELECT …)` without rows is NULL. The engine takes it for never NULL if the column of the query is
//! not. A rule says that it may be.

use std::sync::{Arc, LazyLock};

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, ScalarUDF, Subquery};
use datafusion::optimizer::AnalyzerRule;

use super::same_type::SameType;
use super::subqueries::has_one_row;

/// Makes the columns of scalar subqueries that may have no rows nullable.
#[derive(Debug)]
pub(super) struct EmptySubqueries;

impl AnalyzerRule for EmptySubqueries {
    fn name(&self) -> &'static str {
        "empty_subqueries"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_up_with_subqueries(replaced)?;
        match changed.transformed {
            // What is above may have the column, too.
            true => Ok(changed
                .data
                .transform_up_with_subqueries(|plan| plan.recompute_schema().map(Transformed::yes))?
                .data),
            false => Ok(changed.data),
        }
    }
}

fn replaced(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let changed = expr.transform_up(|expr| match expr {
            Expr::ScalarSubquery(subquery) => nullable(subquery),
            expr => Ok(Transformed::no(expr)),
        })?;
        Ok(changed.update_data(|expr| name.restore(expr)))
    })
}

fn nullable(subquery: Subquery) -> Result<Transformed<Expr>> {
    let plan = &subquery.subquery;
    let is_nullable = plan
        .schema()
        .fields()
        .first()
        .is_none_or(|field| field.is_nullable());
    if is_nullable || has_one_row(plan) {
        return Ok(Transformed::no(Expr::ScalarSubquery(subquery)));
    }
    let column = Column::from(plan.schema().qualified_field(0));
    let value = ScalarFunction::new_udf(Arc::clone(&NULLABLE), vec![Expr::Column(column)]);
    let plan = LogicalPlanBuilder::from(LogicalPlan::clone(plan))
        // The engine adds the columns that are compared with the outer query, of which one may have the old name.
        .project([Expr::ScalarFunction(value).alias("__nullable_value")])?
        .build()?;
    Ok(Transformed::yes(Expr::ScalarSubquery(
        subquery.with_plan(Arc::new(plan)),
    )))
}

/// Its argument, of which the engine knows no more than that it may be NULL. Of a constant it would otherwise be a constant
/// again.
static NULLABLE: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| SameType::opaque("nullable", Ok).into_function());
