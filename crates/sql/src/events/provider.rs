//! An event type as a relation. The planner of the event store answers; its events come newest first.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result as QueryResult;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use ostrakon_cell::{Authorizations, Error, ErrorKind, Result};
use ostrakon_events::{Condition, EventStore, FieldType, Query, show_time};

use super::conditions::understood;
use super::rows::EventRows;
use super::values::{Content, Fields};
use crate::scan::{Asked, Reading, Relation, SourceExec, Start, planned_scan, pushdown, with_rest};

/// Events of a record batch.
const BATCH_EVENTS: usize = 4096;
/// Record batches that wait to be read.
const WAITING: usize = 2;

/// The relation of an event type.
///
/// # Errors
/// Those of the event store.
pub(crate) fn relation(
    store: EventStore,
    name: &str,
    authorizations: Arc<Authorizations>,
) -> Result<Arc<dyn TableProvider>> {
    let definition = store.get(name)?;
    let fields = Fields::of(&definition);
    let indexed = definition.fields.iter().filter(|field| field.indexed);
    Ok(Arc::new(EventsTable {
        bin_micros: definition.bin_micros()?,
        indexed: indexed.map(|field| field.name.clone()).collect(),
        store,
        name: name.to_owned(),
        schema: fields.schema(),
        fields,
        authorizations,
    }))
}

/// The relation of an event type.
pub(super) struct EventsTable {
    pub(super) store: EventStore,
    /// The width of the bins whose counts are kept, in microseconds.
    pub(super) bin_micros: i64,
    name: String,
    fields: Fields,
    /// The fields whose values are counted.
    indexed: Vec<String>,
    schema: SchemaRef,
    authorizations: Arc<Authorizations>,
}

impl EventsTable {
    /// The type of a column, if it is that of an indexed field.
    pub(super) fn indexed(&self, column: &str) -> Option<FieldType> {
        let is_indexed = self.indexed.iter().any(|name| name == column);
        let mut fields = self.fields.iter().filter(|_| is_indexed);
        fields.find_map(|(name, kind)| (name == column).then_some(kind))
    }

    /// The events that conditions leave, and whether the query tests all of the conditions.
    pub(super) fn query(&self, filters: &[Expr]) -> (Query, bool) {
        let mut query = Query {
            event_type: self.name.clone(),
            authorizations: Authorizations::clone(&self.authorizations),
            ..Query::default()
        };
        let mut parts = Vec::new();
        let mut is_exact = true;
        for filter in filters {
            let Some(found) = understood(&self.fields, filter) else {
                is_exact = false;
                continue;
            };
            is_exact &= found.exact;
            parts.push(found.condition);
            if let Some((from, to)) = found.times {
                query.from = [query.from, from].into_iter().flatten().max();
                query.to = [query.to, to].into_iter().flatten().min();
            }
        }
        query.condition = Condition::all(parts);
        (query, is_exact)
    }

    /// The plan of a scan.
    fn plan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> QueryResult<Arc<dyn ExecutionPlan>> {
        let (mut query, _) = self.query(filters);
        let schema = TableProvider::schema(self);
        let asked = Asked {
            schema: &schema,
            projection,
            filters,
            limit,
        };
        let is_exact =
            |filter: &Expr| understood(&self.fields, filter).is_some_and(|found| found.exact);
        with_rest(state, &asked, is_exact, |places, limit| {
            let columns = self.fields.columns(&places);
            let names = columns.iter().filter_map(|content| match content {
                Content::Field(name, _) => Some(name.clone()),
                _ => None,
            });
            query.fields = Some(names.collect());
            let relation = Events {
                store: self.store.clone(),
                query,
                columns,
                schema: Arc::new(self.schema.project(&places)?),
            };
            Ok(Arc::new(SourceExec::new(Arc::new(relation), limit)))
        })
    }
}

impl fmt::Debug for EventsTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventsTable({})", self.name)
    }
}

impl TableProvider for EventsTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    planned_scan!();

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> QueryResult<Vec<TableProviderFilterPushDown>> {
        Ok(pushdown(filters, |filter| {
            understood(&self.fields, filter).map(|found| found.exact)
        }))
    }
}

/// The events that a plan reads.
struct Events {
    store: EventStore,
    query: Query,
    columns: Vec<Content>,
    schema: SchemaRef,
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Events({})", self.query.event_type)
    }
}

impl Relation for Events {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn partitions(&self) -> usize {
        1
    }

    fn order(&self) -> Vec<(usize, bool)> {
        let time = self
            .columns
            .iter()
            .position(|content| *content == Content::Time);
        time.map(|at| (at, true)).into_iter().collect()
    }

    fn rows(&self) -> Option<u64> {
        // From counts of what the reader sees.
        let explanation = self.store.explain(&self.query).ok()?;
        let rows = match self.query.condition == Condition::All {
            true => explanation.total,
            false => explanation.estimate,
        };
        let limit = self.query.limit.map_or(u64::MAX, |limit| limit as u64);
        Some(rows.min(limit))
    }

    fn open(&self, start: Start) -> Result<Vec<Box<dyn Reading>>> {
        let mut query = self.query.clone();
        query.interrupt = Some(start.interrupt);
        query.limit = start.limit;
        let (store, columns, schema) = (
            self.store.clone(),
            self.columns.clone(),
            self.schema.clone(),
        );
        let reading = in_thread(move |send| {
            let mut rows = EventRows::of(columns, schema);
            let outcome = store.query(&query, |event| {
                rows.push(event);
                match rows.len() == BATCH_EVENTS {
                    true => Ok(send(rows.take())),
                    false => Ok(true),
                }
            });
            match outcome {
                Ok(_) if !rows.is_empty() => drop(send(rows.take())),
                Ok(_) => {}
                Err(error) => drop(send(Err(error))),
            }
        })?;
        Ok(vec![reading])
    }

    fn describe(&self) -> Vec<(&'static str, String)> {
        let names: Vec<&str> = self
            .schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        let mut pairs = vec![
            ("events", self.query.event_type.clone()),
            ("columns", format!("[{}]", names.join(", "))),
        ];
        describe(&self.query, &mut pairs);
        pairs
    }
}

/// What an explanation shows of the events that a query leaves.
pub(super) fn describe(query: &Query, pairs: &mut Vec<(&'static str, String)>) {
    if query.condition != Condition::All {
        pairs.push(("where", query.condition.to_string()));
    }
    pairs.extend(query.from.map(|time| ("from", show_time(time))));
    pairs.extend(query.to.map(|time| ("to", show_time(time))));
}

/// Runs work that makes batches in a thread of its own: the event store calls for each event, and a plan asks for rows.
/// What the work gets tells whether the plan still wants rows.
pub(super) fn in_thread(
    work: impl FnOnce(&dyn Fn(Result<RecordBatch>) -> bool) + Send + 'static,
) -> Result<Box<dyn Reading>> {
    let (sender, receiver) = sync_channel(WAITING);
    let thread = std::thread::Builder::new().name("sql-events".to_owned());
    let started = thread.spawn(move || {
        // Rows that end early would be a wrong answer.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            work(&|batch| sender.send(batch).is_ok());
        }));
        if outcome.is_err() {
            let panicked = Error::new(ErrorKind::Internal, "the thread of a query panicked");
            drop(sender.send(Err(panicked)));
        }
    });
    started.map_err(|error| {
        Error::new(ErrorKind::Io, "the thread of a query could not be started").with_source(error)
    })?;
    Ok(Box::new(Received(receiver)))
}

/// The batches that another thread makes.
struct Received(Receiver<Result<RecordBatch>>);

impl Reading for Received {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        self.0.recv().ok().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_and_not_the_end_of_the_rows() {
        let mut rows = in_thread(|_| panic!("a fault")).expect("a thread");
        let error = rows.next().expect_err("an error");
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(rows.next().expect("the end").is_none());
    }
}
