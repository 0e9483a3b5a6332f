//! The relation of counts.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, TimestampMicrosecondArray};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result as QueryResult;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use ostrakon_cell::{Error, ErrorKind, Result};
use ostrakon_events::{CountPath, EventStore, Query};

use super::super::provider::{describe, in_thread};
use super::super::values::{Builder, Content};
use super::question::Group;
use crate::scan::{Reading, Relation, SourceExec, Start, planned_scan};

/// Counts of a record batch.
const BATCH_COUNTS: usize = 4096;

/// What is counted.
pub(super) struct Counts {
    pub(super) store: EventStore,
    pub(super) query: Query,
    pub(super) groups: Vec<Group>,
    /// The groups, then the count.
    pub(super) schema: SchemaRef,
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Counts({})", self.query.event_type)
    }
}

impl Counts {
    /// A name that counts share only if they count the same.
    pub(super) fn identity(&self) -> String {
        let Query {
            event_type,
            condition,
            from,
            to,
            ..
        } = &self.query;
        format!(
            "counts of {event_type} where {condition} from {from:?} to {to:?} by {:?}",
            self.groups
        )
    }

    /// Whether events are counted by the values of a field. A group may then have several rows, whose counts add up.
    pub(super) fn has_values(&self) -> bool {
        self.field().is_some()
    }

    fn field(&self) -> Option<&str> {
        self.groups.iter().find_map(|group| match group {
            Group::Field(name, _) => Some(name.as_str()),
            Group::Span(_) => None,
        })
    }

    fn span(&self) -> Option<i64> {
        self.groups.iter().find_map(|group| match group {
            Group::Span(span) => Some(*span),
            Group::Field(..) => None,
        })
    }

    /// Passes value, start of the span and count of each row to `visit`, until that returns `false`.
    fn visit(
        &self,
        query: &Query,
        mut visit: impl FnMut(Option<&[u8]>, i64, u64) -> Result<bool>,
    ) -> Result<()> {
        let (store, span) = (&self.store, self.span());
        let Some(field) = self.field() else {
            let Some(span) = span else {
                visit(None, 0, store.count(query, CountPath::Auto)?)?;
                return Ok(());
            };
            for (start, count) in store.histogram(query, span, CountPath::Auto)? {
                if !visit(None, start, count)? {
                    break;
                }
            }
            return Ok(());
        };
        if let Some(counts) = store.value_counts(query, field, span)? {
            for found in counts {
                if !visit(found.value.as_deref(), found.start, found.count)? {
                    break;
                }
            }
            return Ok(());
        }
        let query = Query {
            fields: Some(vec![field.to_owned()]),
            ..query.clone()
        };
        store.query(&query, |event| {
            let start = span.map_or(0, |span| {
                event.time.saturating_sub(event.time.rem_euclid(span))
            });
            visit(event.get(field), start, 1)
        })?;
        Ok(())
    }
}

/// The table of counts.
#[derive(Debug)]
pub(super) struct EventCounts(pub(super) Arc<Counts>);

impl EventCounts {
    /// The plan of a scan.
    fn plan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        limit: Option<usize>,
    ) -> QueryResult<Arc<dyn ExecutionPlan>> {
        let schema = &self.0.schema;
        let places = match projection {
            Some(places) => places.clone(),
            None => (0..schema.fields().len()).collect(),
        };
        let projected = Projected {
            schema: Arc::new(schema.project(&places)?),
            counts: self.0.clone(),
            places,
        };
        Ok(Arc::new(SourceExec::new(Arc::new(projected), limit)))
    }
}

impl TableProvider for EventCounts {
    fn schema(&self) -> SchemaRef {
        self.0.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    planned_scan!();
}

/// Some columns of the counts.
#[derive(Debug, Clone)]
struct Projected {
    counts: Arc<Counts>,
    places: Vec<usize>,
    schema: SchemaRef,
}

impl Relation for Projected {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn partitions(&self) -> usize {
        1
    }

    fn order(&self) -> Vec<(usize, bool)> {
        let is_by_time = matches!(self.counts.groups.as_slice(), [Group::Span(_)]);
        let place = self.places.iter().position(|place| *place == 0);
        let place = place.filter(|_| is_by_time);
        place.map(|place| (place, false)).into_iter().collect()
    }

    fn open(&self, start: Start) -> Result<Vec<Box<dyn Reading>>> {
        let mut query = self.counts.query.clone();
        query.interrupt = Some(start.interrupt);
        let most = start.limit.unwrap_or(usize::MAX);
        let projected = self.clone();
        let reading = in_thread(move |send| {
            let mut rows = Rows::new(&projected);
            let (mut sent, mut is_wanted) = (0, true);
            let outcome = projected.counts.visit(&query, |value, start, count| {
                if sent == most {
                    return Ok(false);
                }
                rows.push(value, start, count)?;
                sent += 1;
                if rows.counts.len() == BATCH_COUNTS {
                    is_wanted = send(rows.take());
                }
                Ok(is_wanted)
            });
            match outcome {
                Ok(()) if is_wanted && !rows.counts.is_empty() => drop(send(rows.take())),
                Ok(()) => {}
                Err(error) => drop(send(Err(error))),
            }
        })?;
        Ok(vec![reading])
    }

    fn describe(&self) -> Vec<(&'static str, String)> {
        let counts = &self.counts;
        let mut pairs = vec![("counts", counts.query.event_type.clone())];
        if let Some(field) = counts.field() {
            pairs.push(("by", field.to_owned()));
        }
        if let Some(span) = counts.span() {
            pairs.push(("span", format!("{} s", span as f64 / 1e6)));
        }
        describe(&counts.query, &mut pairs);
        pairs
    }
}

/// A record batch of counts under construction.
struct Rows<'a> {
    projected: &'a Projected,
    values: Option<Builder>,
    starts: Vec<i64>,
    counts: Vec<i64>,
}

impl<'a> Rows<'a> {
    fn new(projected: &'a Projected) -> Self {
        let values = projected
            .counts
            .groups
            .iter()
            .find_map(|group| match group {
                Group::Field(name, kind) => {
                    Some(Builder::new(&Content::Field(name.clone(), *kind)))
                }
                Group::Span(_) => None,
            });
        Self {
            projected,
            values,
            starts: Vec::new(),
            counts: Vec::new(),
        }
    }

    fn push(&mut self, value: Option<&[u8]>, start: i64, count: u64) -> Result<()> {
        if let Some(values) = &mut self.values {
            values.push(value);
        }
        self.starts.push(start);
        let count = i64::try_from(count)
            .map_err(|_| Error::invalid("the count is larger than a BIGINT"))?;
        self.counts.push(count);
        Ok(())
    }

    /// The counts so far, which are then gone from here.
    fn take(&mut self) -> Result<RecordBatch> {
        let fresh = Self::new(self.projected);
        let mut full = std::mem::replace(self, fresh);
        let counts = &self.projected.counts;
        let mut columns: Vec<ArrayRef> = Vec::new();
        for (group, field) in counts.groups.iter().zip(counts.schema.fields()) {
            let kind = field.data_type();
            match group {
                Group::Field(..) => columns.extend(full.values.take().map(|v| v.finish(kind))),
                Group::Span(_) => {
                    let starts = TimestampMicrosecondArray::from(std::mem::take(&mut full.starts));
                    let strict = CastOptions {
                        safe: false,
                        ..CastOptions::default()
                    };
                    columns.push(cast_with_options(&starts, kind, &strict).map_err(too_far)?);
                }
            }
        }
        columns.push(Arc::new(Int64Array::from(full.counts)));
        let whole = RecordBatch::try_new(counts.schema.clone(), columns).map_err(unfit)?;
        whole.project(&self.projected.places).map_err(unfit)
    }
}

fn too_far(error: datafusion::arrow::error::ArrowError) -> Error {
    Error::invalid("a time lies outside of the years 1677 to 2262, which TIMESTAMP(9) has")
        .with("data", "a time")
        .with_source(error)
}

fn unfit(error: datafusion::arrow::error::ArrowError) -> Error {
    Error::new(ErrorKind::Internal, "the counts do not fit the schema").with_source(error)
}
