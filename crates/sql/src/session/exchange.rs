//! Exchanges between the threads of a query, each with one sender.
//!
//! An exchange that gets no more memory writes its batches to files. In the engine's version 55.2 a query waits forever if
//! two senders do so at once (<https://github.com/apache/datafusion/issues/24883>): each opens a file, and the receiver
//! waits for the first one while its batch is in the second. So an exchange with several senders is replaced by several
//! with one sender each, whose receivers read all of them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties, SendableRecordBatchStream,
};
use futures_util::stream::select_all;

/// The most senders. Each collects a batch for each receiver, beside the memory of the query; those of more parts take turns.
const SENDERS_MAX: usize = 4;

/// The plan with one sender for each exchange.
///
/// # Errors
/// None known.
pub(super) fn with_one_sender(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let divided = plan.transform_up(|node| {
        let shared = node
            .downcast_ref::<RepartitionExec>()
            // One that keeps an order has a file for each sender.
            .filter(|exchange| parts(exchange.input()) > 1 && !exchange.preserve_order())
            .map(|exchange| exchange.partitioning().clone());
        Ok(match shared {
            Some(partitioning) => {
                let exchange: Arc<dyn ExecutionPlan> =
                    Arc::new(DividedExchange::new(node, &partitioning)?);
                Transformed::yes(exchange)
            }
            None => Transformed::no(node),
        })
    });
    Ok(divided?.data)
}

fn parts(input: &Arc<dyn ExecutionPlan>) -> usize {
    input.output_partitioning().partition_count()
}

/// An exchange in the form of several with one sender each. It is shown as the one that was planned.
#[derive(Debug)]
struct DividedExchange {
    planned: Arc<dyn ExecutionPlan>,
    partitioning: Partitioning,
    senders: Vec<RepartitionExec>,
}

impl DividedExchange {
    fn new(planned: Arc<dyn ExecutionPlan>, partitioning: &Partitioning) -> Result<Self> {
        let mut senders = Vec::new();
        for input in planned.children() {
            let (count, many) = (parts(input), parts(input).min(SENDERS_MAX));
            for at in 0..many {
                let some = count * at / many..count * (at + 1) / many;
                let mut input: Arc<dyn ExecutionPlan> =
                    Arc::new(SomePartitions::new(input.clone(), some));
                if parts(&input) > 1 {
                    input = Arc::new(CoalescePartitionsExec::new(input));
                }
                senders.push(RepartitionExec::try_new(input, partitioning.clone())?);
            }
        }
        Ok(Self {
            planned,
            partitioning: partitioning.clone(),
            senders,
        })
    }
}

impl ExecutionPlan for DividedExchange {
    fn name(&self) -> &'static str {
        "RepartitionExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.planned.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.planned.children()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.planned.maintains_input_order()
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
        Ok(Arc::new(Self::new(planned, &self.partitioning)?))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let received = self.senders.iter();
        let received = received.map(|sender| sender.execute(partition, context.clone()));
        let received = select_all(received.collect::<Result<Vec<_>>>()?);
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            received,
        )))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        let mut all = MetricsSet::new();
        let sets = self.senders.iter().filter_map(ExecutionPlan::metrics);
        for set in sets {
            for metric in set.iter() {
                all.push(metric.clone());
            }
        }
        Some(all)
    }
}

impl DisplayAs for DividedExchange {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.planned.fmt_as(kind, f)
    }
}

/// Some of the partitions of a plan.
#[derive(Debug)]
struct SomePartitions {
    input: Arc<dyn ExecutionPlan>,
    some: Range<usize>,
    properties: Arc<PlanProperties>,
}

impl SomePartitions {
    fn new(input: Arc<dyn ExecutionPlan>, some: Range<usize>) -> Self {
        let properties = PlanProperties::new(
            input.equivalence_properties().clone(),
            Partitioning::UnknownPartitioning(some.len()),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Self {
            input,
            some,
            properties: Arc::new(properties),
        }
    }
}

impl ExecutionPlan for SomePartitions {
    fn name(&self) -> &'static str {
        "SomePartitions"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.into_iter().next();
        let input = input.unwrap_or_else(|| self.input.clone());
        Ok(Arc::new(Self::new(input, self.some.clone())))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.input.execute(self.some.start + partition, context)
    }
}

impl DisplayAs for SomePartitions {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SomePartitions: {:?}", self.some)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use ostrakon_cell::{Authorizations, Source};
    use ostrakon_store::Store;

    use crate::{SqlOptions, SqlSession, Step};

    const MEMORY: usize = 24 << 20;

    fn session() -> SqlSession {
        let source: std::sync::Arc<dyn Source> = Store::in_memory().expect("a store");
        let options = SqlOptions {
            threads: 2,
            memory_bytes: MEMORY,
            ..SqlOptions::default()
        };
        SqlSession::new(source, Authorizations::default(), options).expect("a session")
    }

    /// The number of rows of a query, and the most memory that it had reserved.
    fn run(session: &SqlSession, query: &str) -> (usize, usize) {
        let (over, most) = (AtomicBool::new(false), AtomicUsize::new(0));
        let pool = session.context.runtime_env().memory_pool.clone();
        let rows = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    most.fetch_max(pool.reserved(), Ordering::Relaxed);
                    std::thread::sleep(Duration::from_micros(200));
                }
            });
            let outcome = (|| {
                let mut found = session.query_blocking(query)?;
                let mut rows = 0;
                loop {
                    match found.next_within(Duration::from_mins(2))? {
                        Step::Rows(batch) => rows += batch.num_rows(),
                        Step::Waiting => return Ok(None),
                        Step::End => return Ok(Some(rows)),
                    }
                }
            })();
            over.store(true, Ordering::Relaxed);
            outcome
        });
        let rows: ostrakon_cell::Result<Option<usize>> = rows;
        let rows = rows.unwrap_or_else(|error| panic!("{query}: {error}"));
        (
            rows.unwrap_or_else(|| panic!("{query} waits")),
            most.into_inner(),
        )
    }

    /// All rows belong to one thread, and its sort is slower than those that send them.
    #[test]
    fn a_skewed_exchange_spills_and_ends() {
        let session = session();
        let part = |from: usize| {
            format!(
                "SELECT value AS k, value % 1 AS g, repeat('x', 200) || CAST(value * 7919 % 100003 AS VARCHAR) AS v \
                 FROM generate_series({from}, {})",
                from + 99_999
            )
        };
        let (a, b) = (part(0), part(100_000));
        let query = format!(
            "SELECT k, row_number() OVER (PARTITION BY g ORDER BY v) FROM ({a} UNION ALL {b})"
        );
        for _ in 0..3 {
            let (rows, most) = run(&session, &query);
            assert_eq!(rows, 200_000);
            assert!(most <= MEMORY, "{most} of {MEMORY} bytes");
        }
    }

    /// Exchanges above each other that spill.
    #[test]
    fn exchanges_that_spill_at_once_end() {
        let session = session();
        let part = |from: usize| {
            format!(
                "SELECT value AS k, value % 3 AS g, repeat('x', 100) || CAST(value * 7919 % 100003 AS VARCHAR) AS v \
                 FROM generate_series({from}, {})",
                from + 59_999
            )
        };
        let (a, b) = (part(0), part(60_000));
        let query = format!(
            "SELECT count(*), max(m) FROM (SELECT v, max(n) AS m FROM \
             (SELECT v, row_number() OVER (PARTITION BY g ORDER BY v) AS n FROM ({a} UNION ALL {b})) GROUP BY v)"
        );
        for _ in 0..5 {
            let (rows, most) = run(&session, &query);
            assert_eq!(rows, 1);
            assert!(most <= MEMORY, "{most} of {MEMORY} bytes");
        }
    }
}
