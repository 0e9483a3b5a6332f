//! Reads the batches of a file as rows.

use std::collections::HashMap;
use std::path::Path;

use datafusion::arrow::array::{ArrayRef, new_null_array};
use datafusion::arrow::compute::CastOptions;
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::reader::FileDecoder;
use datafusion::arrow::ipc::root_as_message;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::Result;
use datafusion::common::nested_struct::cast_column;
use datafusion::error::DataFusionError;

use super::frames::{Frame, Frames};
use super::message::{Checked, check, damaged};
use crate::files::local::{Reads, ReadsRows, Wanted};

/// Files of Arrow.
#[derive(Debug)]
pub(in crate::files) struct Arrow {
    /// The most bytes of a batch, and of all dictionaries.
    limit: u64,
}

impl Arrow {
    pub(in crate::files) fn new(limit: usize) -> Self {
        Self {
            limit: limit as u64,
        }
    }
}

/// An error of the library as one of the file's content.
fn of_content(error: DataFusionError) -> DataFusionError {
    match error {
        DataFusionError::ArrowError(inner, _) => match *inner {
            inner @ ArrowError::IpcError(_) => inner.into(),
            other => damaged(&other.to_string()).into(),
        },
        other => other,
    }
}

impl Reads for Arrow {
    fn kind(&self) -> &'static str {
        "arrow"
    }

    fn growth(&self) -> usize {
        1
    }

    fn columns(&self, file: &Path, _: usize) -> Result<(Schema, usize)> {
        let schema = Frames::open(file, self.limit)?.schema;
        let mut names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair.first() == pair.last()) {
            let name = twice.first().copied().unwrap_or_default();
            return Err(damaged(&format!("two columns have the name {name:?}")).into());
        }
        // Another file of the relation may not have the column.
        let fields = schema.fields().iter();
        let fields = fields.map(|field| field.as_ref().clone().with_nullable(true));
        Ok((Schema::new(fields.collect::<Vec<_>>()), 0))
    }

    fn open(&self, file: &Path, wanted: Wanted) -> Result<Box<dyn ReadsRows>> {
        let frames = Frames::open(file, self.limit)?;
        let returned = wanted.schema.project(&wanted.columns)?;
        let fields = returned.fields().iter();
        let mut read: Vec<usize> = fields
            .filter_map(|field| frames.schema.index_of(field.name()).ok())
            .collect();
        read.sort_unstable();
        read.dedup();
        let decoder = FileDecoder::new(frames.schema.clone(), frames.version);
        Ok(Box::new(ArrowReader {
            frames,
            decoder: decoder.with_projection(read),
            dictionaries: HashMap::new(),
            limit: self.limit,
            returned: returned.into(),
            rows: wanted.rows,
            held: None,
        }))
    }
}

/// The bytes of a null of a type, rounded up: types of a fixed size have theirs for a null, too.
fn null_bytes(kind: &DataType) -> u64 {
    match kind {
        DataType::FixedSizeBinary(length) => u64::try_from(*length).unwrap_or_default() + 1,
        DataType::FixedSizeList(item, length) => {
            let length = u64::try_from(*length).unwrap_or_default();
            null_bytes(item.data_type()).saturating_mul(length) + 1
        }
        DataType::Struct(fields) => fields.iter().fold(1, |all, field| {
            null_bytes(field.data_type()).saturating_add(all)
        }),
        DataType::Union(fields, _) => fields.iter().fold(8, |all, (_, field)| {
            null_bytes(field.data_type()).saturating_add(all)
        }),
        DataType::RunEndEncoded(_, values) => null_bytes(values.data_type()).saturating_add(8),
        // The widest of the others has 32 bytes.
        _ => 33,
    }
}

struct ArrowReader {
    frames: Frames,
    decoder: FileDecoder,
    /// Bytes of the dictionaries, by their ids.
    dictionaries: HashMap<i64, u64>,
    limit: u64,
    returned: SchemaRef,
    /// The most rows of a batch.
    rows: usize,
    /// A batch of the file, and how many of its rows were returned.
    held: Option<(RecordBatch, usize)>,
}

impl ReadsRows for ArrowReader {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        self.advance().map_err(of_content)
    }
}

impl ArrowReader {
    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some((batch, returned)) = self.held.take() {
                let rows = self.rows.min(batch.num_rows() - returned);
                let part = batch.slice(returned, rows);
                if returned + rows < batch.num_rows() {
                    self.held = Some((batch, returned + rows));
                }
                if rows > 0 {
                    return self.adapted(&part).map(Some);
                }
            }
            let Some(frame) = self.frames.next()? else {
                return Ok(None);
            };
            self.take(&frame)?;
        }
    }

    fn take(&mut self, frame: &Frame) -> Result<()> {
        let message = root_as_message(frame.metadata())
            .map_err(|error| damaged(&format!("a message is damaged: {error}")))?;
        match check(&message, frame.body())? {
            Checked::Dictionary(id, extends, bytes) => {
                let all = self.dictionaries.entry(id).or_default();
                *all = if extends {
                    all.saturating_add(bytes)
                } else {
                    bytes
                };
                let sizes = self.dictionaries.values();
                let all = sizes.fold(0_u64, |all, bytes| all.saturating_add(*bytes));
                self.check_size(all)?;
                self.decoder
                    .read_dictionary(&frame.block()?, &frame.bytes)?;
            }
            Checked::Rows(bytes) => {
                self.check_size(bytes)?;
                let batch = self
                    .decoder
                    .read_record_batch(&frame.block()?, &frame.bytes)?;
                self.held = batch.map(|batch| (batch, 0));
            }
            Checked::Other => {}
        }
        Ok(())
    }

    fn check_size(&self, bytes: u64) -> Result<()> {
        match bytes <= self.limit {
            true => Ok(()),
            false => Err(self.frames.too_large()),
        }
    }

    /// The rows with the columns of the relation.
    fn adapted(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let strict = CastOptions {
            safe: false,
            ..CastOptions::default()
        };
        let columns = self.returned.fields().iter().map(|field| {
            Ok(match rows.column_by_name(field.name()) {
                None => {
                    let width = null_bytes(field.data_type());
                    self.check_size(width.saturating_mul(rows.num_rows() as u64))?;
                    new_null_array(field.data_type(), rows.num_rows())
                }
                Some(column) if column.data_type() == field.data_type() => column.clone(),
                // Of a struct, the file may lack fields.
                Some(column) => cast_column(column, field.data_type(), &strict)?,
            })
        });
        let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let schema = self.returned.clone();
        Ok(RecordBatch::try_new_with_options(
            schema, columns, &options,
        )?)
    }
}

#[cfg(test)]
mod tests;
