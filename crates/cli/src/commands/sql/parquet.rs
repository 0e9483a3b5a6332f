//! Rows as a Parquet file.

use std::io::Write;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef, TimeUnit};
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
        let fields = fields.map(|(field, name)| {
            let kind = written(field.data_type());
            field.as_ref().clone().with_name(name).with_data_type(kind)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let writer =
            ArrowWriter::try_new(out, schema.clone(), Some(properties)).map_err(of_writer)?;
        Ok(Self { writer, schema })
    }

    pub(super) fn rows(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().iter().zip(self.schema.fields());
        let strict = CastOptions {
            safe: false,
            ..CastOptions::default()
        };
        let columns =
            columns.map(|(column, field)| cast_with_options(column, field.data_type(), &strict));
        let columns = columns
            .collect::<Result<Vec<_>, _>>()
            .map_err(super::value::of_value)?;
        let batch =
            RecordBatch::try_new(self.schema.clone(), columns).map_err(super::value::of_value)?;
        self.writer.write(&batch).map_err(of_writer)
    }

    pub(super) fn finish(self) -> Result<()> {
        self.writer.close().map(drop).map_err(of_writer)
    }
}

/// The type of a column in the file. Parquet has no times in seconds, and no dates in milliseconds: other programs would read
/// them as numbers.
fn written(kind: &DataType) -> DataType {
    let inner = |field: &FieldRef| -> FieldRef {
        let kind = written(field.data_type());
        Arc::new(field.as_ref().clone().with_data_type(kind))
    };
    match kind {
        DataType::List(item) => DataType::List(inner(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        DataType::Timestamp(TimeUnit::Second, zone) => {
            DataType::Timestamp(TimeUnit::Millisecond, zone.clone())
        }
        DataType::Time32(TimeUnit::Second) => DataType::Time32(TimeUnit::Millisecond),
        // It may have a time of day.
        DataType::Date64 => DataType::Timestamp(TimeUnit::Millisecond, None),
        other => other.clone(),
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

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Date64Array, Time32SecondArray, TimestampSecondArray};
    use parquet::basic::ConvertedType;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;

    #[test]
    fn times_of_every_unit_are_times_for_other_programs() {
        let columns: [(&str, ArrayRef); 3] = [
            ("t", Arc::new(TimestampSecondArray::from(vec![1]))),
            ("d", Arc::new(Date64Array::from(vec![1_577_836_800_000]))),
            ("h", Arc::new(Time32SecondArray::from(vec![36_000]))),
        ];
        let batch = RecordBatch::try_from_iter(columns).expect("a batch");
        let names = ["t", "d", "h"].map(str::to_owned);
        let mut file = Vec::new();
        let mut rows = ParquetRows::new(&batch.schema(), &names, &mut file).expect("a file");
        rows.rows(&batch).expect("written");
        rows.finish().expect("written");
        let mut on_disk = tempfile::tempfile().expect("a file");
        on_disk.write_all(&file).expect("written");
        let file = SerializedFileReader::new(on_disk).expect("a file");
        let schema = file.metadata().file_metadata().schema_descr_ptr();
        let kinds: Vec<ConvertedType> = schema
            .columns()
            .iter()
            .map(|column| column.converted_type())
            .collect();
        assert_eq!(
            kinds,
            [
                ConvertedType::TIMESTAMP_MILLIS,
                ConvertedType::TIMESTAMP_MILLIS,
                ConvertedType::TIME_MILLIS
            ]
        );
    }
}
