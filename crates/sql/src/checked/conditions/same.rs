//! The engine leaves `a = a` out of the conditions of a subquery if `a` names outer columns, although it is NULL where `a`
//! is NULL.

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};

use crate::checked::expressions::hide_from_rules;

/// Hides these conditions from the engine's rules.
pub(super) fn keep(plan: Transformed<LogicalPlan>) -> Result<Transformed<LogicalPlan>> {
    plan.transform_data(|plan| match plan {
        LogicalPlan::Filter(filter) => hide_from_rules(filter, is_left_out),
        plan => Ok(Transformed::no(plan)),
    })
}

fn is_left_out(condition: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr {
        left,
        op: Operator::Eq,
        right,
    }) = condition
    else {
        return false;
    };
    left == right && condition.contains_outer()
}
