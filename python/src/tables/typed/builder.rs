//! Columns under construction.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, StringBuilder,
    TimestampMicrosecondBuilder, TimestampMillisecondBuilder, UInt64Builder,
};
use ostrakon_cell::lexicoder::{decode_f64, decode_i64, decode_u64};
use ostrakon_cell::{Error, Result};

use super::kind::Kind;

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

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

    /// Appends a decoded value, or a gap.
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
