//! The node of a plan that reads a relation.

use std::fmt;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};

use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, RecordBatchStream,
    SendableRecordBatchStream,
};
use futures_util::{Stream, StreamExt};
use ostrakon_cell::Interrupt;
use tokio::task::{JoinError, spawn_blocking};

use super::size::statistics;

/// Record batches of a partition that wait for the consumer.
pub(super) const WAITING: usize = 2;

/// A table as a plan reads it: projected, with its conditions.
pub(crate) trait Relation: fmt::Debug + Send + Sync {
    /// The columns returned.
    fn schema(&self) -> SchemaRef;

    /// Number of partitions, at least one.
    fn partitions(&self) -> usize;

    /// By which of the returned columns the rows of each partition are sorted, and whether descending.
    fn order(&self) -> Vec<(usize, bool)>;

    /// Starts reading. All partitions, at most [`partitions`](Self::partitions), share a snapshot of
    /// this moment.
    fn open(&self, start: Start) -> ostrakon_cell::Result<Vec<Box<dyn Reading>>>;

    /// An estimate of the rows that all partitions return. It must not depend on what the reader does not see: plans show
    /// it.
    fn rows(&self) -> Option<u64> {
        None
    }

    /// What an explanation shows: names and values.
    fn describe(&self) -> Vec<(&'static str, String)>;
}

/// How a relation is read.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    /// Ends the scans of all partitions.
    pub(crate) interrupt: Interrupt,
    /// No more rows are needed of each partition.
    pub(crate) limit: Option<usize>,
}

/// A partition that is read.
pub(crate) trait Reading: Send {
    /// The next rows; `None` at the end.
    fn next(&mut self) -> ostrakon_cell::Result<Option<RecordBatch>>;
}

/// A relation whose partitions were opened and are not all read yet.
#[derive(Default)]
struct Opened {
    /// By partition; `None` for those that were taken. There may be fewer than the plan has.
    readings: Vec<Option<Box<dyn Reading>>>,
    /// Until the last one was taken.
    end: Option<Arc<EndsScans>>,
}

impl Opened {
    /// `None` if the partition was taken, or nothing was opened.
    fn take(&mut self, partition: usize) -> Option<(Box<dyn Reading>, Arc<EndsScans>)> {
        let end = self.end.clone()?;
        let reading = match self.readings.get_mut(partition) {
            Some(reading) => reading.take()?,
            None => Box::new(Nothing),
        };
        if self.readings.iter().all(Option::is_none) {
            self.end = None;
        }
        Some((reading, end))
    }
}

/// A partition without rows.
struct Nothing;

impl Reading for Nothing {
    fn next(&mut self) -> ostrakon_cell::Result<Option<RecordBatch>> {
        Ok(None)
    }
}

/// Ends scans when it is dropped, also in the middle of a read: those of a relation when nobody reads
/// a partition any more.
pub(crate) struct EndsScans(pub(crate) Interrupt);

impl Drop for EndsScans {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Reads a relation.
pub(crate) struct SourceExec {
    relation: Arc<dyn Relation>,
    limit: Option<usize>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    /// An estimate, made when it is asked for.
    rows: OnceLock<Option<u64>>,
    /// What was opened, ahead of the execution or by its first partition.
    opened: Mutex<Opened>,
}

impl SourceExec {
    pub(crate) fn new(relation: Arc<dyn Relation>, limit: Option<usize>) -> Self {
        let schema = relation.schema();
        let order = relation.order().into_iter().filter_map(|(at, descending)| {
            let field = schema.fields().get(at)?;
            let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(field.name(), at));
            let options = SortOptions {
                descending,
                nulls_first: descending,
            };
            Some(PhysicalSortExpr::new(column, options))
        });
        let order: Vec<PhysicalSortExpr> = order.collect();
        let equivalences = match order.is_empty() {
            true => EquivalenceProperties::new(schema),
            false => EquivalenceProperties::new_with_orderings(schema, [order]),
        };
        let properties = PlanProperties::new(
            equivalences,
            Partitioning::UnknownPartitioning(relation.partitions()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            relation,
            limit,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            rows: OnceLock::new(),
            opened: Mutex::default(),
        }
    }

    fn open(&self) -> Result<Opened> {
        let interrupt = Interrupt::default();
        let start = Start {
            interrupt: interrupt.clone(),
            limit: self.limit,
        };
        let end = Some(Arc::new(EndsScans(interrupt)));
        let readings = self.relation.open(start).map_err(external)?;
        let readings = readings.into_iter().map(Some).collect();
        Ok(Opened { readings, end })
    }

    fn opened(&self) -> std::sync::MutexGuard<'_, Opened> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A partition to read: of what is open, or else of what is opened now. Only the rounds of a recursive query read a
    /// relation again. Each has a snapshot of its own: the contract cannot start a scan on an earlier one.
    fn take(&self, partition: usize) -> Result<(Box<dyn Reading>, Arc<EndsScans>)> {
        let mut opened = self.opened();
        if let Some(taken) = opened.take(partition) {
            return Ok(taken);
        }
        *opened = self.open()?;
        opened.take(partition).ok_or_else(|| {
            DataFusionError::Internal(format!("a scan without partition {partition}"))
        })
    }
}

/// Opens the scans of a plan, so that all of them read what was there before any row was returned or written.
///
/// # Errors
/// Those of the tables.
pub(crate) fn open_scans(plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
    if let Some(source) = plan.downcast_ref::<SourceExec>() {
        *source.opened() = source.open()?;
    }
    plan.children().into_iter().try_for_each(open_scans)
}

/// The error of a thread that ended without a batch. A panic goes on.
fn stopped(error: JoinError) -> DataFusionError {
    match error.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        Err(error) => DataFusionError::ExecutionJoin(Box::new(error)),
    }
}

fn external(error: ostrakon_cell::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

impl ExecutionPlan for SourceExec {
    fn name(&self) -> &'static str {
        "TableScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (mut reading, end) = self.take(partition)?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let mut builder = RecordBatchReceiverStream::builder(self.relation.schema(), WAITING);
        let sender = builder.tx();
        builder.spawn(async move {
            // A thread is taken for one batch, and only when there is room for it: a merge waits for a
            // batch of each partition, and there may be more partitions than threads.
            while let Ok(room) = sender.reserve().await {
                let elapsed = metrics.elapsed_compute().clone();
                let step = spawn_blocking(move || {
                    let _timer = elapsed.timer();
                    let batch = reading.next();
                    (reading, batch)
                });
                let (back, batch) = step.await.map_err(stopped)?;
                reading = back;
                let Some(batch) = batch.map_err(external)? else {
                    break;
                };
                metrics.record_output(batch.num_rows());
                room.send(Ok(batch));
            }
            metrics.done();
            Ok(())
        });
        Ok(Box::pin(Guarded {
            stream: builder.build(),
            _end: end,
        }))
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let rows = *self.rows.get_or_init(|| self.relation.rows());
        let partitions = self.relation.partitions().max(1) as u64;
        let limit = self.limit.map_or(u64::MAX, |limit| limit as u64);
        let rows = rows.map(|rows| match args.partition() {
            Some(_) => (rows / partitions).min(limit),
            None => rows.min(limit.saturating_mul(partitions)),
        });
        Ok(Arc::new(statistics(&self.relation.schema(), rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn supports_limit_pushdown(&self) -> bool {
        false
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(Self::new(self.relation.clone(), limit)))
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }
}

impl DisplayAs for SourceExec {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tree = matches!(kind, DisplayFormatType::TreeRender);
        if !tree {
            f.write_str("TableScan:")?;
        }
        let mut pairs = self.relation.describe();
        if let Some(limit) = self.limit {
            pairs.push(("limit", limit.to_string()));
        }
        for (at, (name, value)) in pairs.iter().enumerate() {
            match (tree, at) {
                (true, _) => writeln!(f, "{name}={value}")?,
                (false, 0) => write!(f, " {name}={value}")?,
                (false, _) => write!(f, ", {name}={value}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for SourceExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceExec")
            .field("relation", &self.relation)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

/// A stream that takes part in keeping the scans of its relation alive.
struct Guarded {
    stream: SendableRecordBatchStream,
    _end: Arc<EndsScans>,
}

impl Stream for Guarded {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.stream.poll_next_unpin(context)
    }
}

impl RecordBatchStream for Guarded {
    fn schema(&self) -> SchemaRef {
        self.stream.schema()
    }
}
