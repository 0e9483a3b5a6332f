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
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_expr::window::WindowEvalContext;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, RecordOutput as _,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowExpr};
use datafusion::physical_plan::{ExecutionPlan, SendableRecordBatchStream};
use futures_util::StreamExt;
use futures_util::stream::try_unfold;

use super::bytes::bytes_of;
use super::open::Open;
use super::peers::Peers;
use super::pending::Pending;
use super::{reservation, results, results_limit};

/// Computes the windows of a node, for one part of its input.
pub(super) fn start(
    window: &BoundedWindowAggExec,
    metrics: &ExecutionPlanMetricsSet,
    partition: usize,
    context: Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let windows = window.window_expr().to_vec();
    let state = Frames {
        limit: results_limit(&context),
        memory: reservation(context.memory_pool()),
        open: Open::new(&windows),
        peers: Peers::of(&windows),
        windows,
        pending: Pending::default(),
        schema: window.schema(),
        input_schema: window.input().schema(),
        kept: 0,
        returned: 0,
        at_once: 0,
        metrics: BaselineMetrics::new(metrics, partition),
        input: Some(window.input().execute(partition, context)?),
    };
    let rows = try_unfold(state, |mut state| async move {
        let batch = state.next().await?;
        Ok(batch.map(|batch| (batch, state)))
    });
    Ok(Box::pin(RecordBatchStreamAdapter::new(
        window.schema(),
        rows,
    )))
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
    kept: usize,
    /// Those of the batch that was returned last.
    returned: usize,
    /// What is needed for the last batch.
    at_once: usize,
    memory: MemoryReservation,
    limit: usize,
    metrics: BaselineMetrics,
}

impl Frames {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        self.returned = 0;
        while let Some(input) = &mut self.input {
            let batch = input.next().await.transpose()?;
            let time = self.metrics.elapsed_compute().clone();
            let _timer = time.timer();
            match batch {
                Some(batch) if batch.num_rows() == 0 => continue,
                Some(batch) => {
                    let results = batch.num_rows() * bytes_of_results(&self.windows);
                    self.at_once = 2 * (bytes_of(&batch) + results);
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
        self.memory.free();
        Ok(None)
    }

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
        self.kept += bytes;
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
            results::with_limit(self.limit, || {
                window.evaluate_stateful(&self.open.partitions, states, &context)
            })?;
            let new = self.open.bytes_of_results().saturating_sub(before);
            self.reserve(more.max(new))?;
        }
        let batch = self.pending.take(&mut self.open.states, &self.schema)?;
        self.open.prune()?;
        self.kept = self.open.bytes();
        // Until the next batch is asked for.
        self.returned = batch.as_ref().map_or(0, bytes_of);
        self.reserve(0)?;
        Ok(batch)
    }

    /// Reserves what is kept and some more. One batch is free, as in other nodes that pass on what they read.
    fn reserve(&self, more: usize) -> Result<()> {
        let kept = self.pending.bytes() + self.kept + self.peers.bytes() + self.returned;
        let bytes = kept.saturating_add(more);
        self.memory.try_resize(bytes.saturating_sub(self.at_once))
    }
}

/// About the bytes of the results for a row: a number each, and one of them as the engine collects it.
fn bytes_of_results(windows: &[Arc<dyn WindowExpr>]) -> usize {
    windows.len() * size_of::<u64>() + size_of::<ScalarValue>()
}
