//! Orders of rows that the engine believes to be there, or has lost.
//!
//! These nodes say more of their rows than is true, and the engine leaves sorts out above them:
//!
//! * A merge of sorted parts has the order by which it merges. It says that it keeps all orders of the parts: below a window
//!   over a column with one value, by which there is nothing to merge, rows were in no order.
//! * A window says that its results are sorted, also in turn with other columns.
//! * An aggregate with grouping sets (ROLLUP, CUBE) says that a group has one value where its input has one. It is NULL in
//!   some rows.
//! * An outer join says that a column has one value where the side with NULLs has one. Any join of a sorted side says that
//!   rows with equal values of it are sorted as the other side is; but they follow each other for each row of the first.
//!
//! Where a column is equal to an earlier one or has one value, the engine also leaves a sort out, and later rules do not know
//! that any more; the last check then refuses the plan.
//!
//! So two rules are added. Before the rule of the engine that adds and removes sorts, [`KeptSorts`] hides the order of
//! everything below a sort of the query but scans: a sort with a limit that is removed is lost. After it, [`MissingSorts`] corrects what
//! the nodes say, and sorts where a node wants another order: aggregates, windows, and the query as a whole.

mod corrected;
mod unordered;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_expr::{LexOrdering, OrderingRequirements};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use corrected::Corrected;
use unordered::Unordered;

/// Keeps the sorts of a query, with all their columns, unless they sort what a scan returns.
#[derive(Debug)]
pub(super) struct KeptSorts;

impl PhysicalOptimizerRule for KeptSorts {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let kept = plan.transform_up(|node| match node.downcast_ref::<SortExec>() {
            Some(sort) if !is_scan(sort.input()) => {
                let input: Arc<dyn ExecutionPlan> =
                    Arc::new(Unordered::new(Arc::clone(sort.input())));
                Ok(Transformed::yes(with_inputs(node, vec![input])?))
            }
            _ => Ok(Transformed::no(node)),
        });
        Ok(kept?.data)
    }

    fn name(&self) -> &'static str {
        "kept_sorts"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether a plan is a scan or several, with conditions and expressions.
fn is_scan(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let inputs = plan.children();
    let keeps_order =
        plan.is::<ProjectionExec>() || plan.is::<FilterExec>() || plan.is::<UnionExec>();
    inputs.is_empty() || (keeps_order && inputs.into_iter().all(is_scan))
}

/// Sorts what is not sorted as a node wants it.
#[derive(Debug)]
pub(super) struct MissingSorts;

impl PhysicalOptimizerRule for MissingSorts {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let sorted = plan.transform_up(|node| {
            if let Some(unordered) = node.downcast_ref::<Unordered>() {
                // A sort that runs sorts nothing if its input is said to be sorted.
                let silent: Arc<dyn ExecutionPlan> = Arc::new(Corrected::silent(unordered.input()));
                return Ok(Transformed::yes(silent));
            }
            let sorted = with_sorts(node)?;
            Ok(match Corrected::of(&sorted.data)? {
                Some(node) => Transformed::yes(Arc::new(node) as Arc<dyn ExecutionPlan>),
                None => sorted,
            })
        });
        Ok(sorted?.data)
    }

    fn name(&self) -> &'static str {
        "missing_sorts"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn with_sorts(node: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let wanted = node.required_input_ordering();
    let mut inputs: Vec<_> = node.children().into_iter().map(Arc::clone).collect();
    let mut is_changed = false;
    for (input, wanted) in inputs.iter_mut().zip(wanted) {
        let Some(wanted) = wanted.map(OrderingRequirements::into_single) else {
            continue;
        };
        let known = input.equivalence_properties();
        if !known.ordering_satisfy_requirement(wanted.clone())? {
            let is_parted = input.output_partitioning().partition_count() > 1;
            let sort = SortExec::new(LexOrdering::from(wanted), Arc::clone(input));
            *input = Arc::new(sort.with_preserve_partitioning(is_parted));
            is_changed = true;
        }
    }
    match is_changed {
        true => Ok(Transformed::yes(with_inputs(node, inputs)?)),
        false => Ok(Transformed::no(node)),
    }
}

fn with_inputs(
    node: Arc<dyn ExecutionPlan>,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    node.replace_children(inputs, options)
}
