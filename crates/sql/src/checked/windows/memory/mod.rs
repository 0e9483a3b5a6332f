//! The memory of windows, which the engine does not count.
//!
//! [`partitions`] computes windows that need whole partitions, one partition after the other: the engine's node (version 55)
//! waits for all rows, whatever the partitions are. [`frames`] computes the others while rows come. Both reserve what they
//! keep in the memory of the query, and end it with an error if that is used up. Aggregates do the same for what they keep
//! of a frame. Functions whose results may be long also have the limit of a call, in [`results`].

mod frames;
pub(super) mod kept;
mod open;
mod partitions;
mod pending;
pub(super) mod results;
mod runs;

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use datafusion::physical_expr::{OrderingRequirements, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputOrderMode, PlanProperties,
    SendableRecordBatchStream,
};

use crate::checked::size::limit_of;

/// The node with its memory counted, if it is one of windows.
pub(in crate::checked) fn counted(node: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    if node.is::<Counted>() {
        return Some(Arc::clone(node));
    }
    let is_window = node.is::<WindowAggExec>() || node.is::<BoundedWindowAggExec>();
    is_window.then(|| Arc::new(Counted::new(Arc::clone(node))) as Arc<dyn ExecutionPlan>)
}

/// A node of windows whose memory is counted. It is shown as the one that was planned.
#[derive(Debug)]
struct Counted {
    planned: Arc<dyn ExecutionPlan>,
    metrics: ExecutionPlanMetricsSet,
}

impl Counted {
    fn new(planned: Arc<dyn ExecutionPlan>) -> Self {
        Self {
            planned,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl ExecutionPlan for Counted {
    fn name(&self) -> &str {
        self.planned.name()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.planned.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.planned.children()
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        self.planned.required_input_ordering()
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
        Ok(Arc::new(Self::new(planned)))
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
        Ok(Arc::new(Self::new(planned)))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        if let Some(window) = self.planned.downcast_ref::<WindowAggExec>() {
            return partitions::start(window, &self.metrics, partition, context);
        }
        if let Some(window) = self.planned.downcast_ref::<BoundedWindowAggExec>()
            && window.input_order_mode == InputOrderMode::Sorted
        {
            return frames::start(window, &self.metrics, partition, context);
        }
        self.planned.execute(partition, context)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

impl DisplayAs for Counted {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.planned.fmt_as(kind, f)
    }
}

/// The name of windows among what reserves memory.
pub(crate) const WINDOW: &str = "a window";

/// An empty reservation for a window.
pub(super) fn reservation(pool: &Arc<dyn MemoryPool>) -> MemoryReservation {
    MemoryConsumer::new(WINDOW).register(pool)
}

/// The most bytes that the results of a function may have at once.
fn results_limit(context: &TaskContext) -> usize {
    match context.memory_pool().memory_limit() {
        MemoryLimit::Finite(bytes) => limit_of(bytes),
        _ => usize::MAX,
    }
}

/// The bytes of the rows of a batch, once they are copied: of the slices alone.
fn bytes_of(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(bytes_of_array).sum()
}

/// The same of an array.
pub(super) fn bytes_of_array(array: &Arc<dyn Array>) -> usize {
    let views = match array.data_type() {
        DataType::Utf8View => long_views(array.as_string_view().views()),
        DataType::BinaryView => long_views(array.as_binary_view().views()),
        _ => 0,
    };
    let slice = array.to_data().get_slice_memory_size();
    views + slice.unwrap_or_else(|_| array.get_array_memory_size())
}

/// The bytes that are not in the views themselves, which begin with the length.
fn long_views(views: &[u128]) -> usize {
    const INLINE: usize = 12;
    let lengths = views
        .iter()
        .map(|view| usize::try_from(*view & u128::from(u32::MAX)).unwrap_or(usize::MAX));
    lengths.filter(|length| *length > INLINE).sum()
}
