//! Conditions that stay where they are.
//!
//! * The engine moves a condition without columns below an aggregate. Without GROUP BY, the aggregate has a row even if its
//!   input has none, so the condition would no longer decide about that row.
//! * A condition whose value changes, such as `random() < 0.5`, is about the rows that its filter or its join has, not
//!   about the groups, pairs or repetitions below.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::utils::{conjunction, split_conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Filter, JoinType, LogicalPlan};

use crate::checked::subqueries::has_total;

/// What of a plan has to stay in place while a rule moves its conditions.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// Conditions of the filter, and of those directly below it.
    of_filter: Vec<Expr>,
    /// Conditions of an outer join.
    of_join: Vec<Expr>,
}

impl Kept {
    /// Takes these conditions out of a filter or a join; `None` if there are none.
    pub(super) fn take(plan: &LogicalPlan) -> Result<Option<(Self, LogicalPlan)>> {
        let mut conditions = Vec::new();
        let mut below = plan;
        while let LogicalPlan::Filter(filter) = below {
            conditions.extend(split_conjunction(&filter.predicate));
            below = &filter.input;
        }
        let stays = |condition: &Expr| match below {
            LogicalPlan::Aggregate(aggregate) => {
                condition.is_volatile() || (has_total(aggregate) && !condition.any_column_refs())
            }
            LogicalPlan::Window(_)
            | LogicalPlan::Join(_)
            | LogicalPlan::Distinct(_)
            | LogicalPlan::Unnest(_)
            | LogicalPlan::Extension(_) => condition.is_volatile(),
            _ => false,
        };
        let mut kept = Self::default();
        let mut moved = Vec::new();
        for condition in conditions {
            match stays(condition) {
                true => kept.of_filter.push(condition.clone()),
                false => moved.push(condition.clone()),
            }
        }
        let below = kept.take_of_join(below);
        if kept.of_filter.is_empty() && kept.of_join.is_empty() {
            return Ok(None);
        }
        let rest = match conjunction(moved) {
            Some(moved) => LogicalPlan::Filter(Filter::try_new(moved, Arc::new(below))?),
            None => below,
        };
        Ok(Some((kept, rest)))
    }

    /// The plan without the conditions of its join that stay. Those of an inner join may stand above it.
    fn take_of_join(&mut self, plan: &LogicalPlan) -> LogicalPlan {
        let LogicalPlan::Join(join) = plan else {
            return plan.clone();
        };
        let mut join = join.clone();
        let conditions = join
            .filter
            .take()
            .map_or_else(Vec::new, split_conjunction_owned);
        let (volatile, others): (Vec<_>, Vec<_>) =
            conditions.into_iter().partition(Expr::is_volatile);
        join.filter = conjunction(others);
        match join.join_type {
            JoinType::Inner => self.of_filter.extend(volatile),
            _ => self.of_join.extend(volatile),
        }
        LogicalPlan::Join(join)
    }

    /// Puts them back.
    pub(super) fn put_back(
        self,
        plan: Transformed<LogicalPlan>,
    ) -> Result<Transformed<LogicalPlan>> {
        let Self { of_filter, of_join } = self;
        let plan = match of_join.is_empty() {
            true => plan,
            false => plan.map_data(|plan| into_join(plan, of_join))?,
        };
        match conjunction(of_filter) {
            Some(kept) => plan.map_data(|plan| {
                let filter = Filter::try_new(kept, Arc::new(plan))?;
                Ok(LogicalPlan::Filter(filter))
            }),
            None => Ok(plan),
        }
    }
}

/// Adds conditions to the join below filters.
fn into_join(plan: LogicalPlan, conditions: Vec<Expr>) -> Result<LogicalPlan> {
    Ok(match plan {
        LogicalPlan::Filter(mut filter) => {
            let below = into_join(Arc::unwrap_or_clone(filter.input), conditions)?;
            filter.input = Arc::new(below);
            LogicalPlan::Filter(filter)
        }
        LogicalPlan::Join(mut join) => {
            join.filter = conjunction(join.filter.into_iter().chain(conditions));
            LogicalPlan::Join(join)
        }
        _ => return datafusion::common::internal_err!("the join of a condition is not there"),
    })
}
