//! Types of columns, and their encodings.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryBuilder, BooleanBuilder, Date32Builder, Float64Builder,
    Int64Builder, StringBuilder, TimestampMicrosecondBuilder, TimestampMillisecondBuilder,
    UInt64Builder,
};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, UInt64Type,
};
use datafusion::common::ScalarValue;
use ostrakon_cell::lexicoder::{
    decode_f64, decode_i64, decode_u64, encode_f64, encode_i64, encode_u64,
};
use ostrakon_cell::{Error, Result};

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    Uint,
    Float,
    Bool,
    /// Midnight in UTC, as milliseconds since 1970.
    Date,
    /// Milliseconds since 1970 in UTC.
    Datetime,
    /// Microseconds since 1970 in UTC.
    DatetimeUs,
    Text,
    Bytes,
}

impl Kind {
    const ALL: [Self; 9] = [
        Self::Int,
        Self::Uint,
        Self::Float,
        Self::Bool,
        Self::Date,
        Self::Datetime,
        Self::DatetimeUs,
        Self::Text,
        Self::Bytes,
    ];

    /// The name in the property of the table.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Float => "float",
            Self::Bool => "bool",
            Self::Date => "date",
            Self::Datetime => "datetime",
            Self::DatetimeUs => "datetime_us",
            Self::Text => "text",
            Self::Bytes => "bytes",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    pub(crate) fn data_type(self) -> DataType {
        match self {
            Self::Int => DataType::Int64,
            Self::Uint => DataType::UInt64,
            Self::Float => DataType::Float64,
            Self::Bool => DataType::Boolean,
            Self::Date => DataType::Date32,
            Self::Datetime => DataType::Timestamp(TimeUnit::Millisecond, None),
            Self::DatetimeUs => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::Text => DataType::Utf8,
            Self::Bytes => DataType::Binary,
        }
    }

    /// The type that keeps values of an SQL type; `None` if there is none.
    pub(crate) fn keeping(kind: &DataType) -> Option<Self> {
        Some(match kind {
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => Self::Int,
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => Self::Uint,
            DataType::Float32 | DataType::Float64 => Self::Float,
            DataType::Boolean => Self::Bool,
            DataType::Date32 => Self::Date,
            DataType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, _) => Self::Datetime,
            DataType::Timestamp(_, _) => Self::DatetimeUs,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Self::Bytes,
            _ => return None,
        })
    }

    /// Appends the encoding of a value, which is not null, of an array of [`data_type`](Self::data_type).
    pub(crate) fn encode(self, array: &dyn Array, at: usize, out: &mut Vec<u8>) -> Result<()> {
        let wrong = || {
            Error::new(
                ostrakon_cell::ErrorKind::Internal,
                "the column has another type",
            )
        };
        if *array.data_type() != self.data_type() || at >= array.len() {
            return Err(wrong());
        }
        match self {
            Self::Int => encode_i64(array.as_primitive::<Int64Type>().value(at), out),
            Self::Uint => encode_u64(array.as_primitive::<UInt64Type>().value(at), out),
            Self::Float => encode_f64(array.as_primitive::<Float64Type>().value(at), out),
            Self::Bool => out.push(u8::from(array.as_boolean().value(at))),
            Self::Date => {
                let day = i64::from(array.as_primitive::<Date32Type>().value(at));
                encode_i64(day * DAY_MILLIS, out);
            }
            Self::Datetime => {
                encode_i64(
                    array.as_primitive::<TimestampMillisecondType>().value(at),
                    out,
                );
            }
            Self::DatetimeUs => {
                encode_i64(
                    array.as_primitive::<TimestampMicrosecondType>().value(at),
                    out,
                );
            }
            Self::Text => out.extend_from_slice(array.as_string::<i32>().value(at).as_bytes()),
            Self::Bytes => out.extend_from_slice(array.as_binary::<i32>().value(at)),
        }
        Ok(())
    }

    /// The encoding of a literal of this type.
    pub(crate) fn encode_scalar(self, value: &ScalarValue) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        match (self, value) {
            (Self::Int, ScalarValue::Int64(Some(value)))
            | (Self::Datetime, ScalarValue::TimestampMillisecond(Some(value), None))
            | (Self::DatetimeUs, ScalarValue::TimestampMicrosecond(Some(value), None)) => {
                encode_i64(*value, &mut out);
            }
            (Self::Uint, ScalarValue::UInt64(Some(value))) => encode_u64(*value, &mut out),
            (Self::Float, ScalarValue::Float64(Some(value))) => encode_f64(*value, &mut out),
            (Self::Bool, ScalarValue::Boolean(Some(value))) => out.push(u8::from(*value)),
            (Self::Date, ScalarValue::Date32(Some(day))) => {
                encode_i64(i64::from(*day) * DAY_MILLIS, &mut out);
            }
            (Self::Text, value) => {
                return crate::scan::text(value).map(|text| text.as_bytes().to_vec());
            }
            (Self::Bytes, value) => return crate::scan::bytes(value).map(<[u8]>::to_vec),
            _ => return None,
        }
        Some(out)
    }
}

/// A column under construction.
pub(super) enum Builder {
    Int(Int64Builder),
    Uint(UInt64Builder),
    Float(Float64Builder),
    Bool(BooleanBuilder),
    Date(Date32Builder),
    Datetime(TimestampMillisecondBuilder),
    DatetimeUs(TimestampMicrosecondBuilder),
    Text(StringBuilder),
    Bytes(BinaryBuilder),
}

impl Builder {
    pub(super) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Int => Self::Int(Int64Builder::new()),
            Kind::Uint => Self::Uint(UInt64Builder::new()),
            Kind::Float => Self::Float(Float64Builder::new()),
            Kind::Bool => Self::Bool(BooleanBuilder::new()),
            Kind::Date => Self::Date(Date32Builder::new()),
            Kind::Datetime => Self::Datetime(TimestampMillisecondBuilder::new()),
            Kind::DatetimeUs => Self::DatetimeUs(TimestampMicrosecondBuilder::new()),
            Kind::Text => Self::Text(StringBuilder::new()),
            Kind::Bytes => Self::Bytes(BinaryBuilder::new()),
        }
    }

    /// Appends a value, or a null.
    pub(super) fn push(&mut self, value: Option<&[u8]>) -> Result<()> {
        match self {
            Self::Int(out) => out.append_option(value.map(decode_i64).transpose()?),
            Self::Uint(out) => out.append_option(value.map(decode_u64).transpose()?),
            Self::Float(out) => out.append_option(value.map(decode_f64).transpose()?),
            Self::Bool(out) => out.append_option(value.map(truth).transpose()?),
            Self::Date(out) => out.append_option(value.map(day).transpose()?),
            Self::Datetime(out) => out.append_option(value.map(decode_i64).transpose()?),
            Self::DatetimeUs(out) => out.append_option(value.map(decode_i64).transpose()?),
            Self::Text(out) => out.append_option(value.map(text).transpose()?),
            Self::Bytes(out) => out.append_option(value),
        }
        Ok(())
    }

    pub(super) fn finish(self) -> ArrayRef {
        match self {
            Self::Int(mut out) => Arc::new(out.finish()),
            Self::Uint(mut out) => Arc::new(out.finish()),
            Self::Float(mut out) => Arc::new(out.finish()),
            Self::Bool(mut out) => Arc::new(out.finish()),
            Self::Date(mut out) => Arc::new(out.finish()),
            Self::Datetime(mut out) => Arc::new(out.finish()),
            Self::DatetimeUs(mut out) => Arc::new(out.finish()),
            Self::Text(mut out) => Arc::new(out.finish()),
            Self::Bytes(mut out) => Arc::new(out.finish()),
        }
    }
}

fn truth(bytes: &[u8]) -> Result<bool> {
    match bytes {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(Error::invalid("the bytes are not a truth value")),
    }
}

fn day(bytes: &[u8]) -> Result<i32> {
    let day = decode_i64(bytes)?.div_euclid(DAY_MILLIS);
    i32::try_from(day)
        .map_err(|error| Error::invalid("the date is out of range").with_source(error))
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes)
        .map_err(|error| Error::invalid("the value is not UTF-8").with_source(error))
}
