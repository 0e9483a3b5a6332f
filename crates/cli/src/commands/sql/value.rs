//! Values of rows, as text and as JSON.

use std::borrow::Cow;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampSecondType,
};
use arrow_array::{Array, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType, SchemaRef, TimeUnit};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::failure::{Failure, Result};
use crate::output::{BASE64_SUFFIX, escape, escape_controls};

/// The names of columns, each different.
pub(super) fn names(schema: &SchemaRef) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for field in schema.fields() {
        let mut name = field.name().clone();
        let mut number = 0;
        while names.contains(&name) {
            number += 1;
            name = format!("{}_{number}", field.name());
        }
        names.push(name);
    }
    names
}

/// The columns of a batch, ready to be shown.
pub(super) struct Shown<'a> {
    columns: Vec<(&'a dyn Array, ArrayFormatter<'a>)>,
    options: &'a FormatOptions<'a>,
}

impl<'a> Shown<'a> {
    pub(super) fn new(batch: &'a RecordBatch, options: &'a FormatOptions<'a>) -> Result<Self> {
        let columns = batch.columns().iter().map(|column| {
            let formatter = ArrayFormatter::try_new(column.as_ref(), options)?;
            Ok((column.as_ref(), formatter))
        });
        let columns = columns
            .collect::<Result<_, ArrowError>>()
            .map_err(of_value)?;
        Ok(Self { columns, options })
    }

    /// The text of a value: bytes with escapes, other values as they are.
    pub(super) fn text(&self, column: usize, row: usize) -> Option<String> {
        self.text_with(column, row, escape)
    }

    /// The text of a value in a file, which keeps all characters but control characters.
    pub(super) fn file_text(&self, column: usize, row: usize) -> Option<String> {
        self.text_with(column, row, escape_controls)
    }

    fn text_with(
        &self,
        column: usize,
        row: usize,
        escape: fn(&[u8]) -> Cow<'_, str>,
    ) -> Option<String> {
        let (array, formatter) = self.columns.get(column)?;
        if is_missing(*array, row) {
            return None;
        }
        Some(match bytes(*array, row) {
            Some(bytes) => escape(bytes).into_owned(),
            None => plain(*array, formatter, row),
        })
    }

    /// A row as a JSON object.
    pub(super) fn object<'b>(&'b self, names: &'b [String], row: usize) -> Object<'b> {
        Object {
            shown: self,
            names,
            row,
        }
    }
}

/// Whether a value is NULL. A column of the type NULL does not mark its values.
fn is_missing(array: &dyn Array, row: usize) -> bool {
    array.is_null(row) || *array.data_type() == DataType::Null
}

/// The bytes of a value of type bytes.
fn bytes(array: &dyn Array, row: usize) -> Option<&[u8]> {
    Some(match array.data_type() {
        DataType::Binary => array.as_binary::<i32>().value(row),
        DataType::LargeBinary => array.as_binary::<i64>().value(row),
        DataType::BinaryView => array.as_binary_view().value(row),
        DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().value(row),
        _ => return None,
    })
}

/// The text of a value. A time that no calendar has is shown as its number.
fn plain(array: &dyn Array, formatter: &ArrayFormatter<'_>, row: usize) -> String {
    formatter.value(row).try_to_string().unwrap_or_else(|_| {
        let number = |unit: &str, number: i64| format!("{number} {unit} from 1970");
        match array.data_type() {
            DataType::Date32 => {
                let days = array.as_primitive::<Date32Type>().value(row);
                number("days", i64::from(days))
            }
            DataType::Timestamp(TimeUnit::Second, _) => {
                number("s", array.as_primitive::<TimestampSecondType>().value(row))
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => number(
                "ms",
                array.as_primitive::<TimestampMillisecondType>().value(row),
            ),
            DataType::Timestamp(TimeUnit::Microsecond, _) => number(
                "µs",
                array.as_primitive::<TimestampMicrosecondType>().value(row),
            ),
            other => format!("a value of type {other} that cannot be shown"),
        }
    })
}

/// A row as a JSON object.
pub(super) struct Object<'a> {
    shown: &'a Shown<'a>,
    names: &'a [String],
    row: usize,
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.names.len()))?;
        for (name, (array, formatter)) in self.names.iter().zip(&self.shown.columns) {
            let value = Value {
                array: *array,
                formatter,
                options: self.shown.options,
                row: self.row,
            };
            match value.encoded() {
                Some(text) => map.serialize_entry(&format!("{name}{BASE64_SUFFIX}"), &text)?,
                None => map.serialize_entry(name, &value)?,
            }
        }
        map.end()
    }
}

/// A value in JSON.
struct Value<'a> {
    array: &'a dyn Array,
    formatter: &'a ArrayFormatter<'a>,
    options: &'a FormatOptions<'a>,
    row: usize,
}

impl Value<'_> {
    /// Bytes that are not text, in base64.
    fn encoded(&self) -> Option<String> {
        if is_missing(self.array, self.row) {
            return None;
        }
        let bytes = bytes(self.array, self.row)?;
        std::str::from_utf8(bytes)
            .is_err()
            .then(|| STANDARD.encode(bytes))
    }

    /// Each element of a list.
    fn elements<S: Serializer>(&self, list: &dyn Array, serializer: S) -> Result<S::Ok, S::Error> {
        let formatter = ArrayFormatter::try_new(list, self.options).map_err(S::Error::custom)?;
        serializer.collect_seq((0..list.len()).map(|row| Value {
            array: list,
            formatter: &formatter,
            options: self.options,
            row,
        }))
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (array, row) = (self.array, self.row);
        if is_missing(array, row) {
            return serializer.serialize_unit();
        }
        // The name of a column or field has the mark; an element of a list has no name.
        if let Some(encoded) = self.encoded() {
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry(BASE64_SUFFIX, &encoded)?;
            return map.end();
        }
        if let Some(text) = bytes(array, row).and_then(|bytes| std::str::from_utf8(bytes).ok()) {
            return serializer.serialize_str(text);
        }
        match array.data_type() {
            DataType::Boolean => serializer.serialize_bool(array.as_boolean().value(row)),
            DataType::Float64 => match array.as_primitive::<Float64Type>().value(row) {
                value if value.is_finite() => serializer.serialize_f64(value),
                // JSON has no number for it.
                value => serializer.collect_str(&value),
            },
            DataType::Float32 => match array.as_primitive::<Float32Type>().value(row) {
                value if value.is_finite() => serializer.serialize_f32(value),
                value => serializer.collect_str(&value),
            },
            DataType::List(_) => self.elements(&array.as_list::<i32>().value(row), serializer),
            DataType::LargeList(_) => self.elements(&array.as_list::<i64>().value(row), serializer),
            DataType::FixedSizeList(..) => {
                self.elements(&array.as_fixed_size_list().value(row), serializer)
            }
            DataType::Struct(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (field, column) in fields.iter().zip(array.as_struct().columns()) {
                    let formatter =
                        ArrayFormatter::try_new(column, self.options).map_err(S::Error::custom)?;
                    let value = Value {
                        array: column,
                        formatter: &formatter,
                        options: self.options,
                        row,
                    };
                    match value.encoded() {
                        Some(text) => {
                            map.serialize_entry(
                                &format!("{}{BASE64_SUFFIX}", field.name()),
                                &text,
                            )?;
                        }
                        None => map.serialize_entry(field.name(), &value)?,
                    }
                }
                map.end()
            }
            kind => {
                let text = plain(array, self.formatter, row);
                let number = kind.is_integer()
                    || matches!(kind, DataType::Decimal128(..) | DataType::Decimal256(..));
                match number.then(|| RawValue::from_string(text.clone())) {
                    Some(Ok(number)) => number.serialize(serializer),
                    _ => serializer.serialize_str(&text),
                }
            }
        }
    }
}

/// An error of a value that cannot be shown.
pub(super) fn of_value(error: ArrowError) -> Failure {
    Failure::outcome("a value cannot be shown").with("reason", error.to_string())
}
