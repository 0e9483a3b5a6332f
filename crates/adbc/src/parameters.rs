//! Rows of Arrow data as the parameters of a statement.

use std::sync::Arc;

use adbc_core::error::Result;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, TimeUnit};
use ostrakon_sql::SqlValue;

use crate::error::invalid;

/// A value that does not fit is an error, not NULL.
const STRICT: CastOptions<'static> = CastOptions {
    safe: false,
    format_options: arrow_cast::display::FormatOptions::new(),
};

/// The type in which values of a type are parameters.
fn kind(data_type: &DataType) -> Option<DataType> {
    Some(match data_type {
        DataType::Null => DataType::Null,
        DataType::Boolean => DataType::Boolean,
        kind if kind.is_integer() => DataType::Int64,
        kind if kind.is_floating() => DataType::Float64,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DataType::LargeUtf8,
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => DataType::LargeBinary,
        DataType::Date32 | DataType::Date64 => DataType::Date32,
        // Those with a zone are times of UTC too.
        DataType::Timestamp(..) => DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Dictionary(_, values) => return kind(values),
        _ => return None,
    })
}

/// The parameters of each row of a batch.
///
/// # Errors
/// A type that no parameter has, or a value that does not fit.
pub(crate) fn values(batch: &RecordBatch) -> Result<Vec<Vec<SqlValue>>> {
    let mut rows = vec![Vec::with_capacity(batch.num_columns()); batch.num_rows()];
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        let refused = |why: &str| {
            invalid(format!(
                "the parameter {:?} of the type {} {why}",
                field.name(),
                field.data_type()
            ))
        };
        let kind = kind(field.data_type()).ok_or_else(|| {
            refused("is not supported: use numbers, texts, bytes, booleans, dates or times")
        })?;
        let cast = |array: &ArrayRef, kind: &DataType| {
            cast_with_options(array, kind, &STRICT)
                .map_err(|error| refused(&format!("does not fit: {error}")))
        };
        let array = match array.data_type() {
            DataType::Dictionary(_, values) => cast(array, values)?,
            _ => Arc::clone(array),
        };
        if let Some((factor, unit, advice)) = coarser(array.data_type()) {
            let numbers = cast(&array, &DataType::Int64)?;
            let is_cut = |number: Option<i64>| number.is_some_and(|number| number % factor != 0);
            if let Some(row) = numbers.as_primitive::<Int64Type>().iter().position(is_cut) {
                return Err(refused(&format!(
                    "has a value in row {} that is not a whole number of {unit}: {advice}",
                    row + 1
                )));
            }
        }
        let array = cast(&array, &kind)?;
        for (at, row) in rows.iter_mut().enumerate() {
            row.push(match array.is_null(at) {
                true => SqlValue::Null,
                false => value(&array, &kind, at),
            });
        }
    }
    Ok(rows)
}

/// How many units of a type are one of its parameter, what that is, and what to do with others.
fn coarser(data_type: &DataType) -> Option<(i64, &'static str, &'static str)> {
    match data_type {
        DataType::Timestamp(TimeUnit::Nanosecond, _) => Some((
            1000,
            "microseconds",
            "round it, for example with pyarrow.compute.round_temporal",
        )),
        DataType::Date64 => Some((86_400_000, "days", "pass a timestamp")),
        _ => None,
    }
}

fn value(array: &dyn Array, kind: &DataType, at: usize) -> SqlValue {
    match kind {
        DataType::Boolean => SqlValue::Bool(array.as_boolean().value(at)),
        DataType::Int64 => SqlValue::Int(array.as_primitive::<Int64Type>().value(at)),
        DataType::Float64 => SqlValue::Float(array.as_primitive::<Float64Type>().value(at)),
        DataType::LargeUtf8 => SqlValue::Text(array.as_string::<i64>().value(at).to_owned()),
        DataType::LargeBinary => SqlValue::Bytes(array.as_binary::<i64>().value(at).to_vec()),
        DataType::Date32 => SqlValue::Date(array.as_primitive::<Date32Type>().value(at)),
        DataType::Timestamp(..) => {
            SqlValue::Timestamp(array.as_primitive::<TimestampMicrosecondType>().value(at))
        }
        _ => SqlValue::Null,
    }
}
