//! Events as columns.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Float64Builder, Int64Builder, StringBuilder,
    TimestampMicrosecondBuilder, UInt64Builder,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use ostrakon_events::{EventType, FieldType, parse_time};

/// The column with the time of the event.
pub(super) const TIME: &str = "time";
/// The column with the label of the event, unless a field has this name.
pub(super) const LABEL: &str = "visibility";

/// The columns of an event type: its time, its fields, and the label.
#[derive(Debug, Clone)]
pub(super) struct Fields {
    /// Without the field that is the time.
    fields: Vec<(String, FieldType)>,
    label: bool,
}

impl Fields {
    pub(super) fn of(definition: &EventType) -> Self {
        let fields = definition.fields.iter();
        let fields = fields.filter(|field| field.name != definition.time && field.name != TIME);
        let fields: Vec<_> = fields
            .map(|field| (field.name.clone(), field.kind))
            .collect();
        Self {
            label: !fields.iter().any(|(name, _)| name == LABEL),
            fields,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, FieldType)> {
        self.fields
            .iter()
            .map(|(name, kind)| (name.as_str(), *kind))
    }

    pub(super) fn schema(&self) -> SchemaRef {
        let time = DataType::Timestamp(TimeUnit::Microsecond, None);
        let mut columns = vec![Field::new(TIME, time, false)];
        for (name, kind) in &self.fields {
            columns.push(Field::new(name, data_type(*kind), true));
        }
        if self.label {
            columns.push(Field::new(LABEL, DataType::Utf8, false));
        }
        Arc::new(Schema::new(columns))
    }

    /// What the columns at these places hold.
    pub(super) fn columns(&self, places: &[usize]) -> Vec<Content> {
        let content = |place: &usize| match place.checked_sub(1) {
            None => Content::Time,
            Some(at) => match self.fields.get(at) {
                Some((name, kind)) => Content::Field(name.clone(), *kind),
                None => Content::Label,
            },
        };
        places.iter().map(content).collect()
    }
}

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Time,
    Field(String, FieldType),
    Label,
}

fn data_type(kind: FieldType) -> DataType {
    match kind {
        FieldType::Text | FieldType::Ip => DataType::Utf8,
        FieldType::Bytes => DataType::Binary,
        FieldType::I64 => DataType::Int64,
        FieldType::U64 => DataType::UInt64,
        FieldType::F64 => DataType::Float64,
        FieldType::Bool => DataType::Boolean,
        FieldType::Time => DataType::Timestamp(TimeUnit::Microsecond, None),
    }
}

/// The text of an address, in one form for each address.
pub(super) fn address(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let address: IpAddr = match text.parse::<Ipv4Addr>() {
        Ok(address) => address.into(),
        Err(_) => text.parse::<Ipv6Addr>().ok()?.to_canonical(),
    };
    Some(address.to_string())
}

/// A column under construction.
pub(super) enum Builder {
    Text(StringBuilder),
    Ip(StringBuilder),
    Bytes(BinaryBuilder),
    Int(Int64Builder),
    Uint(UInt64Builder),
    Float(Float64Builder),
    Bool(BooleanBuilder),
    Time(TimestampMicrosecondBuilder),
}

impl Builder {
    pub(super) fn new(content: &Content) -> Self {
        match content {
            Content::Time | Content::Field(_, FieldType::Time) => {
                Self::Time(TimestampMicrosecondBuilder::new())
            }
            Content::Label | Content::Field(_, FieldType::Text) => Self::Text(StringBuilder::new()),
            Content::Field(_, FieldType::Ip) => Self::Ip(StringBuilder::new()),
            Content::Field(_, FieldType::Bytes) => Self::Bytes(BinaryBuilder::new()),
            Content::Field(_, FieldType::I64) => Self::Int(Int64Builder::new()),
            Content::Field(_, FieldType::U64) => Self::Uint(UInt64Builder::new()),
            Content::Field(_, FieldType::F64) => Self::Float(Float64Builder::new()),
            Content::Field(_, FieldType::Bool) => Self::Bool(BooleanBuilder::new()),
        }
    }

    /// Appends a value; what is not of the column's type is a null.
    pub(super) fn push(&mut self, value: Option<&[u8]>) {
        let text = || std::str::from_utf8(value?).ok();
        match self {
            Self::Text(out) => out.append_option(value.map(String::from_utf8_lossy)),
            Self::Ip(out) => out.append_option(value.and_then(address)),
            Self::Bytes(out) => out.append_option(value),
            Self::Int(out) => out.append_option(text().and_then(|text| text.parse().ok())),
            Self::Uint(out) => out.append_option(text().and_then(|text| text.parse().ok())),
            Self::Float(out) => {
                let number = text().and_then(|text| text.parse::<f64>().ok());
                out.append_option(number.filter(|number| !number.is_nan()));
            }
            Self::Bool(out) => out.append_option(match text() {
                Some("true" | "True" | "TRUE" | "t" | "T" | "1") => Some(true),
                Some("false" | "False" | "FALSE" | "f" | "F" | "0") => Some(false),
                _ => None,
            }),
            Self::Time(out) => out.append_option(value.and_then(parse_time)),
        }
    }

    pub(super) fn push_time(&mut self, time: i64) {
        if let Self::Time(out) = self {
            out.append_value(time);
        }
    }

    /// The column, of the type that the schema has; times may get a zone by it.
    pub(super) fn finish(self, kind: &DataType) -> ArrayRef {
        match self {
            Self::Text(mut out) | Self::Ip(mut out) => Arc::new(out.finish()),
            Self::Bytes(mut out) => Arc::new(out.finish()),
            Self::Int(mut out) => Arc::new(out.finish()),
            Self::Uint(mut out) => Arc::new(out.finish()),
            Self::Float(mut out) => Arc::new(out.finish()),
            Self::Bool(mut out) => Arc::new(out.finish()),
            Self::Time(mut out) => {
                let zone = match kind {
                    DataType::Timestamp(_, zone) => zone.clone(),
                    _ => None,
                };
                Arc::new(out.finish().with_timezone_opt(zone))
            }
        }
    }
}
