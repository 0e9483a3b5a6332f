//! Columns, and fields of structs, of several files that are one relation.
//!
//! The columns of the relation have the types of all files together. What a file lacks is NULL there, though the others may
//! say that it is never NULL. Of a struct that is NULL, the engine returns what stands below the NULL if the file says that
//! it is never NULL.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema};

/// The columns of a relation, of which those that a file lacks may be NULL, and so may fields in their structs and lists.
pub(super) fn with_missing(merged: &Schema, files: &[Arc<Schema>]) -> Schema {
    let fields = files.iter().fold(merged.fields().clone(), |fields, file| {
        let fields = fields
            .iter()
            .map(|field| match file.field_with_name(field.name()) {
                Ok(own) => extended(field, own.data_type()),
                Err(_) => nullable(field),
            });
        fields.collect()
    });
    Schema::new_with_metadata(fields, merged.metadata().clone())
}

fn extended(field: &Arc<Field>, own: &DataType) -> Arc<Field> {
    let kind = match (field.data_type(), own) {
        (DataType::Struct(fields), DataType::Struct(own)) => {
            let fields = fields.iter().map(|field| match own.find(field.name()) {
                Some((_, own)) => extended(field, own.data_type()),
                None => nullable(field),
            });
            DataType::Struct(fields.collect())
        }
        (DataType::List(item), DataType::List(own)) => {
            DataType::List(extended(item, own.data_type()))
        }
        (DataType::LargeList(item), DataType::LargeList(own)) => {
            DataType::LargeList(extended(item, own.data_type()))
        }
        _ => return Arc::clone(field),
    };
    Arc::new(field.as_ref().clone().with_data_type(kind))
}

fn nullable(field: &Field) -> Arc<Field> {
    Arc::new(field.clone().with_nullable(true))
}

/// Whether the structs of a relation have the same types in all files.
pub(super) fn are_alike(merged: &Schema, files: &[Arc<Schema>]) -> bool {
    let mut structs = merged
        .fields()
        .iter()
        .filter(|field| field.data_type().is_nested());
    structs.all(|field| {
        files.iter().all(|file| {
            let own = file.field_with_name(field.name());
            own.is_ok_and(|own| own.data_type() == field.data_type())
        })
    })
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::Fields;

    use super::*;

    fn of(fields: Vec<Field>) -> Arc<Schema> {
        let inner = Field::new("t", DataType::Struct(Fields::from(fields.clone())), false);
        let fields = fields.into_iter().chain([inner]).collect();
        let column = Field::new("s", DataType::Struct(fields), true);
        Arc::new(Schema::new(vec![column]))
    }

    #[test]
    fn fields_that_a_file_lacks_may_be_null() {
        let [a, b] = ["a", "b"].map(|name| Field::new(name, DataType::Int64, false));
        let files = [of(vec![a.clone(), b.clone()]), of(vec![b.clone()])];
        let merged = Schema::try_merge(files.iter().map(|file| file.as_ref().clone())).unwrap();
        assert!(!are_alike(&merged, &files));
        let extended = with_missing(&merged, &files);
        assert_eq!(extended, *of(vec![a.with_nullable(true), b]));
        // A column, and structs in a list.
        let list = |file: &Schema| {
            let item = Arc::new(file.field(0).clone());
            Arc::new(Schema::new(vec![Field::new(
                "l",
                DataType::List(item),
                false,
            )]))
        };
        let lists = files.iter().map(|file| list(file)).collect::<Vec<_>>();
        let found = with_missing(&list(&merged), &lists);
        assert_eq!(found, *list(&extended));
        let found = with_missing(&list(&merged), &[Arc::new(Schema::empty())]);
        assert!(found.field(0).is_nullable());
    }

    #[test]
    fn fields_that_may_be_null_in_some_files_differ() {
        let a = Field::new("a", DataType::Int64, false);
        let required = of(vec![a.clone()]);
        let optional = of(vec![a.with_nullable(true)]);
        assert!(are_alike(&required, &[required.clone(), required.clone()]));
        assert!(!are_alike(&optional, &[required, optional.clone()]));
        let without = Arc::new(Schema::empty());
        assert!(!are_alike(&optional, &[optional.clone(), without]));
    }
}
