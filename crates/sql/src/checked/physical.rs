//! Filters in physical plans, and the list of their rules.
//!
//! The engine's rule for filters moves them below any node, and finds the columns of the next node by their names alone:
//! above a join of two relations with a column `k`, both are one column then. The logical plan has moved them already, by
//! qualified names. So the rule is applied only where a filter is directly above a scan, which takes conditions in to skip
//! parts of files.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;

use super::orders::{KeptSorts, MissingSorts};

type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// The engine's rules for physical plans, without those that change an answer.
pub(crate) fn physical_rules() -> Vec<Rule> {
    let mut rules = Vec::new();
    for rule in PhysicalOptimizer::new().rules {
        match rule.name() {
            // Of an aggregate with FILTER it takes the value from the aggregate of an inner query. `max` of a file is
            // wrong if there are NaNs, which are not in the statistics of Parquet.
            "aggregate_statistics" => {}
            // It adds sorts, and removes them.
            "EnsureRequirements" => rules.extend([Arc::new(KeptSorts) as Rule, rule]),
            "FilterPushdown" => rules.push(Arc::new(IntoScans(rule)) as Rule),
            // Conditions that are found while a query runs.
            "FilterPushdown(Post)" => {}
            // The first one adds a node that wants the order of the query, the second one removes it.
            "OutputRequirements" if !rules.is_empty() => {
                rules.extend([Arc::new(MissingSorts) as Rule, rule]);
            }
            // The last rule; it changes nothing.
            "SanityCheckPlan" => rules.extend([Arc::new(MissingSorts) as Rule, rule]),
            _ => rules.push(rule),
        }
    }
    rules
}

/// The engine's rule, applied to filters of scans.
#[derive(Debug)]
struct IntoScans(Rule);

impl PhysicalOptimizerRule for IntoScans {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let moved = plan.transform_up(|node| {
            let of_scan = node
                .downcast_ref::<FilterExec>()
                .is_some_and(|filter| filter.input().children().is_empty());
            match of_scan {
                true => Ok(Transformed::yes(self.0.optimize(node, config)?)),
                false => Ok(Transformed::no(node)),
            }
        });
        Ok(moved?.data)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As for the rules of logical plans.
    #[test]
    fn the_engine_has_no_other_rules() {
        let found: Vec<String> = PhysicalOptimizer::new()
            .rules
            .iter()
            .map(|rule| rule.name().to_owned())
            .collect();
        let known = [
            "OutputRequirements",
            "aggregate_statistics",
            "join_selection",
            "LimitedDistinctAggregation",
            "FilterPushdown",
            "WindowTopN",
            "EnsureRequirements",
            "CombinePartialFinalAggregate",
            "OptimizeAggregateOrder",
            "ProjectionPushdown",
            "OutputRequirements",
            "LimitAggregation",
            "LimitPushPastWindows",
            "HashJoinBuffering",
            "LimitPushdown",
            "TopKRepartition",
            "ProjectionPushdown",
            "PushdownSort",
            "EnsureCooperative",
            "FilterPushdown(Post)",
            "SanityCheckPlan",
        ];
        assert_eq!(found, known);
    }

    /// A rule that the engine renames would be applied as it is.
    #[test]
    fn the_rules_are_there() {
        let engine = PhysicalOptimizer::new().rules.len();
        let rules = physical_rules();
        let has = |name| {
            rules
                .iter()
                .filter(|rule| format!("{rule:?}").contains(name))
                .count()
        };
        let found = ["IntoScans", "KeptSorts", "MissingSorts"].map(has);
        assert_eq!((rules.len(), found), (engine + 1, [1, 1, 2]));
    }
}
