//! Events as record batches.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use ostrakon_cell::{Error, ErrorKind, Result};
use ostrakon_events::{Event, EventType};

use super::values::{Builder, Content, Fields, LABEL, TIME};

/// A record batch of events under construction, with the columns that events have in SQL.
pub struct EventRows {
    columns: Vec<Content>,
    /// The columns that are fields, sorted by name.
    fields: Vec<(String, usize)>,
    schema: SchemaRef,
    builders: Vec<Builder>,
    count: usize,
}

impl EventRows {
    /// Rows of the time, of some fields or all, and of the label. Unlike in SQL, times say that they are in UTC.
    ///
    /// # Errors
    /// The type has no such field.
    pub fn new(definition: &EventType, fields: Option<&[String]>) -> Result<Self> {
        let all = Fields::of(definition);
        let mut schema = Vec::new();
        let mut columns = Vec::new();
        let everything = all.schema();
        let names = match fields {
            None => everything
                .fields()
                .iter()
                .map(|field| field.name().clone())
                .collect(),
            Some(fields) => {
                let mut names = vec![TIME.to_owned()];
                for name in fields {
                    if *name != definition.time && !names.contains(name) {
                        names.push(name.clone());
                    }
                }
                if !names.iter().any(|name| name == LABEL) {
                    names.push(LABEL.to_owned());
                }
                names
            }
        };
        for name in &names {
            let Ok(at) = everything.index_of(name) else {
                return Err(no_field(definition, name));
            };
            columns.extend(all.columns(&[at]));
            let field = everything.field(at);
            let kind = match field.data_type() {
                DataType::Timestamp(unit, None) => zoned(*unit),
                other => other.clone(),
            };
            schema.push(Field::new(name, kind, field.is_nullable()));
        }
        Ok(Self::of(columns, Arc::new(Schema::new(schema))))
    }

    pub(super) fn of(columns: Vec<Content>, schema: SchemaRef) -> Self {
        let places = columns.iter().enumerate();
        let mut fields: Vec<(String, usize)> = places
            .filter_map(|(at, content)| match content {
                Content::Field(name, _) => Some((name.clone(), at)),
                Content::Time | Content::Label => None,
            })
            .collect();
        fields.sort_unstable();
        Self {
            builders: columns.iter().map(Builder::new).collect(),
            fields,
            columns,
            schema,
            count: 0,
        }
    }

    /// The columns.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The number of events since the last [`take`](Self::take).
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Appends an event. A value that is not of its field's type becomes a null.
    pub fn push(&mut self, event: &Event) {
        for (builder, content) in self.builders.iter_mut().zip(&self.columns) {
            match content {
                Content::Time => builder.push_time(event.time),
                Content::Label => builder.push(Some(event.label())),
                Content::Field(..) => {}
            }
        }
        // The event has its fields in this order, too.
        let mut values = event.fields().peekable();
        for (name, at) in &self.fields {
            while values
                .next_if(|(known, _)| *known < name.as_str())
                .is_some()
            {}
            let value = values.peek().filter(|(known, _)| known == name);
            if let Some(builder) = self.builders.get_mut(*at) {
                builder.push(value.map(|(_, value)| *value));
            }
        }
        self.count += 1;
    }

    /// The events so far, which are then gone from here.
    ///
    /// # Errors
    /// [`Internal`](ErrorKind::Internal) only.
    pub fn take(&mut self) -> Result<RecordBatch> {
        let empty: Vec<Builder> = self.columns.iter().map(Builder::new).collect();
        let builders = std::mem::replace(&mut self.builders, empty);
        let options =
            RecordBatchOptions::new().with_row_count(Some(std::mem::take(&mut self.count)));
        let fields = self.schema.fields().iter();
        let columns = builders
            .into_iter()
            .zip(fields)
            .map(|(builder, field)| builder.finish(field.data_type()));
        RecordBatch::try_new_with_options(self.schema.clone(), columns.collect(), &options).map_err(
            |error| {
                Error::new(ErrorKind::Internal, "the columns do not fit the schema")
                    .with_source(error)
            },
        )
    }
}

fn zoned(unit: TimeUnit) -> DataType {
    DataType::Timestamp(unit, Some("UTC".into()))
}

fn no_field(definition: &EventType, name: &str) -> Error {
    let mut names: Vec<&str> = definition
        .fields
        .iter()
        .map(|field| field.name.as_str())
        .collect();
    names.sort_unstable();
    Error::invalid("the event type has no such field; add it to the type if events have it")
        .with("field", name)
        .with("type", &definition.name)
        .with("fields", names.join(" "))
}
