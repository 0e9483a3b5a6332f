//! Conditions such as `a + b = a` beside `ORDER BY a`. The engine takes `a + b` and `a` for one order, sorts by either, and
//! then does not find the other one. A rule hides that they are equal.

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::expressions::hide_from_rules;

/// Writes `E IS TRUE` in place of an equality `E` with a computed side, in filters.
#[derive(Debug)]
pub(super) struct HiddenEqualities;

impl OptimizerRule for HiddenEqualities {
    fn name(&self) -> &'static str {
        "hidden_equalities"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Filter(filter) => hide_from_rules(filter, is_computed),
            plan => Ok(Transformed::no(plan)),
        }
    }
}

/// Whether a condition says that a computed value is equal to another one, which is not a constant.
fn is_computed(condition: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr {
        left,
        op: Operator::Eq,
        right,
    }) = condition
    else {
        return false;
    };
    let sides = [&**left, &**right];
    sides.iter().all(|side| side.any_column_refs())
        && !sides.iter().all(|side| matches!(side, Expr::Column(_)))
}
