//! Filters in physical plans. The engine's rule moves them below any node, and finds the columns of the next node by their
//! names alone: above a join of two relations with a column `k`, both are one column then. The logical plan has moved them
//! already, by qualified names. So the rule is applied only where a filter is directly above a scan, which takes
//! conditions in to skip parts of files.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;

type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// The engine's rules for physical plans, without those that move filters by names.
pub(crate) fn physical_rules() -> Vec<Rule> {
    let rules = PhysicalOptimizer::new().rules.into_iter();
    let rules = rules.filter_map(|rule| match rule.name() {
        "FilterPushdown" => Some(Arc::new(IntoScans(rule)) as Rule),
        // Conditions that are found while a query runs.
        "FilterPushdown(Post)" => None,
        _ => Some(rule),
    });
    rules.collect()
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
