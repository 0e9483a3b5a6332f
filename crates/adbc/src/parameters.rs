//! Rows of Arrow data as the parameters of a statement.

use adbc_core::error::Result;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
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
        let array = cast_with_options(array, &kind, &STRICT)
            .map_err(|error| refused(&format!("does not fit: {error}")))?;
        for (at, row) in rows.iter_mut().enumerate() {
            row.push(match array.is_null(at) {
                true => SqlValue::Null,
                false => value(&array, &kind, at),
            });
        }
    }
    Ok(rows)
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
