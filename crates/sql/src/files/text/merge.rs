//! The columns of a relation of several files.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::Result;

/// The columns of several files. One whose type differs among them is a number if it is one in all of them, and text
/// otherwise. A column without values in the first records is text, too: its type would allow none in the others.
///
/// # Errors
/// Lists or structs that differ.
pub(super) fn merged(mut schemas: Vec<Schema>) -> Result<Schema> {
    let mut kinds: HashMap<String, DataType> = HashMap::new();
    for field in schemas.iter().flat_map(Schema::fields) {
        let kind = field.data_type();
        if kind.is_null() || kind.is_nested() {
            continue;
        }
        let known = kinds
            .entry(field.name().clone())
            .or_insert_with(|| kind.clone());
        if known != kind {
            *known = match (&*known, kind) {
                (DataType::Int64, DataType::Float64) | (DataType::Float64, DataType::Int64) => {
                    DataType::Float64
                }
                (DataType::Timestamp(one, zone), DataType::Timestamp(other, other_zone))
                    if zone == other_zone =>
                {
                    DataType::Timestamp(*one.max(other), zone.clone())
                }
                (DataType::Date32, DataType::Timestamp(..)) => kind.clone(),
                (DataType::Timestamp(..), DataType::Date32) => continue,
                _ => DataType::Utf8,
            };
        }
    }
    for schema in &mut schemas {
        let fields = schema.fields().iter().map(|field| {
            let kind = field.data_type();
            match kinds.get(field.name()) {
                Some(settled) if !kind.is_null() && !kind.is_nested() => {
                    Arc::new(field.as_ref().clone().with_data_type(settled.clone()))
                }
                _ => Arc::clone(field),
            }
        });
        let fields: Vec<_> = fields.collect();
        *schema = Schema::new_with_metadata(fields, schema.metadata().clone());
    }
    let merged = Schema::try_merge(schemas)?;
    let fields = merged.fields().iter().map(|field| {
        let field = field.as_ref().clone();
        match field.data_type() {
            DataType::Null => field.with_data_type(DataType::Utf8),
            _ => field,
        }
    });
    Ok(Schema::new_with_metadata(
        fields.collect::<Vec<_>>(),
        merged.metadata().clone(),
    ))
}
