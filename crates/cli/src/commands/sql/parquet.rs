//! Rows as a Parquet file.

use std::io::Write;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::failure::{Failure, Result};

/// Writes rows in groups.
pub(super) struct ParquetRows<'a> {
    writer: ArrowWriter<&'a mut (dyn Write + Send)>,
    schema: SchemaRef,
}

impl<'a> ParquetRows<'a> {
    pub(super) fn new(
        schema: &SchemaRef,
        names: &[String],
        out: &'a mut (dyn Write + Send),
    ) -> Result<Self> {
        let fields = schema.fields().iter().zip(names);
        let fields = fields.map(|(field, name)| field.as_ref().clone().with_name(name));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let writer =
            ArrowWriter::try_new(out, schema.clone(), Some(properties)).map_err(of_writer)?;
        Ok(Self { writer, schema })
    }

    pub(super) fn rows(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().to_vec();
        let batch =
            RecordBatch::try_new(self.schema.clone(), columns).map_err(super::value::of_value)?;
        self.writer.write(&batch).map_err(of_writer)
    }

    pub(super) fn finish(self) -> Result<()> {
        self.writer.close().map(drop).map_err(of_writer)
    }
}

fn of_writer(error: ParquetError) -> Failure {
    match error {
        ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
            Ok(error) => (*error).into(),
            Err(other) => Failure::outcome("the rows cannot be written as Parquet")
                .with("reason", other.to_string()),
        },
        other => Failure::outcome("the rows cannot be written as Parquet")
            .with("reason", other.to_string()),
    }
}
