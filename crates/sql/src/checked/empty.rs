//! The value of `(SELECT …)` without rows is NULL. The engine takes it for never NULL if the column of the query is
//! not. A rule says that it may be.

use std::sync::{Arc, LazyLock};

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, ScalarUDF, Subquery};
use datafusion::optimizer::AnalyzerRule;

use super::expressions::{replace_in, with_new_schemas};
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
        with_new_schemas(plan.transform_up_with_subqueries(replaced)?)
    }
}

fn replaced(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    replace_in(plan, |expr| match expr {
        Expr::ScalarSubquery(subquery) => nullable(subquery),
        expr => Ok(Transformed::no(expr)),
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
