//! DESCRIBE, with types as CREATE TABLE takes them.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::Result;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;

/// The columns of a relation.
///
/// # Errors
/// Those of the engine.
pub(super) fn describe(relation: &Schema) -> Result<SendableRecordBatchStream> {
    let names = ["column_name", "data_type", "is_nullable"];
    let fields = names.map(|name| Field::new(name, DataType::Utf8, false));
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let texts = |text: &dyn Fn(&Field) -> String| -> ArrayRef {
        let texts = relation.fields().iter().map(|field| Some(text(field)));
        Arc::new(texts.collect::<StringArray>())
    };
    let nullable = |field: &Field| if field.is_nullable() { "YES" } else { "NO" };
    let columns = vec![
        texts(&|field| field.name().clone()),
        texts(&|field| sql_name(field.data_type())),
        texts(&|field| nullable(field).to_owned()),
    ];
    let batch = RecordBatch::try_new(schema.clone(), columns)?;
    let rows = futures_util::stream::once(std::future::ready(Ok(batch)));
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
}

/// The name of a type; Arrow's for types that only files have.
fn sql_name(kind: &DataType) -> String {
    let name = match kind {
        DataType::Boolean => "BOOLEAN",
        DataType::Int16 => "SMALLINT",
        DataType::Int32 => "INTEGER",
        DataType::Int64 => "BIGINT",
        DataType::UInt64 => "BIGINT UNSIGNED",
        DataType::Float32 => "REAL",
        DataType::Float64 => "DOUBLE",
        DataType::Date32 => "DATE",
        DataType::Timestamp(_, None) => "TIMESTAMP",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "VARCHAR",
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => "BYTEA",
        other => return other.to_string(),
    };
    name.to_owned()
}
