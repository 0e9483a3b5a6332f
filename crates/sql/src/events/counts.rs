//! `count(*)` over an event type, alone or by spans of time, as a question to the event store, which answers it from kept
//! counts where it can.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, TimestampMicrosecondArray};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result as QueryResult, ScalarValue, TableReference};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::{
    Aggregate, Expr, LogicalPlan, LogicalPlanBuilder, TableScan, TableType,
};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use datafusion::physical_plan::ExecutionPlan;
use ostrakon_cell::{Error, ErrorKind, Result};
use ostrakon_events::{CountPath, EventStore, Query};

use super::provider::{EventsTable, describe, in_thread};
use super::values::TIME;
use crate::scan::{Reading, Relation, SourceExec, Start};

/// Bins of a record batch.
const BATCH_BINS: usize = 4096;

/// Replaces counts of events, after conditions were pushed down.
#[derive(Debug)]
pub(crate) struct CountEvents;

impl OptimizerRule for CountEvents {
    fn name(&self) -> &'static str {
        "count_events"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> QueryResult<Transformed<LogicalPlan>> {
        let counted = match &plan {
            LogicalPlan::Aggregate(aggregate) => counted(aggregate),
            _ => None,
        };
        let (Some(counts), LogicalPlan::Aggregate(aggregate)) = (counted, &plan) else {
            return Ok(Transformed::no(plan));
        };
        let fields: Vec<_> = counts.schema.fields().iter().cloned().collect();
        // The engine takes scans for equal, and runs one of them, if their tables have the same name.
        let named = TableReference::bare(counts.identity());
        let source = provider_as_source(Arc::new(counts));
        let columns = aggregate.schema.iter().zip(fields);
        let columns = columns.map(|((relation, field), own)| {
            let own = Column::new(Some(named.clone()), own.name());
            Expr::Column(own).alias_qualified(relation.cloned(), field.name())
        });
        let scan = LogicalPlanBuilder::scan(named.clone(), source, None)?;
        Ok(Transformed::yes(scan.project(columns)?.build()?))
    }
}

/// The counts that an aggregation asks for, if it asks for nothing else.
fn counted(aggregate: &Aggregate) -> Option<EventCounts> {
    let scan = scan_of(&aggregate.input)?;
    let provider = source_as_provider(&scan.source).ok()?;
    let table = provider.downcast_ref::<EventsTable>()?;
    let [count] = aggregate.aggr_expr.as_slice() else {
        return None;
    };
    let span = match aggregate.group_expr.as_slice() {
        [] => None,
        [group] => Some(span(group)?),
        _ => return None,
    };
    // Bins that the kept counts do not divide into could be as many as the events, and are the engine's to bound.
    let kept = table.bin_micros;
    if span.is_some_and(|span| span % kept != 0) {
        return None;
    }
    let (query, is_exact) = table.query(&scan.filters);
    if scan.fetch.is_some() || !is_exact || !is_count_of_all(count) {
        return None;
    }
    let names = match span {
        None => &["count"][..],
        Some(_) => &["start", "count"],
    };
    let fields = aggregate.schema.fields().iter().zip(names);
    let fields = fields.map(|(field, name)| field.as_ref().clone().with_name(*name));
    Some(EventCounts(Arc::new(Counts {
        store: table.store.clone(),
        query,
        span,
        schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
    })))
}

fn scan_of(plan: &LogicalPlan) -> Option<&TableScan> {
    match plan {
        LogicalPlan::TableScan(scan) => Some(scan),
        LogicalPlan::SubqueryAlias(alias) => scan_of(&alias.input),
        _ => None,
    }
}

/// `count(*)`, which the parser makes the count of a constant.
fn is_count_of_all(expression: &Expr) -> bool {
    match expression {
        Expr::Alias(alias) => is_count_of_all(&alias.expr),
        Expr::AggregateFunction(call) => {
            let of_rows = match call.params.args.as_slice() {
                [] => true,
                [Expr::Literal(value, _)] => !value.is_null(),
                _ => false,
            };
            call.func.name() == "count"
                && of_rows
                && !call.params.distinct
                && call.params.filter.is_none()
                && call.params.order_by.is_empty()
        }
        _ => false,
    }
}

/// The span of time in microseconds by whose multiples an expression groups events.
fn span(expression: &Expr) -> Option<i64> {
    let call = match expression {
        Expr::Alias(alias) => return span(&alias.expr),
        Expr::ScalarFunction(call) => call,
        _ => return None,
    };
    let [Expr::Literal(width, _), time] = call.args.as_slice() else {
        return None;
    };
    if !is_time(time) {
        return None;
    }
    let micros = match (call.func.name(), width) {
        ("date_bin", ScalarValue::IntervalMonthDayNano(Some(width))) if width.months == 0 => {
            let days = i64::from(width.days).checked_mul(86_400_000_000)?;
            let rest = width.nanoseconds;
            (rest % 1000 == 0).then(|| days.checked_add(rest / 1000))??
        }
        ("date_trunc", width) => match width.try_as_str()??.to_lowercase().as_str() {
            "second" => 1_000_000,
            "minute" => 60_000_000,
            "hour" => 3_600_000_000,
            "day" => 86_400_000_000,
            _ => return None,
        },
        _ => return None,
    };
    (micros > 0).then_some(micros)
}

/// Whether an expression is the time of the event, perhaps in another unit.
fn is_time(expression: &Expr) -> bool {
    match expression {
        Expr::Column(column) => column.name == TIME,
        Expr::Cast(cast) => {
            // A coarser unit would cut the time off before it is put into bins.
            let is_exact = matches!(
                cast.field.data_type(),
                DataType::Timestamp(TimeUnit::Microsecond | TimeUnit::Nanosecond, None)
            );
            is_exact && is_time(&cast.expr)
        }
        _ => false,
    }
}

/// The relation of counts.
#[derive(Debug)]
struct EventCounts(Arc<Counts>);

impl std::ops::Deref for EventCounts {
    type Target = Counts;

    fn deref(&self) -> &Counts {
        &self.0
    }
}

#[async_trait]
impl TableProvider for EventCounts {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        limit: Option<usize>,
    ) -> QueryResult<Arc<dyn ExecutionPlan>> {
        let places = match projection {
            Some(places) => places.clone(),
            None => (0..self.schema.fields().len()).collect(),
        };
        let projected = Projected {
            schema: Arc::new(self.schema.project(&places)?),
            counts: self.0.clone(),
            places,
        };
        Ok(Arc::new(SourceExec::new(Arc::new(projected), limit)))
    }
}

/// What is counted.
struct Counts {
    store: EventStore,
    query: Query,
    /// The width of bins in microseconds; one count of everything without it.
    span: Option<i64>,
    /// The start of the bin, if there are bins; the count.
    schema: SchemaRef,
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Counts({})", self.query.event_type)
    }
}

impl Counts {
    /// A name that counts share only if they count the same.
    fn identity(&self) -> String {
        let Query {
            event_type,
            condition,
            from,
            to,
            ..
        } = &self.query;
        format!(
            "counts of {event_type} where {condition} from {from:?} to {to:?} by {:?}",
            self.span
        )
    }

    /// Starts of bins and counts.
    fn bins(&self, query: &Query) -> Result<Vec<(i64, u64)>> {
        Ok(match self.span {
            None => vec![(0, self.store.count(query, CountPath::Auto)?)],
            Some(span) => {
                let bins = self.store.histogram(query, span, CountPath::Auto)?;
                bins.into_iter().collect()
            }
        })
    }
}

/// Some columns of the counts.
#[derive(Debug)]
struct Projected {
    counts: Arc<Counts>,
    places: Vec<usize>,
    schema: SchemaRef,
}

impl Projected {
    fn batch(&self, bins: &[(i64, u64)]) -> Result<RecordBatch> {
        let schema = &self.counts.schema;
        let mut columns: Vec<ArrayRef> = Vec::new();
        if self.counts.span.is_some() {
            let starts = TimestampMicrosecondArray::from_iter_values(bins.iter().map(|bin| bin.0));
            let strict = CastOptions {
                safe: false,
                ..CastOptions::default()
            };
            let kind = schema.field(0).data_type();
            columns.push(cast_with_options(&starts, kind, &strict).map_err(unfit)?);
        }
        let counts: Result<Vec<i64>, _> = bins.iter().map(|bin| i64::try_from(bin.1)).collect();
        let counts = counts.map_err(|_| Error::invalid("the count is larger than a BIGINT"))?;
        columns.push(Arc::new(Int64Array::from(counts)));
        let whole = RecordBatch::try_new(schema.clone(), columns).map_err(unfit)?;
        whole.project(&self.places).map_err(unfit)
    }
}

fn unfit(error: datafusion::arrow::error::ArrowError) -> Error {
    Error::new(ErrorKind::Internal, "the counts do not fit the schema").with_source(error)
}

impl Relation for Projected {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn partitions(&self) -> usize {
        1
    }

    fn order(&self) -> Vec<(usize, bool)> {
        let start = self.counts.span.and(Some(0));
        let place = start.and_then(|start| self.places.iter().position(|place| *place == start));
        place.map(|place| (place, false)).into_iter().collect()
    }

    fn open(&self, _: usize, start: Start) -> Result<Box<dyn Reading>> {
        let mut query = self.counts.query.clone();
        query.interrupt = Some(start.interrupt);
        let most = start.limit.unwrap_or(usize::MAX);
        let counted = Self {
            counts: self.counts.clone(),
            places: self.places.clone(),
            schema: self.schema.clone(),
        };
        in_thread(move |send| {
            let bins = match counted.counts.bins(&query) {
                Ok(bins) => bins,
                Err(error) => {
                    send(Err(error));
                    return;
                }
            };
            let bins = bins.get(..most.min(bins.len())).unwrap_or_default();
            for bins in bins.chunks(BATCH_BINS) {
                if !send(counted.batch(bins)) {
                    break;
                }
            }
        })
    }

    fn describe(&self) -> Vec<(&'static str, String)> {
        let mut pairs = vec![("counts", self.counts.query.event_type.clone())];
        if let Some(span) = self.counts.span {
            pairs.push(("span", format!("{} s", span as f64 / 1e6)));
        }
        describe(&self.counts.query, &mut pairs);
        pairs
    }
}
