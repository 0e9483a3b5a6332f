//! The common columns of `RIGHT JOIN … USING` and `FULL JOIN … USING`, also with NATURAL. The engine takes them from the
//! left relation, which has none for rows that are only in the right one. A rule takes them from both.
//!
//! A column of the left relation that a query names with its relation is NULL for these rows. Here it is not told from
//! the common column: `session/using.rs` refuses queries that have both, and makes a join with ON if they have no other.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, ExprSchema, JoinConstraint, JoinType, Result, plan_err};
use datafusion::logical_expr::{Expr, Join, LogicalPlan, LogicalPlanBuilder, when};
use datafusion::optimizer::AnalyzerRule;

/// Puts the common column in the place of the left relation's.
#[derive(Debug)]
pub(super) struct CommonColumns;

impl AnalyzerRule for CommonColumns {
    fn name(&self) -> &'static str {
        "common_columns"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(merged)?.data)
    }
}

fn merged(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Join(join) = &plan else {
        return Ok(Transformed::no(plan));
    };
    if join.join_constraint != JoinConstraint::Using
        || !matches!(join.join_type, JoinType::Right | JoinType::Full)
    {
        return Ok(Transformed::no(plan));
    }
    let columns = join.schema.columns().into_iter();
    let columns = columns.map(|column| common(join, column));
    let columns: Vec<Expr> = columns.collect::<Result<_>>()?;
    let plan = LogicalPlanBuilder::from(plan).project(columns)?.build()?;
    Ok(Transformed::yes(plan))
}

/// The value of a column of the join.
fn common(join: &Join, column: Column) -> Result<Expr> {
    let pair = join.on.iter().find_map(|(left, right)| {
        let (left, right) = (column_of(left)?, column_of(right)?);
        (*left == column).then_some(right)
    });
    let Some(right) = pair else {
        return Ok(Expr::Column(column));
    };
    let (kind, other) = (
        join.schema.data_type(&column)?,
        join.schema.data_type(right)?,
    );
    if kind != other && !(kind.is_string() && other.is_string()) {
        return plan_err!(
            "the common column of a RIGHT or FULL join has two types, {kind} and {other}: cast one before the join"
        );
    }
    let mut value = Expr::Column(right.clone());
    if kind != other {
        value = datafusion::logical_expr::cast(value, kind.clone());
    }
    if join.join_type == JoinType::Full {
        let own = Expr::Column(column.clone());
        value = when(own.clone().is_not_null(), own).otherwise(value)?;
    }
    Ok(value.alias_qualified(column.relation, column.name))
}

/// The column that a side of the join compares.
fn column_of(expr: &Expr) -> Option<&Column> {
    match expr {
        Expr::Column(column) => Some(column),
        Expr::Cast(cast) => column_of(&cast.expr),
        _ => None,
    }
}
