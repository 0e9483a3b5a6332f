//! All keys of a sort stay.
//!
//! The engine's rule removes a sort key that earlier ones determine. It takes a column that is unique in a table for unique
//! in a join of that table, too, once the join is grouped: `SELECT DISTINCT k, j FROM p, q ORDER BY k, j` was not sorted by
//! `j`. Keys that are equal cost nothing, as the sort itself leaves them out.

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::Rule;

/// The engine's rule without sorts.
#[derive(Debug)]
pub(super) struct AllSortKeys(pub(super) Rule);

impl OptimizerRule for AllSortKeys {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Sort(_) => Ok(Transformed::no(plan)),
            _ => self.0.rewrite(plan, config),
        }
    }
}
