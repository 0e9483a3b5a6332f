//! How the fields of delimited text become columns.

use datafusion::arrow::csv::reader::Format;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::error::ArrowError;
use regex::Regex;

use super::columns::check_names;
use crate::files::called::CsvOptions;
use crate::records::ColumnType;

/// The names, the types and the NULLs of delimited text.
#[derive(Debug, Default)]
pub(super) struct Fields {
    options: CsvOptions,
    /// Values that are NULL; without it, the empty one.
    null: Option<Regex>,
}

impl Fields {
    pub(super) fn new(options: &CsvOptions) -> Self {
        let null = options.null.as_deref().map(regex::escape);
        Self {
            options: options.clone(),
            // An escaped text is a regular expression, unless it is too large for one.
            null: null.and_then(|null| Regex::new(&format!("^(?:{null})?$")).ok()),
        }
    }

    /// Whether the first line has no record.
    pub(super) fn has_header(&self) -> bool {
        self.options.has_header()
    }

    /// The text that is NULL.
    pub(super) fn null(&self) -> Option<&str> {
        self.options.null.as_deref()
    }

    /// The delimiter that the query names.
    pub(super) fn delimiter(&self) -> Option<u8> {
        self.options.delimiter
    }

    /// How the engine reads the lines.
    pub(super) fn format(&self, delimiter: u8) -> Format {
        let format = Format::default()
            .with_header(self.options.has_header())
            .with_delimiter(delimiter);
        match &self.null {
            None => format,
            Some(null) => format.with_null_regex(null.clone()),
        }
    }

    /// The columns that the query declares; `None` if their types are to be found.
    pub(super) fn declared(&self) -> Option<Schema> {
        let types = self.options.types.as_ref()?;
        let names = self.options.names.as_ref()?;
        let fields = names.iter().zip(types).map(|(name, kind)| {
            let kind = ColumnType::named(kind).map_or(DataType::Utf8, ColumnType::data_type);
            Field::new(name, kind, true)
        });
        Some(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// The columns of a file without a byte, if the query names them.
    pub(super) fn of_empty(&self) -> Option<Schema> {
        let texts = |names: &Vec<String>| {
            let fields = names
                .iter()
                .map(|name| Field::new(name, DataType::Utf8, true));
            Schema::new(fields.collect::<Vec<_>>())
        };
        self.declared()
            .or_else(|| self.options.names.as_ref().map(texts))
    }

    /// Whether the types of the columns are to be found.
    pub(super) fn finds_types(&self) -> bool {
        !self.options.all_text
    }

    /// The columns that were found in a file, with their names.
    ///
    /// # Errors
    /// A header with a name that stands there twice, or another number of columns than the query names.
    pub(super) fn named(&self, found: &Schema) -> Result<Schema, ArrowError> {
        let columns = found.fields();
        // A file with a mark of Unicode alone, or a packed file of nothing.
        if let Some(named) = self.of_empty().filter(|_| columns.is_empty()) {
            return Ok(named);
        }
        let names = match &self.options.names {
            Some(names) if names.len() != columns.len() => {
                return Err(ArrowError::CsvError(format!(
                    "the first line has {} columns, and the query names {}",
                    columns.len(),
                    names.len()
                )));
            }
            Some(names) => names.clone(),
            None if self.options.has_header() => {
                check_names(found)?;
                columns.iter().map(|field| field.name().clone()).collect()
            }
            None => (0..columns.len()).map(|at| format!("column{at}")).collect(),
        };
        let fields = columns.iter().zip(names).map(|(field, name)| {
            let kind = match self.finds_types() {
                true => field.data_type().clone(),
                false => DataType::Utf8,
            };
            Field::new(name, kind, true)
        });
        Ok(Schema::new(fields.collect::<Vec<_>>()))
    }
}
