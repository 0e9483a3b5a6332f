//! Whole numbers of JSON. The decoder would cut the fraction of a number off where the first records have whole numbers, so
//! they are read as they are written, and converted here.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};

/// The columns as they are read: whole numbers are text.
pub(super) fn as_written(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(written);
    Schema::new(fields.collect::<Vec<_>>())
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
        kind => cast_with_options(column, kind, &strict).map_err(|error| {
            ArrowError::JsonError(format!(
                "the column `{}` has whole numbers in the first records: {error}",
                field.name()
            ))
        }),
    });
    let columns: Vec<ArrayRef> = columns.collect::<Result<_, ArrowError>>()?;
    let count = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &count)
}
