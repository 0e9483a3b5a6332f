//! The types of columns, and their names in Python.

use arrow_schema::{DataType, TimeUnit};
use ostrakon_cell::{Error, Result};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Int,
    Uint,
    Float,
    Bool,
    /// Midnight in UTC, as milliseconds since 1970.
    Date,
    /// Milliseconds since 1970 in UTC, as Accumulo's `DateLexicoder`.
    Datetime,
    /// Microseconds since 1970 in UTC.
    DatetimeUs,
    Text,
    Bytes,
}

impl Kind {
    pub(super) fn parse(name: &str) -> Result<Self> {
        Ok(match name {
            "int" => Self::Int,
            "uint" => Self::Uint,
            "float" => Self::Float,
            "bool" => Self::Bool,
            "date" => Self::Date,
            "datetime" => Self::Datetime,
            "datetime_us" => Self::DatetimeUs,
            "text" => Self::Text,
            "bytes" => Self::Bytes,
            other => {
                return Err(
                    Error::invalid(format!("there is no type of columns {other:?}"))
                        .with("argument", "schema"),
                );
            }
        })
    }

    pub(super) fn data_type(self) -> DataType {
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
}
