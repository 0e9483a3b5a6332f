//! Types of columns, and their encodings.

use datafusion::arrow::array::{
    Array, AsArray, BinaryArray, BooleanArray, Date32Array, Float64Array, Int64Array, StringArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use ostrakon_cell::lexicoder::{encode_f64, encode_i64, encode_u64};
use ostrakon_cell::{Error, ErrorKind, Result};

pub(super) const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// The type of a column of a table with a schema. Numbers, truth values and times are kept in the order-preserving
/// encodings of [`ostrakon_cell::lexicoder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// A signed integer of 64 bits.
    Int,
    /// An unsigned integer of 64 bits.
    Uint,
    /// A floating-point number of 64 bits.
    Float,
    /// One byte: 0 or 1.
    Bool,
    /// Midnight in UTC, as milliseconds since 1970.
    Date,
    /// Milliseconds since 1970 in UTC, as Accumulo's `DateLexicoder`.
    Datetime,
    /// Microseconds since 1970 in UTC.
    DatetimeUs,
    /// UTF-8.
    Text,
    /// Any bytes.
    Bytes,
}

impl ColumnType {
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
    #[must_use]
    pub fn as_str(self) -> &'static str {
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

    /// The type of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The type of its values in Arrow. Times are in UTC, which the type does not say.
    #[must_use]
    pub fn data_type(self) -> DataType {
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
            DataType::Dictionary(_, values) => return Self::keeping(values),
            _ => return None,
        })
    }

    /// The values of an array of [`data_type`](Self::data_type).
    ///
    /// # Errors
    /// The array is of another type.
    pub(super) fn values(self, array: &dyn Array) -> Result<Values<'_>> {
        let found = match self {
            Self::Int => array.as_primitive_opt().map(Values::Int),
            Self::Uint => array.as_primitive_opt().map(Values::Uint),
            Self::Float => array.as_primitive_opt().map(Values::Float),
            Self::Bool => array.as_boolean_opt().map(Values::Bool),
            Self::Date => array.as_primitive_opt().map(Values::Date),
            Self::Datetime => array.as_primitive_opt().map(Values::Datetime),
            Self::DatetimeUs => array.as_primitive_opt().map(Values::DatetimeUs),
            Self::Text => array.as_string_opt().map(Values::Text),
            Self::Bytes => array.as_binary_opt().map(Values::Bytes),
        };
        found.ok_or_else(|| Error::new(ErrorKind::Internal, "the column has another type"))
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

/// The values of a column of a batch, to be encoded.
#[derive(Clone, Copy)]
pub(super) enum Values<'a> {
    Int(&'a Int64Array),
    Uint(&'a UInt64Array),
    Float(&'a Float64Array),
    Bool(&'a BooleanArray),
    Date(&'a Date32Array),
    Datetime(&'a TimestampMillisecondArray),
    DatetimeUs(&'a TimestampMicrosecondArray),
    Text(&'a StringArray),
    Bytes(&'a BinaryArray),
}

impl Values<'_> {
    #[inline]
    pub(super) fn is_null(self, at: usize) -> bool {
        match self {
            Self::Int(array) => array.is_null(at),
            Self::Uint(array) => array.is_null(at),
            Self::Float(array) => array.is_null(at),
            Self::Bool(array) => array.is_null(at),
            Self::Date(array) => array.is_null(at),
            Self::Datetime(array) => array.is_null(at),
            Self::DatetimeUs(array) => array.is_null(at),
            Self::Text(array) => array.is_null(at),
            Self::Bytes(array) => array.is_null(at),
        }
    }

    /// Appends the encoding of a value, unless it is null; returns whether it is not.
    #[inline]
    pub(super) fn encode(self, at: usize, out: &mut Vec<u8>) -> bool {
        if self.is_null(at) {
            return false;
        }
        match self {
            Self::Int(array) => encode_i64(array.value(at), out),
            Self::Uint(array) => encode_u64(array.value(at), out),
            Self::Float(array) => encode_f64(normal(array.value(at)), out),
            Self::Bool(array) => out.push(u8::from(array.value(at))),
            Self::Date(array) => encode_i64(i64::from(array.value(at)) * DAY_MILLIS, out),
            Self::Datetime(array) => encode_i64(array.value(at), out),
            Self::DatetimeUs(array) => encode_i64(array.value(at), out),
            Self::Text(array) => out.extend_from_slice(array.value(at).as_bytes()),
            Self::Bytes(array) => out.extend_from_slice(array.value(at)),
        }
        true
    }
}

/// A number as a record keeps it: SQL has one zero and one NaN, and two encodings of one key would be
/// two records.
pub(super) fn normal(value: f64) -> f64 {
    match value.is_nan() {
        true => f64::NAN,
        // The sum of the two zeros is the positive one.
        false => value + 0.0,
    }
}
