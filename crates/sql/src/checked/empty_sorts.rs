//! `SELECT count(*) FROM (SELECT … ORDER BY random() LIMIT 5)`: the columns of the sort are not used, and the engine removes
//! them all. It cannot sort rows without columns, which are all alike.

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Limit, LogicalPlan, Sort, lit};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// Replaces a sort of rows without columns by its limit.
#[derive(Debug)]
pub(super) struct EmptySorts;

impl OptimizerRule for EmptySorts {
    fn name(&self) -> &'static str {
        "empty_sorts"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Sort(Sort { input, fetch, expr }) = plan else {
            return Ok(Transformed::no(plan));
        };
        if !input.schema().fields().is_empty() {
            return Ok(Transformed::no(LogicalPlan::Sort(Sort {
                expr,
                input,
                fetch,
            })));
        }
        Ok(Transformed::yes(match fetch {
            Some(rows) => LogicalPlan::Limit(Limit {
                skip: None,
                fetch: Some(Box::new(lit(i64::try_from(rows).unwrap_or(i64::MAX)))),
                input,
            }),
            None => std::sync::Arc::unwrap_or_clone(input),
        }))
    }
}
