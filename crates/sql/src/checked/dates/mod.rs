//! Dates beside times with a zone. The engine compares the two as in UTC, and with a TIMESTAMP beside them, as in
//! `t BETWEEN DATE '…' AND TIMESTAMP '…'`, as in the zone. A rule makes such a date the start of the day in the zone.

mod start_of_day;

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{Between, BinaryExpr, InList, InSubquery, SetComparison};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Subquery};

use super::expressions::{ExpressionRule, is_comparison};
use start_of_day::start_of_day;

/// Replaces such dates, before the engine makes the types equal. Columns of USING stay as they are.
pub(super) const DATES_OF_ZONES: ExpressionRule = ExpressionRule {
    name: "dates_of_zones",
    replace: |mut expr, schema| {
        let changed = match &mut expr {
            Expr::InSubquery(InSubquery { expr, subquery, .. })
            | Expr::SetComparison(SetComparison { expr, subquery, .. }) => {
                beside_query(expr, subquery, schema)?
            }
            expr => beside_each_other(compared(expr), schema),
        };
        Ok(Transformed::new_transformed(expr, changed))
    },
};

/// The type of a time with a zone.
type Zone = (TimeUnit, Arc<str>);

fn zone_of(kind: &DataType) -> Option<Zone> {
    match kind {
        DataType::Timestamp(unit, Some(zone)) => Some((*unit, Arc::clone(zone))),
        _ => None,
    }
}

/// What has no type yet is compared as the engine does it.
fn kind_of(expr: &Expr, schema: &DFSchema) -> DataType {
    expr.get_type(schema).unwrap_or(DataType::Null)
}

fn beside_each_other(parts: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    let mut zones = parts
        .iter()
        .filter_map(|part| zone_of(&kind_of(part, schema)));
    let Some(zone) = zones.next() else {
        return false;
    };
    drop(zones);
    let mut changed = false;
    for part in parts {
        if kind_of(part, schema) == DataType::Date32 {
            *part = start_of_day(std::mem::take(part), &zone);
            changed = true;
        }
    }
    changed
}

/// Compares a value with those of a query.
fn beside_query(expr: &mut Expr, query: &mut Subquery, schema: &DFSchema) -> Result<bool> {
    let (left, right) = match query.subquery.schema().fields().first() {
        Some(field) => (kind_of(expr, schema), field.data_type().clone()),
        None => return Ok(false),
    };
    match (zone_of(&left), zone_of(&right)) {
        (None, Some(zone)) if left == DataType::Date32 => {
            *expr = start_of_day(std::mem::take(expr), &zone);
        }
        (Some(zone), None) if right == DataType::Date32 => {
            let plan = LogicalPlan::clone(&query.subquery);
            let columns = plan.schema().columns().into_iter().map(|column| {
                let name = column.name.clone();
                start_of_day(Expr::Column(column), &zone).alias(name)
            });
            let columns: Vec<Expr> = columns.collect();
            query.subquery = Arc::new(LogicalPlanBuilder::from(plan).project(columns)?.build()?);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// The values that an expression compares with each other.
fn compared(expr: &mut Expr) -> Vec<&mut Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
            vec![left, right]
        }
        Expr::Between(Between {
            expr, low, high, ..
        }) => vec![expr, low, high],
        Expr::InList(InList { expr, list, .. }) => {
            let mut parts = vec![&mut **expr];
            parts.extend(list);
            parts
        }
        Expr::Case(case) => match &mut case.expr {
            Some(value) => {
                let mut parts = vec![&mut **value];
                let branches = case.when_then_expr.iter_mut();
                parts.extend(branches.map(|(when, _)| &mut **when));
                parts
            }
            None => Vec::new(),
        },
        _ => Vec::new(),
    }
}
