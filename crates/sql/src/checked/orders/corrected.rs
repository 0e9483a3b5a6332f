//! Nodes that say more of the order of their rows than is true, corrected.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{JoinType, Result, Statistics};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::equivalence::{EquivalenceClass, EquivalenceGroup};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, OrderingRequirements, PhysicalExpr};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::{
    CardinalityEffect, ChildrenPropertiesMode, ReplaceChildrenOptions,
};
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec,
};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, PlanProperties, SendableRecordBatchStream, StatisticsArgs,
};

use crate::checked::windows::counted;

/// A node that says what is true of its rows. It is shown as the one that was planned.
#[derive(Debug)]
pub(super) struct Corrected {
    planned: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    /// Set if nothing is said whatever the node is.
    is_silent: bool,
}

impl Corrected {
    /// Stands for a node of whose order nothing is said.
    pub(super) fn silent(node: &Arc<dyn ExecutionPlan>) -> Self {
        let nothing = EquivalenceProperties::new(node.schema());
        Self {
            is_silent: true,
            ..Self::new(node, nothing)
        }
    }

    /// Stands for a node that says too much.
    pub(super) fn of(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        if let Some(merge) = node.downcast_ref::<SortPreservingMergeExec>() {
            return Self::of_merge(node, merge);
        }
        if let Some(aggregate) = node.downcast_ref::<AggregateExec>()
            && aggregate.group_expr().has_grouping_set()
        {
            let nothing = EquivalenceProperties::new(node.schema());
            return Ok(Some(Self::new(node, nothing)));
        }
        if let Some(window) = counted(node) {
            return Self::of_window(&window);
        }
        match join_type_of(node) {
            Some(join_type) => Self::of_join(node, join_type),
            None => Ok(None),
        }
    }

    /// What is known of the input of a window, whose columns are its first ones.
    fn of_window(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let sides = node.children();
        let Some(input) = sides.first() else {
            return Ok(None);
        };
        let known = EquivalenceProperties::new(node.schema())
            .extend(input.equivalence_properties().clone())?;
        Ok(Some(Self::new(node, known)))
    }

    fn of_join(node: &Arc<dyn ExecutionPlan>, join_type: JoinType) -> Result<Option<Self>> {
        let sides = node.children();
        let [left, right] = sides.as_slice() else {
            return Ok(None);
        };
        let has_values = |side: &Arc<dyn ExecutionPlan>| {
            side.equivalence_properties()
                .eq_group()
                .iter()
                .next()
                .is_some()
        };
        let with_nulls = match join_type {
            JoinType::Left => has_values(right),
            JoinType::Right => has_values(left),
            JoinType::Full => has_values(left) || has_values(right),
            _ => false,
        };
        if with_nulls {
            return Ok(Some(Self::new(node, equal_columns(node)?)));
        }
        let is_sorted = |side: &Arc<dyn ExecutionPlan>| side.output_ordering().is_some();
        let both_shown = matches!(
            join_type,
            JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full
        );
        if both_shown && is_sorted(left) && is_sorted(right) {
            let mut known = node.equivalence_properties().clone();
            known.clear_orderings();
            return Ok(Some(Self::new(node, known)));
        }
        Ok(None)
    }

    fn of_merge(
        node: &Arc<dyn ExecutionPlan>,
        merge: &SortPreservingMergeExec,
    ) -> Result<Option<Self>> {
        let mut known = node.equivalence_properties().clone();
        known.clear_orderings();
        known.add_ordering(merge.expr().clone());
        if merge.input().output_partitioning().partition_count() > 1 {
            for order in node.equivalence_properties().oeq_class().iter() {
                if !known.ordering_satisfy(order.iter().cloned())? {
                    return Ok(Some(Self::new(node, known)));
                }
            }
        }
        Ok(None)
    }

    fn new(planned: &Arc<dyn ExecutionPlan>, known: EquivalenceProperties) -> Self {
        let properties = PlanProperties::clone(planned.properties()).with_eq_properties(known);
        Self {
            planned: Arc::clone(planned),
            properties: Arc::new(properties),
            is_silent: false,
        }
    }
}

/// The columns of a join that are equal. Without a partner they are both NULL.
fn equal_columns(join: &Arc<dyn ExecutionPlan>) -> Result<EquivalenceProperties> {
    let claimed = join.equivalence_properties().eq_group();
    let classes = claimed.iter().map(|class| {
        let columns = class.iter().filter(|expr| expr.is::<Column>());
        EquivalenceClass::new(columns.cloned())
    });
    let mut known = EquivalenceProperties::new(join.schema());
    known.add_equivalence_group(EquivalenceGroup::new(classes))?;
    Ok(known)
}

fn join_type_of(node: &Arc<dyn ExecutionPlan>) -> Option<JoinType> {
    if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        return Some(*join.join_type());
    }
    if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
        return Some(*join.join_type());
    }
    if let Some(join) = node.downcast_ref::<SortMergeJoinExec>() {
        return Some(join.join_type());
    }
    node.is::<CrossJoinExec>().then_some(JoinType::Inner)
}

impl ExecutionPlan for Corrected {
    fn name(&self) -> &str {
        self.planned.name()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.planned.children()
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        self.planned.required_input_ordering()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        self.planned.input_distribution_requirements()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.planned.maintains_input_order()
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        self.planned.benefits_from_input_partitioning()
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        self.planned.cardinality_effect()
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        self.planned.child_stats_requests(partition)
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        self.planned.statistics_from_inputs(inputs, args)
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.planned.apply_expressions(visit)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planned = self.planned.clone().replace_children(children, options)?;
        if self.is_silent {
            return Ok(Arc::new(Self::silent(&planned)));
        }
        match Self::of(&planned)? {
            Some(node) => Ok(Arc::new(node)),
            None => Ok(planned),
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        let planned = Arc::clone(&self.planned).reset_state()?;
        Ok(Arc::new(Self {
            planned,
            properties: Arc::clone(&self.properties),
            is_silent: self.is_silent,
        }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.planned.execute(partition, context)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.planned.metrics()
    }
}

impl DisplayAs for Corrected {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.planned.fmt_as(kind, f)
    }
}
