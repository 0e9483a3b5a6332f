//! Filters above aggregates. The engine moves a condition without columns below an aggregate. Without GROUP BY, the
//! aggregate has a row even if its input has none, so the condition would no longer decide about that row. And a
//! condition whose value changes, such as `random() < 0.5`, is about groups, not about the rows below.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::subqueries::has_total;

/// A rule of the optimizer.
type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// The rule, which leaves the filters above some aggregates where they are if it is the one that moves filters.
pub(crate) fn keeping_filters(rule: Rule) -> Rule {
    match rule.name() {
        "push_down_filter" => Arc::new(KeepsFilters(rule)),
        _ => rule,
    }
}

#[derive(Debug)]
struct KeepsFilters(Rule);

impl OptimizerRule for KeepsFilters {
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
        match stays(&plan) {
            true => Ok(Transformed::no(plan)),
            false => self.0.rewrite(plan, config),
        }
    }
}

/// Whether a filter is above an aggregate, or above other filters of it, and has a condition that has to stay there.
fn stays(plan: &LogicalPlan) -> bool {
    let mut conditions = Vec::new();
    let mut below = plan;
    while let LogicalPlan::Filter(filter) = below {
        conditions.extend(split_conjunction(&filter.predicate));
        below = &filter.input;
    }
    match below {
        LogicalPlan::Aggregate(aggregate) => {
            let is_total = has_total(aggregate);
            conditions.iter().any(|condition| {
                condition.is_volatile() || (is_total && !condition.any_column_refs())
            })
        }
        LogicalPlan::Window(_) => conditions.iter().any(|condition| condition.is_volatile()),
        _ => false,
    }
}
