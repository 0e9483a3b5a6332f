//! Whole numbers of JSON. The decoder would cut the fraction of a number off where the first records have whole numbers, so
//! they are read as they are written, and converted here.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use serde_json::Value;

/// The columns as they are read: whole numbers are text.
pub(super) fn as_written(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(written);
    Schema::new(fields.collect::<Vec<_>>())
}

/// A value in which whole numbers that only an unsigned type has are text: the engine would take them for floating-point
/// numbers, which have not all of their digits.
pub(super) fn with_large_as_text(value: Value) -> Value {
    match value {
        Value::Number(number) if !number.is_i64() && number.is_u64() => {
            Value::String(number.to_string())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(with_large_as_text).collect()),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let fields = fields.map(|(name, value)| (name, with_large_as_text(value)));
            Value::Object(fields.collect())
        }
        other => other,
    }
}

fn written(field: &FieldRef) -> FieldRef {
    let kind = match field.data_type() {
        DataType::Int64 => DataType::Utf8,
        DataType::List(item) => DataType::List(written(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(written).collect()),
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(kind))
}

/// The rows with the types of `schema`.
///
/// # Errors
/// A number that is not whole or too large.
pub(super) fn converted(rows: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let strict = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let columns = rows.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| match field.data_type() {
        kind if kind == column.data_type() => Ok(column.clone()),
        kind => match cast_with_options(column, kind, &strict) {
            Ok(numbers) => Ok(numbers),
            Err(error) => one_by_one(column, field, error),
        },
    });
    let columns: Vec<ArrayRef> = columns.collect::<Result<_, ArrowError>>()?;
    let count = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &count)
}

/// The numbers of a column, some of which are written as `2.0` or `1e3`.
fn one_by_one(column: &ArrayRef, field: &Field, error: ArrowError) -> Result<ArrayRef, ArrowError> {
    let refused = |reason: String| {
        ArrowError::JsonError(format!(
            "the column `{}` has whole numbers in the first records{reason}",
            field.name()
        ))
    };
    let Some(texts) = column.as_string_opt::<i32>() else {
        // Inside of lists and structs.
        return Err(refused(format!(": {error}")));
    };
    let numbers = texts.iter().map(|text| match text {
        None => Ok(None),
        Some(text) => whole(text)
            .map(Some)
            .ok_or_else(|| refused(format!(", and later {text}"))),
    });
    let numbers: Int64Array = numbers.collect::<Result<_, _>>()?;
    Ok(Arc::new(numbers))
}

/// The whole number that a text is. Numbers with a point or an exponent are exact up to 2^53.
fn whole(text: &str) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let number: f64 = text.parse().ok()?;
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}
