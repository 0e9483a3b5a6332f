//! The columns of a relation of several files.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, TimeUnit};
use datafusion::common::Result;

/// The columns of several files. One whose type differs among them is a number if it is one in all of them, and text
/// otherwise; so are fields of structs, and items of lists. A column without values in the first records is text, too: its
/// type would allow none in the others. Times have microseconds at least: later ones may have more digits than the first.
///
/// # Errors
/// Lists or structs in one file, and other values in another one.
pub(super) fn merged(mut schemas: Vec<Schema>) -> Result<Schema> {
    let mut kinds: HashMap<String, DataType> = HashMap::new();
    for field in schemas.iter().flat_map(Schema::fields) {
        let known = kinds
            .entry(field.name().clone())
            .or_insert_with(|| field.data_type().clone());
        if let Some(common) = common(known, field.data_type()) {
            *known = common;
        }
    }
    for schema in &mut schemas {
        let fields = schema.fields().iter().map(|field| {
            let kind = field.data_type();
            match kinds.get(field.name()) {
                // What cannot be merged is refused below.
                Some(settled) if kind.is_nested() == settled.is_nested() => {
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
            DataType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, zone) => {
                let kind = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
                field.with_data_type(kind)
            }
            _ => field,
        }
    });
    Ok(Schema::new_with_metadata(
        fields.collect::<Vec<_>>(),
        merged.metadata().clone(),
    ))
}

/// The type that has the values of both; `None` if there is none.
fn common(one: &DataType, other: &DataType) -> Option<DataType> {
    Some(match (one, other) {
        (one, other) if one == other => one.clone(),
        (DataType::Null, kind) | (kind, DataType::Null) => kind.clone(),
        (DataType::Int64, DataType::Float64) | (DataType::Float64, DataType::Int64) => {
            DataType::Float64
        }
        (DataType::Timestamp(one, zone), DataType::Timestamp(other, other_zone))
            if zone == other_zone =>
        {
            DataType::Timestamp(*one.max(other), zone.clone())
        }
        (DataType::Date32, time @ DataType::Timestamp(..))
        | (time @ DataType::Timestamp(..), DataType::Date32) => time.clone(),
        (DataType::Struct(one), DataType::Struct(other)) => {
            DataType::Struct(common_fields(one, other)?)
        }
        (DataType::List(one), DataType::List(other)) => DataType::List(common_field(one, other)?),
        (one, other) if one.is_nested() || other.is_nested() => return None,
        _ => DataType::Utf8,
    })
}

/// The fields of both, those of the first one before the others.
fn common_fields(one: &Fields, other: &Fields) -> Option<Fields> {
    let mut fields: Vec<FieldRef> = Vec::new();
    for field in one {
        fields.push(match other.find(field.name()) {
            Some((_, known)) => common_field(field, known)?,
            None => Arc::clone(field),
        });
    }
    let rest = other
        .iter()
        .filter(|field| one.find(field.name()).is_none());
    fields.extend(rest.cloned());
    Some(fields.into())
}

fn common_field(one: &FieldRef, other: &FieldRef) -> Option<FieldRef> {
    let kind = common(one.data_type(), other.data_type())?;
    Some(Arc::new(Field::new(one.name(), kind, true)))
}
