//! Entries as record batches.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryBuilder, Int64Builder, RecordBatch, RecordBatchOptions,
};
use datafusion::arrow::datatypes::SchemaRef;
use ostrakon_cell::{Batch, EntryRef, Error, ErrorKind, Result, Scan};

use super::filter::{Filter, Part};
use crate::scan::Reading;

/// A column under construction.
enum Builder {
    Bytes(Part, BinaryBuilder),
    Times(Int64Builder),
}

impl Builder {
    fn new(part: Part, rows: usize) -> Self {
        match part {
            Part::Timestamp => Self::Times(Int64Builder::with_capacity(rows)),
            part => Self::Bytes(part, BinaryBuilder::with_capacity(rows, rows * 16)),
        }
    }

    fn push(&mut self, entry: EntryRef<'_>) {
        match self {
            Self::Times(out) => out.append_value(entry.key.timestamp),
            Self::Bytes(part, out) => out.append_value(match part {
                Part::Row => entry.key.row,
                Part::Family => entry.key.family,
                Part::Qualifier => entry.key.qualifier,
                Part::Visibility => entry.key.visibility,
                Part::Value | Part::Timestamp => entry.value,
            }),
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Bytes(_, mut out) => Arc::new(out.finish()),
            Self::Times(mut out) => Arc::new(out.finish()),
        }
    }
}

/// A scan whose entries become rows. A batch has the entries of one batch of the scan: its columns stay far below
/// the 2 GiB that a column can hold, because no value is larger than 256 MiB.
pub(super) struct CellsReader {
    pub(super) scan: Box<dyn Scan>,
    pub(super) filter: Arc<Filter>,
    pub(super) parts: Vec<Part>,
    pub(super) schema: SchemaRef,
    pub(super) batch: Batch,
    /// Rows that are still wanted.
    pub(super) left: usize,
}

impl Reading for CellsReader {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        while self.left > 0 && self.scan.next_batch(&mut self.batch)? {
            let entries = self.batch.len();
            let mut builders: Vec<Builder> = self
                .parts
                .iter()
                .map(|part| Builder::new(*part, entries.min(self.left)))
                .collect();
            let wanted = self.batch.iter().filter(|entry| self.filter.passes(*entry));
            let mut rows = 0;
            for entry in wanted.take(self.left) {
                for builder in &mut builders {
                    builder.push(entry);
                }
                rows += 1;
            }
            self.left -= rows;
            if rows == 0 {
                continue;
            }
            let columns = builders.into_iter().map(Builder::finish).collect();
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options);
            return batch.map(Some).map_err(|error| {
                Error::new(ErrorKind::Internal, "the columns do not fit the schema")
                    .with_source(error)
            });
        }
        Ok(None)
    }
}
