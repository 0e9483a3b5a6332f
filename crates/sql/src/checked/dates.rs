//! Dates beside times with a zone. The engine compares these two as they are in UTC, and if a TIMESTAMP is there too, as in
//! `t BETWEEN DATE '…' AND TIMESTAMP '…'`, as they are in the zone.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::{Between, BinaryExpr, InList};
use datafusion::logical_expr::{Expr, ExprSchemable, cast};

use super::expressions::ExpressionRule;

/// Takes such a date for a TIMESTAMP, before the engine makes the types equal.
pub(super) const DATES_OF_ZONES: ExpressionRule = ExpressionRule {
    name: "dates_of_zones",
    replace: |mut expr, schema| {
        let mut changed = false;
        let is = |expr: &Expr, wanted: fn(&DataType) -> bool| {
            // What has no type yet is compared as the engine does it.
            expr.get_type(schema).is_ok_and(|kind| wanted(&kind))
        };
        let parts = compared(&mut expr);
        if parts.iter().any(|part| is(part, has_zone)) {
            for part in parts {
                if is(part, |kind| *kind == DataType::Date32) {
                    *part = cast(
                        std::mem::take(part),
                        DataType::Timestamp(TimeUnit::Microsecond, None),
                    );
                    changed = true;
                }
            }
        }
        Ok(Transformed::new_transformed(expr, changed))
    },
};

fn has_zone(kind: &DataType) -> bool {
    matches!(kind, DataType::Timestamp(_, Some(_)))
}

/// The values that an expression compares with each other.
fn compared(expr: &mut Expr) -> Vec<&mut Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if op.supports_propagation() => {
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
