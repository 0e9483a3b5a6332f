//! Encodes the records of a batch.

use datafusion::arrow::array::{Array, ArrayRef, StringArray};
use ostrakon_cell::lexicoder::push_part;
use ostrakon_cell::{Error, ErrorKind, Escaped, Result, Table, VisibilityExpression};

use super::RecordSchema;
use super::kind::Values;

/// Encodes the records of a batch.
pub(super) struct Encoder<'a> {
    table: &'a dyn Table,
    schema: &'a RecordSchema,
    keys: Vec<Values<'a>>,
    columns: Vec<Values<'a>>,
    labels: Option<&'a StringArray>,
    /// The label of records without one.
    label: &'a [u8],
    part: Vec<u8>,
}

impl<'a> Encoder<'a> {
    /// The records of `table` in arrays, which have the types and the order in which the schema stores them.
    ///
    /// # Errors
    /// [`Internal`](ErrorKind::Internal): other arrays.
    pub(super) fn new(
        table: &'a dyn Table,
        schema: &'a RecordSchema,
        arrays: &'a [ArrayRef],
        label: &'a [u8],
    ) -> Result<Self> {
        let kinds = super::filter::columns(schema);
        let arrays = kinds.iter().zip(arrays);
        let arrays = arrays.map(|((_, kind), array)| kind.values(array));
        let mut keys: Vec<Values<'a>> = arrays.collect::<Result<_>>()?;
        if keys.len() != kinds.len() {
            return Err(Error::new(ErrorKind::Internal, "a column is missing"));
        }
        let mut columns = keys.split_off(schema.keys.len());
        let labels = match columns.get(schema.columns.len()) {
            Some(Values::Text(labels)) => Some(*labels),
            _ => None,
        };
        columns.truncate(schema.columns.len());
        Ok(Self {
            table,
            schema,
            keys,
            columns,
            labels,
            label,
            part: Vec::new(),
        })
    }

    /// Appends the row with the key of a record.
    ///
    /// # Errors
    /// A part of the key is null.
    pub(super) fn push_row(&mut self, at: usize, out: &mut Vec<u8>) -> Result<()> {
        let is_single = self.keys.len() == 1;
        for (place, values) in self.keys.iter().enumerate() {
            let is_given = match is_single {
                true => values.encode(at, out),
                false => {
                    self.part.clear();
                    let is_given = values.encode(at, &mut self.part);
                    push_part(place == 0, &self.part, out);
                    is_given
                }
            };
            if !is_given {
                let name = self.schema.keys.get(place).map_or("", |(name, _)| name);
                return Err(Error::invalid(
                    "a record has no value for a part of its key: give it one",
                )
                .with("table", self.table.name())
                .with("column", name)
                .with("constraint", "primary key"));
            }
        }
        Ok(())
    }

    /// The label of a record.
    pub(super) fn label(&self, at: usize) -> &[u8] {
        match self.labels.filter(|labels| !labels.is_null(at)) {
            Some(labels) => labels.value(at).as_bytes(),
            None => self.label,
        }
    }

    /// Checks the labels of all records, before any of them is written.
    ///
    /// # Errors
    /// A label is malformed.
    pub(super) fn check_labels(&self) -> Result<()> {
        let labels = self
            .labels
            .iter()
            .flat_map(|labels| labels.iter().flatten());
        // Neighbours mostly have the same one.
        let mut last = "";
        for label in labels {
            if label != last {
                VisibilityExpression::parse(label.as_bytes()).map_err(|error| {
                    Error::invalid("the label of a record is not a valid expression")
                        .with("table", self.table.name())
                        .with("label", Escaped(label.as_bytes()))
                        .with_source(error)
                })?;
                last = label;
            }
        }
        Ok(())
    }

    /// Appends the value of a record in a column of the schema, unless it is null; returns whether it is not.
    #[inline]
    pub(super) fn push_value(&self, column: usize, at: usize, out: &mut Vec<u8>) -> bool {
        self.columns
            .get(column)
            .is_some_and(|values| values.encode(at, out))
    }

    /// Whether a record has a value in a column of the schema.
    pub(super) fn has_value(&self, column: usize, at: usize) -> bool {
        self.columns
            .get(column)
            .is_some_and(|values| !values.is_null(at))
    }
}
