//! `a IS NOT DISTINCT FROM b` as the key of a join.
//!
//! The engine has one switch for all keys of a join, whether NULL is equal to NULL. It turns the switch on for such a
//! condition, and later adds the keys of `c = d` from elsewhere to the same join: from WHERE, or from joins that it merges.
//! So a join gets these keys last, once no other condition can become one of its keys.

use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{JoinType, NullEquality, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::logical_plan::Join;
use datafusion::optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::rules::Rule;

fn null_is_equal(join: &Join) -> bool {
    join.null_equality == NullEquality::NullEqualsNull
}

/// The engine's rule that finds keys, for those of `a = b` alone.
pub(super) fn plain_keys(
    rule: &Rule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    match &plan {
        LogicalPlan::Join(join) if !null_is_equal(join) && join.filter.is_some() => {}
        _ => return Ok(Transformed::no(plan)),
    }
    let found = rule.rewrite(plan.clone(), config)?;
    match &found.data {
        LogicalPlan::Join(join) if null_is_equal(join) => Ok(Transformed::no(plan)),
        _ => Ok(found),
    }
}

/// The engine's rule that merges inner joins, for plans in which NULL is equal to NULL in none of them. In the others it
/// was applied before they got these keys.
pub(super) fn merged(
    rule: &Rule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    let mut found = false;
    plan.apply_with_subqueries(|plan| {
        found |= matches!(plan, LogicalPlan::Join(join)
            if null_is_equal(join) && join.join_type == JoinType::Inner);
        Ok(match found {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    match found {
        true => Ok(Transformed::no(plan)),
        false => rule.rewrite(plan, config),
    }
}

/// Gives keys to joins that have none, at the end of each pass of the optimizer.
#[derive(Debug)]
pub(super) struct NullKeys(ExtractEquijoinPredicate);

impl NullKeys {
    pub(super) fn new() -> Self {
        Self(ExtractEquijoinPredicate::new())
    }
}

impl OptimizerRule for NullKeys {
    fn name(&self) -> &'static str {
        "null_keys"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match &plan {
            LogicalPlan::Join(join) if join.on.is_empty() => self.0.rewrite(plan, config),
            _ => Ok(Transformed::no(plan)),
        }
    }
}
