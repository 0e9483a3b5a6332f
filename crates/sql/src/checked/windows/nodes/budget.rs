//! What the nodes of windows have in common.

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryLimit, MemoryReservation};
use datafusion::physical_expr::window::StandardWindowExpr;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::WindowExpr;
use futures_util::stream::try_unfold;

use crate::checked::size::limit_of;
use crate::checked::windows::memory::reservation;

/// The memory of a node. One batch is free, as in other nodes that pass on what they read.
pub(super) struct Budget {
    memory: MemoryReservation,
    free_bytes: usize,
    /// The most bytes that the results of a function may have at once.
    pub(super) results_limit: usize,
}

impl Budget {
    pub(super) fn new(context: &TaskContext) -> Self {
        let pool = context.memory_pool();
        Self {
            memory: reservation(pool),
            free_bytes: 0,
            results_limit: match pool.memory_limit() {
                MemoryLimit::Finite(bytes) => limit_of(bytes),
                _ => usize::MAX,
            },
        }
    }

    /// What the last batch needs.
    pub(super) fn set_free_bytes(&mut self, bytes: usize) {
        self.free_bytes = bytes;
    }

    /// Reserves so many bytes in all.
    pub(super) fn reserve(&self, bytes: usize) -> Result<()> {
        let bytes = bytes.saturating_sub(self.free_bytes);
        self.memory.try_resize(bytes)
    }

    /// Leaves the memory to others.
    pub(super) fn end(&mut self) {
        self.memory.free();
    }
}

/// What returns rows with results.
pub(super) trait Rows: Send + 'static {
    /// The next rows, or `None` if it has ended.
    fn next(&mut self) -> impl Future<Output = Result<Option<RecordBatch>>> + Send;
}

/// The rows as they are asked for.
pub(super) fn stream(schema: SchemaRef, state: impl Rows) -> SendableRecordBatchStream {
    let rows = try_unfold(state, |mut state| async move {
        let batch = state.next().await?;
        Ok(batch.map(|batch| (batch, state)))
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}

/// Whether a function is computed from the rows of its frame: all aggregates are, and `rank` is not.
pub(super) fn uses_frame(window: &dyn WindowExpr) -> bool {
    let function = window.as_any().downcast_ref::<StandardWindowExpr>();
    let evaluator = function.map(|function| function.get_standard_func_expr().create_evaluator());
    match evaluator {
        Some(Ok(evaluator)) => evaluator.uses_window_frame(),
        _ => true,
    }
}
