//! Windows over whole partitions. The rows of a partition follow each other, so the partitions that have ended are computed
//! together when a batch begins another one.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::compute::{concat, concat_batches};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::window::StandardWindowExpr;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, RecordOutput as _,
};
use datafusion::physical_plan::windows::{WindowAggExec, WindowExpr};
use datafusion::physical_plan::{ExecutionPlan, SendableRecordBatchStream};
use futures_util::StreamExt;

use super::budget::{Budget, Rows, stream, uses_frame};
use super::runs::{Runs, ranges};
use crate::checked::windows::memory::{
    bytes_of, bytes_of_array, may_be_long, set_rows, with_limit,
};

/// Computes the windows of a node, for one part of its input.
pub(super) fn start(
    window: &WindowAggExec,
    metrics: &ExecutionPlanMetricsSet,
    partition: usize,
    context: Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let keys = window.partition_by_sort_keys()?.into_iter();
    let keys = keys.map(|key| key.expr).collect();
    let state = Partitions {
        budget: Budget::new(&context),
        windows: window.window_expr().to_vec(),
        schema: window.schema(),
        input_schema: window.input().schema(),
        metrics: BaselineMetrics::new(metrics, partition),
        input: Some(window.input().execute(partition, context)?),
        open: Runs::new(keys),
    };
    Ok(stream(window.schema(), state))
}

struct Partitions {
    /// `None` once it has ended.
    input: Option<SendableRecordBatchStream>,
    windows: Vec<Arc<dyn WindowExpr>>,
    schema: SchemaRef,
    input_schema: SchemaRef,
    /// The rows of the last partition, which may go on.
    open: Runs,
    budget: Budget,
    metrics: BaselineMetrics,
}

impl Rows for Partitions {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(input) = &mut self.input {
            match input.next().await.transpose()? {
                Some(batch) if batch.num_rows() == 0 => {}
                Some(batch) => {
                    let ended = self.add(&batch)?;
                    if !ended.is_empty() {
                        return self.computed(ended).map(Some);
                    }
                }
                // What is below frees its memory now.
                None => self.input = None,
            }
        }
        match self.open.rest() {
            rest if rest.is_empty() => {
                self.budget.end();
                Ok(None)
            }
            rest => self.computed(rest).map(Some),
        }
    }
}

impl Partitions {
    /// Adds rows, and returns those of partitions that have ended.
    fn add(&mut self, batch: &RecordBatch) -> Result<Vec<RecordBatch>> {
        let ended = self.open.add(batch)?;
        let results = batch.num_rows() * bytes_of_results(&self.windows);
        self.budget.set_free_bytes(3 * bytes_of(batch) + results);
        self.reserve(ended.iter().map(bytes_of).sum())?;
        Ok(ended)
    }

    /// Reserves what is kept and some more.
    fn reserve(&self, more: usize) -> Result<()> {
        self.budget.reserve(self.open.bytes().saturating_add(more))
    }

    /// The rows of partitions with the results of the windows.
    fn computed(&self, ended: Vec<RecordBatch>) -> Result<RecordBatch> {
        let time = self.metrics.elapsed_compute().clone();
        let _timer = time.timer();
        let batch_bytes: usize = ended.iter().map(bytes_of).sum();
        let rows: usize = ended.iter().map(RecordBatch::num_rows).sum();
        let copied = match ended.len() {
            1 => 0,
            _ => batch_bytes,
        };
        let results = rows.saturating_mul(bytes_of_results(&self.windows));
        self.reserve(results.saturating_add(batch_bytes + copied))?;
        let batch = concat_batches(&self.input_schema, &ended)?;
        drop(ended);
        let ranges = ranges(&self.open.values(&batch)?, batch.num_rows())?;
        let mut columns = batch.columns().to_vec();
        let mut long = 0;
        for window in &self.windows {
            let parts = with_limit(self.budget.results_limit, || {
                let parts = ranges.iter().map(|range| {
                    set_rows(rows_of_a_result(&**window, range.len()));
                    window.evaluate(&batch.slice(range.start, range.len()))
                });
                parts.collect::<Result<Vec<ArrayRef>>>()
            })?;
            if may_be_long(window.field()?.data_type()) {
                let bytes: usize = parts.iter().map(bytes_of_array).sum();
                // These, and the column that they become.
                self.reserve(results.saturating_add(batch_bytes + long + 2 * bytes))?;
                long += bytes;
            }
            let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
            columns.push(concat(&parts)?);
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        // Until the next batch is asked for.
        self.reserve(bytes_of(&batch))?;
        Ok(batch.record_output(&self.metrics))
    }
}

/// For how many rows of a partition there is one result.
fn rows_of_a_result(window: &dyn WindowExpr, rows: usize) -> usize {
    match is_of_all_rows(window) {
        true => rows,
        false => 1,
    }
}

fn is_of_all_rows(window: &dyn WindowExpr) -> bool {
    let frame = window.get_window_frame();
    frame.start_bound.is_unbounded() && frame.end_bound.is_unbounded()
}

/// About the bytes of the results for a row: a number each, and one of them as the engine collects it.
fn bytes_of_results(windows: &[Arc<dyn WindowExpr>]) -> usize {
    let collected = match windows.iter().any(|window| is_collected(&**window)) {
        true => size_of::<ScalarValue>(),
        false => 0,
    };
    windows.len() * size_of::<u64>() + collected
}

/// Whether there is a result for each row. One for all rows, or a column that the function makes, is not collected.
fn is_collected(window: &dyn WindowExpr) -> bool {
    uses_frame(window) && (window.as_any().is::<StandardWindowExpr>() || !is_of_all_rows(window))
}
