//! Conditions such as `a + b = a` beside `ORDER BY a`. The engine takes `a + b` and `a` for one order, sorts by either, and
//! then does not find the other one. A rule hides that they are equal.

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, Filter, LogicalPlan, Operator};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

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
            LogicalPlan::Filter(filter) => {
                let mut changed = false;
                let parts = split_conjunction_owned(filter.predicate);
                let parts = parts.into_iter().map(|part| match is_computed(&part) {
                    true => {
                        changed = true;
                        part.is_true()
                    }
                    false => part,
                });
                let all = conjunction(parts.collect::<Vec<_>>());
                let all = all.unwrap_or_else(|| datafusion::logical_expr::lit(true));
                let filter = LogicalPlan::Filter(Filter::try_new(all, filter.input)?);
                Ok(Transformed::new_transformed(filter, changed))
            }
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
