//! Columns of records under construction.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder,
    StringBuilder, TimestampMicrosecondBuilder, TimestampMillisecondBuilder, UInt64Builder,
};
use ostrakon_cell::lexicoder::{decode_f64, decode_i64, decode_u64};
use ostrakon_cell::{Error, Result};

use super::kind::{ColumnType, DAY_MILLIS, normal};

/// A column under construction, from the bytes that a table keeps.
#[derive(Debug)]
pub struct ColumnBuilder(Builder);

#[derive(Debug)]
enum Builder {
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

impl ColumnBuilder {
    /// An empty column.
    #[must_use]
    pub fn new(kind: ColumnType) -> Self {
        Self(match kind {
            ColumnType::Int => Builder::Int(Int64Builder::new()),
            ColumnType::Uint => Builder::Uint(UInt64Builder::new()),
            ColumnType::Float => Builder::Float(Float64Builder::new()),
            ColumnType::Bool => Builder::Bool(BooleanBuilder::new()),
            ColumnType::Date => Builder::Date(Date32Builder::new()),
            ColumnType::Datetime => Builder::Datetime(TimestampMillisecondBuilder::new()),
            ColumnType::DatetimeUs => Builder::DatetimeUs(TimestampMicrosecondBuilder::new()),
            ColumnType::Text => Builder::Text(StringBuilder::new()),
            ColumnType::Bytes => Builder::Bytes(BinaryBuilder::new()),
        })
    }

    /// Appends a value, or a null.
    ///
    /// # Errors
    /// The bytes are not an encoding of the type.
    pub fn push(&mut self, value: Option<&[u8]>) -> Result<()> {
        match &mut self.0 {
            Builder::Int(out) => out.append_option(value.map(decode_i64).transpose()?),
            Builder::Uint(out) => out.append_option(value.map(decode_u64).transpose()?),
            Builder::Float(out) => {
                // Others than SQL may have written the other zero, or another NaN.
                let value = value.map(decode_f64).transpose()?;
                out.append_option(value.map(normal));
            }
            Builder::Bool(out) => out.append_option(value.map(truth).transpose()?),
            Builder::Date(out) => out.append_option(value.map(day).transpose()?),
            Builder::Datetime(out) => out.append_option(value.map(decode_i64).transpose()?),
            Builder::DatetimeUs(out) => out.append_option(value.map(decode_i64).transpose()?),
            Builder::Text(out) => out.append_option(value.map(text).transpose()?),
            Builder::Bytes(out) => out.append_option(value),
        }
        Ok(())
    }

    /// The column, of [`ColumnType::data_type`].
    #[must_use]
    pub fn finish(self) -> ArrayRef {
        match self.0 {
            Builder::Int(mut out) => Arc::new(out.finish()),
            Builder::Uint(mut out) => Arc::new(out.finish()),
            Builder::Float(mut out) => Arc::new(out.finish()),
            Builder::Bool(mut out) => Arc::new(out.finish()),
            Builder::Date(mut out) => Arc::new(out.finish()),
            Builder::Datetime(mut out) => Arc::new(out.finish()),
            Builder::DatetimeUs(mut out) => Arc::new(out.finish()),
            Builder::Text(mut out) => Arc::new(out.finish()),
            Builder::Bytes(mut out) => Arc::new(out.finish()),
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
