//! DESCRIBE, with types as CREATE TABLE takes them, and SHOW TABLES, with names as FROM takes them.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::Result;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use ostrakon_cell::Reserved;
use ostrakon_events::reserved_to_events;

use super::SqlSession;
use crate::records::RecordSchema;

/// The columns of a relation.
///
/// # Errors
/// Those of the engine.
pub(super) fn describe(relation: &Schema) -> Result<SendableRecordBatchStream> {
    let nullable = |field: &Field| if field.is_nullable() { "YES" } else { "NO" };
    let rows = relation.fields().iter().map(|field| {
        [
            field.name().clone(),
            sql_name(field.data_type()),
            nullable(field).to_owned(),
        ]
    });
    texts(["column_name", "data_type", "is_nullable"], rows.collect())
}

/// The relations that FROM may name without a catalog, and what their rows are. Of the tables of an event type, it is the
/// type.
///
/// # Errors
/// Those of the source.
pub(super) fn tables(session: &SqlSession) -> ostrakon_cell::Result<Vec<[String; 2]>> {
    let mut names = session.tables()?;
    names.sort_unstable();
    let has = |name: &str| {
        names
            .binary_search_by(|found| found.as_str().cmp(name))
            .is_ok()
    };
    let mut shown = Vec::new();
    for name in &names {
        let kind = match reserved_to_events(name) {
            Reserved::Not => match session.source.table(name) {
                Ok(table) => match RecordSchema::of(&*table) {
                    Ok(Some(_)) => "records",
                    Ok(None) => "entries",
                    // A query of the table says why.
                    Err(_) => "unreadable",
                },
                // It was deleted meanwhile.
                Err(error) if error.kind().is_not_found() => continue,
                Err(error) => return Err(error),
            },
            _ if has(&format!("{name}_index")) && has(&format!("{name}_aggregate")) => "events",
            _ => continue,
        };
        shown.push([name.clone(), kind.to_owned()]);
    }
    Ok(shown)
}

/// Rows of texts.
///
/// # Errors
/// Those of the engine.
pub(super) fn texts<const N: usize>(
    names: [&str; N],
    rows: Vec<[String; N]>,
) -> Result<SendableRecordBatchStream> {
    let fields = names.map(|name| Field::new(name, DataType::Utf8, false));
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let columns = (0..N).map(|at| {
        let texts = rows.iter().map(|row| row.get(at));
        Arc::new(texts.collect::<StringArray>()) as ArrayRef
    });
    let batch = RecordBatch::try_new(schema.clone(), columns.collect())?;
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
