//! `EXCEPT ALL` and `INTERSECT ALL`. The engine keeps all rows of the left query that the right one does not have, or
//! has, without counting them. A rule numbers equal rows first: then each row is there once.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, JoinConstraint, JoinType, NullEquality, Result};
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{
    Expr, ExprFunctionExt, Join, LogicalPlan, LogicalPlanBuilder, WindowFunctionDefinition,
};
use datafusion::optimizer::AnalyzerRule;

/// Numbers equal rows on both sides of set operations with ALL.
#[derive(Debug)]
pub(super) struct CountedRows;

impl AnalyzerRule for CountedRows {
    fn name(&self) -> &'static str {
        "counted_rows"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(counted)?.data)
    }
}

fn counted(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Join(join) = plan else {
        return Ok(Transformed::no(plan));
    };
    if !counts_rows(&join) {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    }
    let (left_keys, right_keys): (Vec<Expr>, Vec<Expr>) = join.on.iter().cloned().unzip();
    let (left, left_number) = numbered(&join.left, left_keys, "__left_number")?;
    let (right, right_number) = numbered(&join.right, right_keys, "__right_number")?;
    let mut on = join.on;
    on.push((Expr::Column(left_number), Expr::Column(right_number)));
    let counted = Join::try_new(
        Arc::new(left),
        Arc::new(right),
        on,
        None,
        join.join_type,
        join.join_constraint,
        join.null_equality,
        false,
    )?;
    let columns = join.schema.columns().into_iter().map(Expr::Column);
    let plan = LogicalPlanBuilder::from(LogicalPlan::Join(counted))
        .project(columns)?
        .build()?;
    Ok(Transformed::yes(plan))
}

/// Whether a join is a set operation. Those without ALL have a left query of different rows, for which the numbers
/// change nothing. No other join compares nulls as equal before the optimizer.
fn counts_rows(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNull
        && join.join_constraint == JoinConstraint::On
        && join.filter.is_none()
        && join.on.len() == join.left.schema().fields().len()
        && !matches!(*join.left, LogicalPlan::Distinct(_))
}

/// The query with one more column, which numbers the rows with equal keys.
fn numbered(plan: &LogicalPlan, keys: Vec<Expr>, name: &str) -> Result<(LogicalPlan, Column)> {
    let function = WindowFunctionDefinition::WindowUDF(row_number_udwf());
    let number = Expr::from(WindowFunction::new(function, vec![]))
        .partition_by(keys)
        .build()?;
    let field = Column::new_unqualified(number.schema_name().to_string());
    let columns = plan.schema().columns().into_iter().map(Expr::Column);
    let columns: Vec<Expr> = columns.chain([Expr::Column(field).alias(name)]).collect();
    let plan = LogicalPlanBuilder::from(plan.clone())
        .window([number])?
        .project(columns)?
        .build()?;
    Ok((plan, Column::new_unqualified(name)))
}
