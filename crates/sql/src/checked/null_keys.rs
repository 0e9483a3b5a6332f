//! `a IS NOT DISTINCT FROM b` as the key of a join.
//!
//! The engine has one switch for all keys of a join, whether NULL is equal to NULL. It turns the switch on for such a
//! condition, and later adds the keys of `c = d` from elsewhere to the same join: from WHERE, or from joins that it merges.
//! So a join gets these keys last, once no other condition can become one of its keys.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{JoinType, NullEquality, Result};
use datafusion::logical_expr::logical_plan::Join;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{LogicalPlan, Operator, binary_expr};
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

/// The engine's rule that merges inner joins. Those with such keys have them as conditions meanwhile.
pub(super) fn merged(
    rule: &Rule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    let opened = plan.transform_up_with_subqueries(|plan| {
        Ok(match plan {
            LogicalPlan::Join(join)
                if null_is_equal(&join) && join.join_type == JoinType::Inner =>
            {
                Transformed::yes(LogicalPlan::Join(without_keys(join)))
            }
            plan => Transformed::no(plan),
        })
    })?;
    let merged = rule.rewrite(opened.data, config)?;
    Ok(Transformed::new_transformed(
        merged.data,
        merged.transformed || opened.transformed,
    ))
}

fn without_keys(mut join: Join) -> Join {
    let keys = std::mem::take(&mut join.on).into_iter();
    let keys = keys.map(|(left, right)| binary_expr(left, Operator::IsNotDistinctFrom, right));
    join.filter = conjunction(keys.chain(join.filter.take()));
    join.null_equality = NullEquality::NullEqualsNothing;
    join
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
