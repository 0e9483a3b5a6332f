//! Rows as a file or a stream of Arrow IPC.

use std::io::Write;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, Schema, SchemaRef};

use crate::failure::{Failure, Result};

/// Writes batches as they come.
pub(super) struct ArrowRows<'a> {
    writer: Writer<'a>,
    schema: SchemaRef,
}

enum Writer<'a> {
    File(FileWriter<&'a mut (dyn Write + Send)>),
    Stream(StreamWriter<&'a mut (dyn Write + Send)>),
}

impl<'a> ArrowRows<'a> {
    pub(super) fn new(
        schema: &SchemaRef,
        names: &[String],
        is_stream: bool,
        out: &'a mut (dyn Write + Send),
    ) -> Result<Self> {
        let fields = schema.fields().iter().zip(names);
        let fields = fields.map(|(field, name)| field.as_ref().clone().with_name(name));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        // The codec that Feather's writers have as their default.
        let options = IpcWriteOptions::default()
            .try_with_compression(Some(CompressionType::LZ4_FRAME))
            .map_err(of_writer)?;
        let writer = if is_stream {
            StreamWriter::try_new_with_options(out, &schema, options).map(Writer::Stream)
        } else {
            FileWriter::try_new_with_options(out, &schema, options).map(Writer::File)
        };
        Ok(Self {
            writer: writer.map_err(of_writer)?,
            schema,
        })
    }

    pub(super) fn rows(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().to_vec();
        let batch =
            RecordBatch::try_new(self.schema.clone(), columns).map_err(super::value::of_value)?;
        match &mut self.writer {
            Writer::File(writer) => writer.write(&batch),
            Writer::Stream(writer) => writer.write(&batch),
        }
        .map_err(of_writer)
    }

    pub(super) fn finish(mut self) -> Result<()> {
        match &mut self.writer {
            Writer::File(writer) => writer.finish(),
            Writer::Stream(writer) => writer.finish(),
        }
        .map_err(of_writer)
    }
}

fn of_writer(error: ArrowError) -> Failure {
    match error {
        ArrowError::IoError(_, error) => error.into(),
        other => Failure::outcome("the rows cannot be written as Arrow")
            .with("reason", other.to_string()),
    }
}
