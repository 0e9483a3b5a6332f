//! Writes and deletes records.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::util::display::FormatOptions;
use ostrakon_cell::lexicoder::push_part;
use ostrakon_cell::{
    Authorizations, Batch, BatchWriter, BatchWriterConfig, ColumnUpdate, Error, ErrorKind,
    Mutation, Range, Result, ScanOptions, Table,
};

use super::{ColumnType, RecordSchema};

/// Records whose present cells are read at once.
const CHUNK: usize = 1024;
/// Rows that are remembered until they are flushed.
const UNFLUSHED_MAX: usize = 1 << 16;

/// Writes records, each as one mutation. A record replaces the one with its key, as far as the writer may see it.
pub(crate) struct RecordWriter {
    table: Arc<dyn Table>,
    schema: Arc<RecordSchema>,
    authorizations: Arc<Authorizations>,
    /// The label of records without one.
    label: Vec<u8>,
    writer: BatchWriter,
    unflushed: HashSet<Vec<u8>>,
}

/// A value that does not fit is an error, not a null.
const STRICT: CastOptions<'static> = CastOptions {
    safe: false,
    format_options: FormatOptions::new(),
};

/// A cell by family, qualifier and label.
type Name = (Vec<u8>, Vec<u8>, Vec<u8>);

impl RecordWriter {
    pub(crate) fn new(
        table: Arc<dyn Table>,
        schema: Arc<RecordSchema>,
        authorizations: Arc<Authorizations>,
        label: Vec<u8>,
    ) -> Self {
        Self {
            writer: BatchWriter::new(table.clone(), BatchWriterConfig::default()),
            table,
            schema,
            authorizations,
            label,
            unflushed: HashSet::new(),
        }
    }

    /// Writes the rows of a batch whose columns are those of the relation; returns their number.
    ///
    /// # Errors
    /// A null in a key, a label that is malformed, or those of the table. Earlier rows may be written.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<u64> {
        let columns = self.columns(batch)?;
        let mut at = 0;
        while at < batch.num_rows() {
            // Of two records with one key the second replaces the first, so both may not be in one chunk.
            let mut chunk: Vec<Vec<u8>> = Vec::new();
            let mut inside = HashSet::new();
            while chunk.len() < CHUNK && at + chunk.len() < batch.num_rows() {
                let row = self.row(&columns, at + chunk.len())?;
                if !inside.insert(row.clone()) {
                    break;
                }
                chunk.push(row);
            }
            let mut present = self.present(&chunk)?;
            let written = chunk.len();
            for (offset, row) in chunk.into_iter().enumerate() {
                let before = present.remove(&row).unwrap_or_default();
                self.replace(row, &columns, at + offset, &before)?;
            }
            at += written;
        }
        Ok(batch.num_rows() as u64)
    }

    /// Deletes the records with the keys of a batch whose columns are those of the key; returns how many there were.
    ///
    /// # Errors
    /// Those of the table. Earlier rows may be deleted.
    pub(crate) fn delete(&mut self, batch: &RecordBatch) -> Result<u64> {
        let columns = self.columns(batch)?;
        let rows = (0..batch.num_rows()).map(|at| self.row(&columns, at));
        let rows = rows.collect::<Result<Vec<_>>>()?;
        let mut deleted = 0;
        for chunk in rows.chunks(CHUNK) {
            for (row, cells) in self.present(chunk)? {
                let mut mutation = Mutation::new(row);
                for cell in &cells {
                    mutation.update(update(cell, None))?;
                }
                self.writer.add(&mutation)?;
                deleted += 1;
            }
        }
        Ok(deleted)
    }

    /// Waits until everything is written.
    ///
    /// # Errors
    /// Those of the table.
    pub(crate) fn finish(self) -> Result<()> {
        self.writer.close()
    }

    /// The columns of a batch in the types of the relation.
    fn columns(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let kinds = super::filter::columns(&self.schema);
        let columns = batch.columns().iter().zip(&kinds);
        let columns =
            columns.map(
                |(column, (name, kind))| match *column.data_type() == kind.data_type() {
                    true => Ok(column.clone()),
                    false => {
                        cast_with_options(column, &kind.data_type(), &STRICT).map_err(|error| {
                            Error::invalid("the values do not fit the column")
                                .with("column", name)
                                .with_source(error)
                        })
                    }
                },
            );
        columns.collect()
    }

    /// The row with the key of a record.
    fn row(&self, columns: &[ArrayRef], at: usize) -> Result<Vec<u8>> {
        let mut row = Vec::new();
        let single = self.schema.keys.len() == 1;
        let mut part = Vec::new();
        for (place, (name, kind)) in self.schema.keys.iter().enumerate() {
            let column = columns
                .get(place)
                .filter(|column| !column.is_null(at))
                .ok_or_else(|| {
                    Error::invalid("a record has no value for a part of its key: give it one")
                        .with("table", self.table.name())
                        .with("column", name)
                })?;
            part.clear();
            kind.encode(column, at, &mut part)?;
            match single {
                true => row.extend_from_slice(&part),
                false => push_part(place == 0, &part, &mut row),
            }
        }
        Ok(row)
    }

    /// The cells of rows that the writer may see.
    fn present(&mut self, rows: &[Vec<u8>]) -> Result<HashMap<Vec<u8>, Vec<Name>>> {
        let repeated = rows.iter().any(|row| self.unflushed.contains(row));
        if repeated || self.unflushed.len() > UNFLUSHED_MAX {
            self.writer.flush()?;
            self.unflushed.clear();
        }
        self.unflushed.extend(rows.iter().cloned());
        let ranges: Vec<Range> = rows.iter().map(|row| Range::row(row.as_slice())).collect();
        let options = ScanOptions {
            authorizations: Authorizations::clone(&self.authorizations),
            ..ScanOptions::default()
        };
        let mut scan = self.table.scan(&ranges, &options)?;
        let mut batch = Batch::new();
        let mut present: HashMap<Vec<u8>, Vec<Name>> = HashMap::new();
        while scan.next_batch(&mut batch)? {
            for entry in batch.iter() {
                let key = entry.key;
                let name = (
                    key.family.to_vec(),
                    key.qualifier.to_vec(),
                    key.visibility.to_vec(),
                );
                match present.get_mut(key.row) {
                    Some(cells) => cells.push(name),
                    None => {
                        present.insert(key.row.to_vec(), vec![name]);
                    }
                }
            }
        }
        Ok(present)
    }

    /// Writes one record in place of the cells that it had.
    fn replace(
        &mut self,
        row: Vec<u8>,
        columns: &[ArrayRef],
        at: usize,
        before: &[Name],
    ) -> Result<()> {
        let keys = self.schema.keys.len();
        let label = self.label_of(columns, at)?;
        let mut mutation = Mutation::new(row);
        let mut written = HashSet::new();
        let mut value = Vec::new();
        for (place, column) in self.schema.columns.iter().enumerate() {
            let Some(array) = columns.get(keys + place).filter(|array| !array.is_null(at)) else {
                continue;
            };
            value.clear();
            column.kind.encode(array, at, &mut value)?;
            let name = (
                column.family.clone(),
                column.qualifier.clone(),
                label.clone(),
            );
            mutation.update(update(&name, Some(&value)))?;
            written.insert(name);
        }
        if mutation.is_empty() {
            // A record without values is a row with one empty cell, which no column of the schema names.
            let name = (Vec::new(), Vec::new(), label);
            mutation.update(update(&name, Some(&[])))?;
            written.insert(name);
        }
        for cell in before {
            if !written.contains(cell) && self.is_of_record(cell) {
                mutation.update(update(cell, None))?;
            }
        }
        self.writer.add(&mutation)
    }

    /// Whether a cell belongs to the record: those of columns that the schema does not have are left alone.
    fn is_of_record(&self, (family, qualifier, _): &Name) -> bool {
        let marker = family.is_empty() && qualifier.is_empty();
        marker
            || (self.schema.columns.iter())
                .any(|column| column.family == *family && column.qualifier == *qualifier)
    }

    fn label_of(&self, columns: &[ArrayRef], at: usize) -> Result<Vec<u8>> {
        let place = self.schema.keys.len() + self.schema.columns.len();
        let Some(array) = columns.get(place).filter(|array| !array.is_null(at)) else {
            return Ok(self.label.clone());
        };
        match *array.data_type() == ColumnType::Text.data_type() {
            true => Ok(array.as_string::<i32>().value(at).as_bytes().to_vec()),
            false => Err(Error::new(ErrorKind::Internal, "the label is not text")),
        }
    }
}

fn update<'a>(
    (family, qualifier, visibility): &'a Name,
    value: Option<&'a [u8]>,
) -> ColumnUpdate<'a> {
    ColumnUpdate {
        family,
        qualifier,
        visibility,
        timestamp: None,
        value,
    }
}
