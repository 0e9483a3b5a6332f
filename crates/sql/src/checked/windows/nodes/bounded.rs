//! Windows whose results are returned while rows come, and whose rows are kept only as long as frames need them.
//!
//! This is the engine's algorithm (`BoundedWindowAggExec`, version 55) with what it keeps counted; its node cannot be
//! measured from outside. The rows of a partition follow each other: the engine sorts what is not endless by partitions.

use std::sync::Arc;

use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::window::WindowEvalContext;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, RecordOutput as _,
};
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowExpr};
use datafusion::physical_plan::{ExecutionPlan, SendableRecordBatchStream};
use futures_util::StreamExt;

use super::budget::{Budget, Rows, stream};
use super::open::Open;
use super::peers::Peers;
use super::pending::Pending;
use crate::checked::windows::memory::{bytes_of, with_limit};

/// Computes the windows of a node, for one part of its input.
pub(super) fn start(
    window: &BoundedWindowAggExec,
    metrics: &ExecutionPlanMetricsSet,
    partition: usize,
    context: Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let windows = window.window_expr().to_vec();
    let state = Frames {
        budget: Budget::new(&context),
        open: Open::new(&windows),
        peers: Peers::of(&windows),
        windows,
        pending: Pending::default(),
        schema: window.schema(),
        input_schema: window.input().schema(),
        partition_bytes: 0,
        returned_bytes: 0,
        metrics: BaselineMetrics::new(metrics, partition),
        input: Some(window.input().execute(partition, context)?),
    };
    Ok(stream(window.schema(), state))
}

struct Frames {
    /// `None` once it has ended.
    input: Option<SendableRecordBatchStream>,
    windows: Vec<Arc<dyn WindowExpr>>,
    /// The partitions that may go on.
    open: Open,
    /// Rows that wait for those with equal keys.
    peers: Peers,
    /// The rows without all results.
    pending: Pending,
    schema: SchemaRef,
    input_schema: SchemaRef,
    /// The bytes of the open partitions.
    partition_bytes: usize,
    /// Those of the batch that was returned last.
    returned_bytes: usize,
    budget: Budget,
    metrics: BaselineMetrics,
}

impl Rows for Frames {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        self.returned_bytes = 0;
        while let Some(input) = &mut self.input {
            let batch = input.next().await.transpose()?;
            let time = self.metrics.elapsed_compute().clone();
            let _timer = time.timer();
            match batch {
                Some(batch) if batch.num_rows() == 0 => continue,
                Some(batch) => {
                    let results = batch.num_rows() * bytes_of_results(&self.windows);
                    self.budget.set_free_bytes(2 * (bytes_of(&batch) + results));
                    let complete = self.peers.add(batch)?;
                    self.add(complete)?;
                }
                None => {
                    // What is below frees its memory now.
                    self.input = None;
                    let rest = self.peers.rest();
                    self.add(rest)?;
                    self.open.end();
                }
            }
            if let Some(batch) = self.computed()? {
                return Ok(Some(batch.record_output(&self.metrics)));
            }
        }
        self.budget.end();
        Ok(None)
    }
}

impl Frames {
    fn add(&mut self, batches: Vec<RecordBatch>) -> Result<()> {
        // As rows that wait, and as those of their partitions.
        let bytes: usize = batches.iter().map(bytes_of).sum();
        self.reserve(2 * bytes)?;
        let batch = match batches.as_slice() {
            [] => return Ok(()),
            [batch] => batch.clone(),
            _ => concat_batches(&self.input_schema, &batches)?,
        };
        drop(batches);
        // Where columns of the plan may be NULL and its own may not, or the other way round.
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let schema = Arc::clone(&self.input_schema);
        let batch = RecordBatch::try_new_with_options(schema, batch.columns().to_vec(), &rows)?;
        let parts = self.open.parts(&batch)?;
        self.reserve(2 * bytes + self.open.bytes_to_copy(&parts)?)?;
        let runs = self.open.add(&batch, &parts)?;
        self.partition_bytes += bytes;
        self.pending.add(batch, runs);
        Ok(())
    }

    /// Computes what can be computed, and returns the rows that have all results.
    fn computed(&mut self) -> Result<Option<RecordBatch>> {
        let results = self.pending.rows() * bytes_of_results(&self.windows);
        let more = results.saturating_add(self.pending.bytes_to_copy());
        self.reserve(more)?;
        let context = WindowEvalContext::default();
        let before = self.open.bytes_of_results();
        for (at, window) in self.windows.iter().enumerate() {
            let Some(states) = self.open.states.get_mut(at) else {
                return internal_err!("a window has no state");
            };
            with_limit(self.budget.results_limit, || {
                window.evaluate_stateful(&self.open.partitions, states, &context)
            })?;
            let new = self.open.bytes_of_results().saturating_sub(before);
            self.reserve(more.max(new))?;
        }
        let batch = self.pending.take(&mut self.open.states, &self.schema)?;
        self.open.prune()?;
        self.partition_bytes = self.open.bytes();
        // Until the next batch is asked for.
        self.returned_bytes = batch.as_ref().map_or(0, bytes_of);
        self.reserve(0)?;
        Ok(batch)
    }

    /// Reserves what is kept and some more.
    fn reserve(&self, more: usize) -> Result<()> {
        let rows = self.pending.bytes() + self.partition_bytes + self.peers.bytes();
        let bytes = rows + self.returned_bytes;
        self.budget.reserve(bytes.saturating_add(more))
    }
}

/// About the bytes of the results for a row: a number each, and one of them as the engine collects it.
fn bytes_of_results(windows: &[Arc<dyn WindowExpr>]) -> usize {
    windows.len() * size_of::<u64>() + size_of::<ScalarValue>()
}
