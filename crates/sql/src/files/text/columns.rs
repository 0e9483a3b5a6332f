//! Columns of delimited text by their names: the files of one relation may have them in different orders.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, new_null_array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::Result;
use datafusion::error::DataFusionError;

use super::dates::days;
use crate::files::local::Wanted;

/// Where the wanted columns are in a file.
pub(super) struct Columns {
    /// All columns of the file, with the types of the relation; those of days are text.
    pub(super) of_file: SchemaRef,
    /// Those of them that are read.
    pub(super) read: Vec<usize>,
    /// The wanted columns.
    wanted: SchemaRef,
    /// For each wanted column its place among those that are read; `None` if the file does not have it.
    places: Vec<Option<usize>>,
}

impl Columns {
    /// The columns of a file with the names of `own`.
    ///
    /// # Errors
    /// The file has none of the columns of the relation: it may have no header.
    pub(super) fn new(own: &Schema, wanted: &Wanted) -> Result<Self> {
        let is_known = |field: &Arc<Field>| wanted.schema.index_of(field.name()).is_ok();
        if !own.fields().is_empty() && !own.fields().iter().any(is_known) {
            return Err(DataFusionError::ArrowError(
                Box::new(ArrowError::CsvError(
                    "the header has none of the columns of the first file; names of columns are compared with their case"
                        .to_owned(),
                )),
                None,
            ));
        }
        let fields = own.fields().iter().map(|field| {
            let known = wanted.schema.field_with_name(field.name());
            known.map_or_else(|_| Field::new(field.name(), DataType::Utf8, true), as_read)
        });
        let of_file = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let wanted = Arc::new(wanted.schema.project(&wanted.columns)?);
        let mut read = Vec::new();
        let places = wanted.fields().iter().map(|field| {
            let at = of_file.index_of(field.name()).ok()?;
            read.push(at);
            Some(read.len() - 1)
        });
        let places = places.collect();
        Ok(Self {
            of_file,
            read,
            wanted,
            places,
        })
    }

    /// The wanted columns, of rows of those that were read. The first is the record `first` of its file.
    ///
    /// # Errors
    /// A column of days has another text.
    pub(super) fn arranged(
        &self,
        rows: &RecordBatch,
        first: usize,
    ) -> Result<RecordBatch, ArrowError> {
        let columns = self.places.iter().zip(self.wanted.fields());
        let columns = columns.map(|(place, field)| {
            let read = place.and_then(|at| rows.columns().get(at).cloned());
            match (read, field.data_type()) {
                (Some(texts), DataType::Date32) => days(&texts, field.name(), first),
                (Some(read), _) => Ok(read),
                (None, kind) => Ok(new_null_array(kind, rows.num_rows())),
            }
        });
        let columns: Vec<ArrayRef> = columns.collect::<Result<_, ArrowError>>()?;
        let count = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(self.wanted.clone(), columns, &count)
    }
}

/// A column as it is read.
fn as_read(field: &Field) -> Field {
    match field.data_type() {
        DataType::Date32 => field.clone().with_data_type(DataType::Utf8),
        _ => field.clone(),
    }
}

/// Refuses a header with a name that stands there twice.
pub(super) fn check_names(own: &Schema) -> Result<(), ArrowError> {
    let mut names = HashSet::new();
    match own
        .fields()
        .iter()
        .find(|field| !names.insert(field.name()))
    {
        Some(field) => Err(ArrowError::CsvError(format!(
            "the header names `{}` twice: give each column its own name",
            field.name()
        ))),
        None => Ok(()),
    }
}
