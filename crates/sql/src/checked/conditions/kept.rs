//! Filters above aggregates, which stay there. The engine moves a condition without columns below an aggregate. Without
//! GROUP BY, the aggregate has a row even if its input has none, so the condition would no longer decide about that row.
//! And a condition whose value changes, such as `random() < 0.5`, is about groups, not about the rows below.

use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::utils::split_conjunction;

use crate::checked::subqueries::has_total;

/// Whether a filter is above an aggregate, or above other filters of it, and has a condition that has to stay there.
pub(super) fn stays(plan: &LogicalPlan) -> bool {
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
