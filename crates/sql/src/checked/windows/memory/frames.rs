//! Windows whose results are returned while rows come, and whose rows are kept only as long as frames need them.
//!
//! This is the engine's algorithm (`BoundedWindowAggExec`, version 55) with what it keeps counted; its node cannot be
//! measured from outside. The rows of a partition follow each other: the engine sorts what is not endless by partitions.

use std::sync::Arc;

use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::logical_expr::{WindowFrameBound, WindowFrameUnits};
use datafusion::physical_expr::window::WindowEvalContext;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, RecordOutput as _,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowExpr};
use datafusion::physical_plan::{ExecutionPlan, SendableRecordBatchStream};
use futures_util::StreamExt;
use futures_util::stream::try_unfold;

use super::open::Open;
use super::pending::Pending;
use super::runs::Runs;
use super::{bytes_of, reservation, results, results_limit};

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
        peers: peers(&windows),
        windows,
        pending: Pending::default(),
        schema: window.schema(),
        input_schema: window.input().schema(),
        kept: 0,
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

/// Whether frames of a range that end before the row have other rows with the key of the row: if that is NULL, NaN or
/// infinite. The engine takes such a frame for known when it comes to the row. So all rows with one key come at once.
fn peers(windows: &[Arc<dyn WindowExpr>]) -> Option<Runs> {
    let needs_all = |window: &&Arc<dyn WindowExpr>| {
        let frame = window.get_window_frame();
        frame.units == WindowFrameUnits::Range
            && matches!(frame.end_bound, WindowFrameBound::Preceding(_))
    };
    let window = windows.iter().find(needs_all)?;
    let order = window.order_by().iter().map(|key| Arc::clone(&key.expr));
    let keys = window.partition_by().iter().cloned().chain(order);
    Some(Runs::new(keys.collect()))
}

struct Frames {
    /// `None` once it has ended.
    input: Option<SendableRecordBatchStream>,
    windows: Vec<Arc<dyn WindowExpr>>,
    /// The partitions that may go on.
    open: Open,
    /// Rows that wait for those with equal keys.
    peers: Option<Runs>,
    /// The rows without all results.
    pending: Pending,
    schema: SchemaRef,
    input_schema: SchemaRef,
    /// The bytes of the open partitions.
    kept: usize,
    /// What is needed for the last batch.
    at_once: usize,
    memory: MemoryReservation,
    limit: usize,
    metrics: BaselineMetrics,
}

impl Frames {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(input) = &mut self.input {
            let batch = input.next().await.transpose()?;
            let time = self.metrics.elapsed_compute().clone();
            let _timer = time.timer();
            match batch {
                Some(batch) if batch.num_rows() == 0 => continue,
                Some(batch) => {
                    self.at_once = 2 * bytes_of(&batch);
                    let complete = match &mut self.peers {
                        Some(peers) => peers.add(&batch)?,
                        None => vec![batch],
                    };
                    self.add(&complete)?;
                }
                None => {
                    // What is below frees its memory now.
                    self.input = None;
                    let rest = self.peers.as_mut().map(Runs::rest);
                    self.add(&rest.unwrap_or_default())?;
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

    fn add(&mut self, batches: &[RecordBatch]) -> Result<()> {
        // As rows that wait, and as those of their partitions.
        self.reserve(2 * batches.iter().map(bytes_of).sum::<usize>())?;
        let batch = match batches {
            [] => return Ok(()),
            [batch] => batch.clone(),
            [first, ..] => concat_batches(&first.schema(), batches)?,
        };
        // Where columns of the plan may be NULL and its own may not, or the other way round.
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let schema = Arc::clone(&self.input_schema);
        let batch = RecordBatch::try_new_with_options(schema, batch.columns().to_vec(), &rows)?;
        let runs = self.open.add(&batch)?;
        self.pending.add(batch, runs);
        Ok(())
    }

    /// Computes what can be computed, and returns the rows that have all results.
    fn computed(&mut self) -> Result<Option<RecordBatch>> {
        let context = WindowEvalContext::default();
        for (window, states) in self.windows.iter().zip(&mut self.open.states) {
            results::within(self.limit, 1, || {
                window.evaluate_stateful(&self.open.partitions, states, &context)
            })?;
        }
        let batch = self.pending.take(&mut self.open.states, &self.schema)?;
        self.open.prune()?;
        self.kept = self.open.bytes();
        self.reserve(0)?;
        Ok(batch)
    }

    /// Reserves what is kept and some more. One batch is free, as in other nodes that pass on what they read.
    fn reserve(&self, more: usize) -> Result<()> {
        let held = self.peers.as_ref().map_or(0, Runs::bytes);
        let bytes = self.pending.bytes() + self.kept + held + more;
        self.memory.try_resize(bytes.saturating_sub(self.at_once))
    }
}
